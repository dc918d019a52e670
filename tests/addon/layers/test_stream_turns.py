"""A server is read no further while its reply waits, and no other client waits."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from mitmproxy.connection import Connection, Server
from mitmproxy.proxy.events import HookCompleted
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.layers.stream_turns import (
    LONG_READ,
    UnfinishedHook,
    call_in_turns,
    give_turns,
    wait_while_paused,
)
from tests.support.proxy_core import END, HEAD, Core, Marker, chunk

SECONDS = 60.0  # only when a test has failed


@contextmanager
def waiting() -> Iterator[tuple[Core, UnfinishedHook]]:
    """A reply that waits for something, as it does for a hook."""
    with Core() as core:
        core.streams_with(Marker(is_long=True))
        core.ask()
        core.hold = "think_unfinished_hook"
        core.answer(HEAD + chunk(b"a"))
        (hook,) = core.held
        assert isinstance(hook, UnfinishedHook)
        yield core, hook
        core.held.clear()


def test_a_server_is_read_on_when_the_exchange_goes_on_and_not_before() -> None:
    async def holds() -> None:
        with waiting() as (core, hook):
            held = asyncio.create_task(wait_while_paused(core.layer, core.servers[-1]))
            await hook.task
            await asyncio.sleep(0.005)
            assert not held.done()  # mitmproxy has yet to hear of it
            core.happens(HookCompleted(hook))
            await asyncio.wait_for(held, SECONDS)

    asyncio.run(holds())


def test_what_came_behind_is_taken_before_more_is_read() -> None:
    async def holds() -> None:
        with waiting() as (core, hook):
            core.answer(chunk(b"b"))
            held = asyncio.create_task(wait_while_paused(core.layer, core.servers[-1]))
            await over(core, hook)
            (behind,) = core.held[1:]
            assert isinstance(behind, UnfinishedHook)
            await asyncio.sleep(0.005)
            assert not held.done()
            await over(core, behind)
            await asyncio.wait_for(held, SECONDS)
            assert core.received().endswith(chunk(b"<a>") + chunk(b"<b>"))

    asyncio.run(holds())


async def over(core: Core, hook: UnfinishedHook) -> None:
    """Let one hook come to its end."""
    await hook.task
    core.happens(HookCompleted(hook))


@pytest.mark.parametrize(
    "other",
    [lambda core: core.client, lambda _: None, lambda _: Server(address=("127.0.0.1", 1))],
    ids=["client", "nobody", "another server"],
)
def test_who_else_is_read_goes_on(other: Callable[[Core], Connection | None]) -> None:
    async def goes_on() -> None:
        with waiting() as (core, hook):
            read = other(core)
            assert read is not core.servers[-1]
            await asyncio.wait_for(wait_while_paused(core.layer, read), SECONDS)
            assert not hook.task.done()

    asyncio.run(goes_on())


def test_a_hook_of_an_addon_is_waited_for_too() -> None:
    async def holds() -> None:
        with Core() as core:
            core.streams_with(Marker())
            core.ask()
            core.hold = "responseheaders"
            core.answer(HEAD + chunk(b"a"))
            held = asyncio.create_task(wait_while_paused(core.layer, core.servers[-1]))
            await asyncio.sleep(0.005)
            assert not held.done()
            core.release()
            await asyncio.wait_for(held, SECONDS)

    asyncio.run(holds())


def test_a_reply_that_flows_is_not_held_back() -> None:
    async def goes_on() -> None:
        with Core() as core:
            core.streams_with(Marker())
            core.ask()
            core.answer(HEAD + chunk(b"a"))
            await asyncio.wait_for(wait_while_paused(core.layer, core.servers[-1]), SECONDS)
            core.answer(END)

    asyncio.run(goes_on())


@pytest.mark.parametrize("length", [LONG_READ, LONG_READ - 1])
def test_after_a_long_read_others_have_their_turn(length: int) -> None:
    lines: list[str] = []

    class Handler:
        async def drain_writers(self) -> None:
            lines.append("drained")

    async def drained(handler: Handler) -> None:
        asyncio.get_running_loop().call_soon(lines.append, "another")
        await handler.drain_writers()

    with Core() as core:
        handler = Handler()
        give_turns(core.layer, handler)
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD)
        core.answer(chunk(b"x" * length)[:length])
        asyncio.run(drained(handler))
    assert lines[0] == ("another" if length >= LONG_READ else "drained")


def test_a_server_waits_with_its_reply() -> None:
    lines: list[str] = []

    class Handler:
        async def drain_writers(self) -> None:
            lines.append("drained")

    async def drained(core: Core, handler: Handler) -> None:
        core.streams_with(Marker(is_long=True))
        core.ask()
        core.hold = "think_unfinished_hook"
        core.answer(HEAD + chunk(b"a"))
        task = asyncio.create_task(handler.drain_writers())
        await asyncio.sleep(0.05)
        assert not lines
        core.release()
        await asyncio.wait_for(task, SECONDS)

    with Core() as core:
        handler = Handler()
        give_turns(core.layer, handler)
        asyncio.run(drained(core, handler))
    assert lines == ["drained"]


def _begun(call: CommandGenerator[list[bytes]]) -> UnfinishedHook:
    hook = next(call)
    assert isinstance(hook, UnfinishedHook)
    return hook


def test_a_short_call_runs_at_once() -> None:
    function = Marker()
    with pytest.raises(StopIteration) as ended:
        next(call_in_turns(function, b"a"))
    assert function.calls == [b"a"]
    assert ended.value.value == [b"<", b"a", b">"]


def test_a_long_read_is_rewritten_in_steps_between_which_others_have_their_turn() -> None:
    async def long() -> None:
        function, turns = Marker(), list[int]()
        read = b"a" * LONG_READ + b"b" * LONG_READ + b"c"
        hook = _begun(call_in_turns(function, read))
        while not hook.task.done():
            turns.append(len(function.calls))
            await asyncio.sleep(0)
        assert {1, 2} < set(turns)
        assert b"".join(function.calls) == read
        assert b"".join(hook.task.result()).replace(b"><", b"") == b"<" + read + b">"
        assert function.beside_calls == []

    asyncio.run(long())


def test_the_rest_of_a_long_read_goes_beside_the_loop_once_it_has_to() -> None:
    class Fills(Marker):
        def __call__(self, chunk: bytes) -> list[bytes]:
            self.is_long = True
            return super().__call__(chunk)

    async def long() -> None:
        function = Fills()
        rest = b"b" * 2 * LONG_READ
        hook = _begun(call_in_turns(function, b"a" * LONG_READ + rest))
        await hook.task
        assert function.beside_calls == [rest]

    asyncio.run(long())
