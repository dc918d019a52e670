"""Fixtures of the layers' tests."""

import asyncio
import inspect
from time import monotonic

import pytest

from converter.addon.layers import connection, promises


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes only as a test says."""
    now = [monotonic()]
    for module in (promises, connection):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    taken = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in taken}))
    return True
