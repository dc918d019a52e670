"""Changes to the event loop, undone after each test."""

import asyncio
import importlib
from collections.abc import Iterator

import pytest

from converter.command import event_loop

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def loop_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("start_server", "run", "eager_task_factory"):
        monkeypatch.setattr(asyncio, name, getattr(asyncio, name))


async def _serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _two_on_one_port() -> None:
    async with await asyncio.start_server(_serve, "127.0.0.1", 0) as first:
        port = first.sockets[0].getsockname()[1]
        async with await asyncio.start_server(_serve, "127.0.0.1", port) as second:
            assert second.sockets[0].getsockname()[1] == port


async def _loop_and_task() -> tuple[str, bool]:
    """Return the loop's module, and whether a task begins at once, as mitmproxy wants it."""
    loop, begun = asyncio.get_running_loop(), list[bool]()
    loop.set_task_factory(asyncio.eager_task_factory)

    async def begin() -> None:
        begun.append(True)

    task = asyncio.create_task(begin(), name="begun")
    at_once = bool(begun)
    await task
    return type(loop).__module__, at_once


def test_a_port_is_shared_only_after_the_change() -> None:
    with pytest.raises(OSError, match="ddress already in use"):
        asyncio.run(_two_on_one_port())
    event_loop.share_port()
    asyncio.run(_two_on_one_port())


def test_uvloop_runs_everything_if_it_is_installed() -> None:
    assert event_loop.use_uvloop()
    module, at_once = asyncio.run(_loop_and_task())
    assert module.startswith("uvloop")
    assert at_once


def test_nothing_changes_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Iterator[None]:
        raise ImportError(name)

    before = asyncio.run
    monkeypatch.setattr(importlib, "import_module", missing)
    assert not event_loop.use_uvloop()
    assert asyncio.run is before
