"""Imports modules of the packages in `converter/extras` by name, because each package may be
deleted. Some need packages that mitmproxy does not install (`EXTRAS`); `pip install
think-addon[EXTRA]` installs them.
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
"""Name of an extra in pyproject.toml (`pip install think-addon[NAME]`) -> the packages that it
installs.
"""


def load(package: str, module: str = "extra") -> ModuleType | None:
    """Import and return a module of a package in `converter/extras`; return None if the package was
    deleted. Raises any error of the module itself.
    """
    if find_spec("converter.extras") is None:
        return None
    spec = find_spec(f"converter.extras.{package}")
    if spec is None or spec.origin is None:  # The folder is missing, or has only __pycache__.
        return None
    return import_module(f"converter.extras.{package}.{module}")


def load_optional(package: str, module: str, extra: str, option: str) -> ModuleType | None:
    """Import and return a module that needs the packages of `extra` (see `EXTRAS`); return None if
    `package` was deleted. If the packages are missing, raise ValueError with the command that
    installs them. `option`: the option that needs the module, for the message.
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
