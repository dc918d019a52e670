"""Changes to the event loop, undone after each test."""

import asyncio
import importlib
from collections.abc import Iterator

import pytest
import uvloop

from converter.addon.probes.upstream_http import fetch
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.probes import ProbeRequest
from converter.extras.command import workers
from tests.support.scripted_server import JSON, Reply, ScriptedServer

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
    workers.share_port()
    asyncio.run(_two_on_one_port())


def test_uvloop_runs_everything_if_it_is_installed() -> None:
    assert workers.use_uvloop()
    module, at_once = asyncio.run(_loop_and_task())
    assert module.startswith("uvloop")
    assert at_once


def test_nothing_changes_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Iterator[None]:
        raise ImportError(name)

    before = asyncio.run
    monkeypatch.setattr(importlib, "import_module", missing)
    assert not workers.use_uvloop()
    assert asyncio.run is before


def test_probes_run_on_uvloop() -> None:
    async def status(port: int) -> int:
        upstream = Upstream("http", "localhost", port, "")
        reply = await fetch(upstream, {}, ProbeRequest("/x"))
        return reply.status

    with ScriptedServer() as server, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        server.answer(Reply([b"{}"], JSON))
        assert runner.run(status(server.server_port)) == 200
        with pytest.raises(ConnectionError, match="refused"):
            runner.run(status(1))
        server.shutdown()
