"""Packages of `converter/extras`: any may be deleted, and is then simply absent. Some need packages
that mitmproxy does not bring; an extra of think-addon's installs these.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

EXTRAS = {
    "metrics": "prometheus_client",
    "redis": "redis",
    "traces": "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http",
}
"""The packages of each extra, as in pyproject.toml."""


def load(package: str, module: str = "extra") -> ModuleType | None:
    """Import a module of an extra; return `None` if its package was deleted. A fault within the
    package is raised.
    """
    if find_spec("converter.extras") is None:
        return None
    spec = find_spec(f"converter.extras.{package}")
    if spec is None or spec.origin is None:  # a folder that holds only __pycache__
        return None
    return import_module(f"converter.extras.{package}.{module}")


def load_optional(package: str, module: str, extra: str, option: str) -> ModuleType | None:
    """Import a module that needs the packages of `extra`, because of `option`. Raises ValueError
    with the command that installs the packages.
    """
    try:
        return load(package, module)
    except ImportError:
        message = f"{option}: expected {EXTRAS[extra]} beside mitmproxy"
        if getattr(sys, "frozen", False):
            raise ValueError(
                f"{message}, and its own binary takes no packages: install think-addon[{extra}]"
            ) from None
        raise ValueError(
            f"{message}: pip install 'think-addon[{extra}]', "
            f"or pipx inject think-addon {EXTRAS[extra]}"
        ) from None
