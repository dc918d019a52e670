"""Packages of `converter/extras` that are there: any may be deleted, and is then simply absent."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def load(package: str, module: str = "extra") -> ModuleType | None:
    """Import a module of an extra; return `None` where its package was deleted. A fault within the
    package is raised.
    """
    if find_spec("converter.extras") is None:
        return None
    found = find_spec(f"converter.extras.{package}")
    if found is None or found.origin is None:  # a folder with no more than __pycache__ in it
        return None
    return import_module(f"converter.extras.{package}.{module}")
