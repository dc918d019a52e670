"""The plugin that a project gets with the package: here the package is not installed, so it is
loaded by name.
"""

import pytest

pytest_plugins = ["laws.pytest_plugin"]
_LONG_LAWS = ("law 1 ", "law 2 ", "law 8 ", "law 9 ")
"""They read a recording many times over."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ask the long laws of a share of the recordings, if a share is wanted (`LAW_SHARE`)."""
    from tests.support.strategies import every_so_many  # noqa: PLC0415 - needs hypothesis

    long = [
        item for item in items if item.path.suffix == ".mitm" and item.name.startswith(_LONG_LAWS)
    ]
    asked = {*every_so_many(sorted({item.path for item in long}))}
    left = {item for item in long if item.path not in asked}
    if left:
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
