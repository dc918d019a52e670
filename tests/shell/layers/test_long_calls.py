"""Only the exchange itself waits for a long call."""

import asyncio
from collections.abc import Callable

from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.layers.long_calls import MOST_BEHIND, MOST_SAID, LongCalls
from converter.shell.layers.turns import LONG_READ, UnfinishedHook
from tests.support.proxy_core import Marker


def _into(said: list[list[bytes]]) -> Callable[[list[bytes]], CommandGenerator[None]]:
    def say(pieces: list[bytes]) -> CommandGenerator[None]:
        said.append(pieces)
        yield from ()

    return say


def _begun(call: CommandGenerator[None]) -> UnfinishedHook:
    hook = next(call)
    assert isinstance(hook, UnfinishedHook)
    return hook


def test_a_short_call_is_made_at_once() -> None:
    calls, function, said = LongCalls(), Marker(), list[list[bytes]]()
    assert list(calls.call(function, b"a", _into(said))) == []
    assert function.calls == [b"a"]
    assert said == [[b"<", b"a", b">"]]


def test_what_is_long_is_said_in_turns() -> None:
    class Tells(Marker):
        async def beside(self, chunk: bytes) -> list[bytes]:
            return [chunk, b"b", chunk * 3, b"c", b"d"]

    async def long() -> None:
        half, said, seen = b"a" * (MOST_SAID // 2), list[list[bytes]](), list[int]()
        for hook in LongCalls().call(Tells(is_long=True), half, _into(said)):
            assert isinstance(hook, UnfinishedHook)
            seen.append(len(said))
            await hook.task
        assert said == [[half, b"b"], [half * 3], [b"c", b"d"]]
        assert seen == [0, 1, 2]

    asyncio.run(long())


def test_a_long_read_is_rewritten_in_steps_between_which_others_have_their_turn() -> None:
    async def long() -> None:
        calls, function, turns = LongCalls(), Marker(), list[int]()
        read = b"a" * LONG_READ + b"b" * LONG_READ + b"c"
        hook = _begun(calls.call(function, read, _into([])))
        while not hook.task.done():
            turns.append(len(function.calls))
            await asyncio.sleep(0)
        assert {1, 2} < set(turns)
        assert b"".join(function.calls) == read
        assert b"".join(hook.task.result()).replace(b"><", b"") == b"<" + read + b">"
        assert function.made_beside == []

    asyncio.run(long())


def test_the_rest_of_a_long_read_goes_beside_the_loop_once_it_has_to() -> None:
    class Fills(Marker):
        def __call__(self, chunk: bytes) -> list[bytes]:
            self.is_long = True
            return super().__call__(chunk)

    async def long() -> None:
        calls, function = LongCalls(), Fills()
        rest = b"b" * 2 * LONG_READ
        hook = _begun(calls.call(function, b"a" * LONG_READ + rest, _into([])))
        await hook.task
        assert function.made_beside == [rest]

    asyncio.run(long())


def test_no_more_is_read_than_may_wait_for_a_long_call() -> None:
    async def long() -> None:
        calls, function = LongCalls(), Marker(is_long=True)
        hook = _begun(calls.call(function, b"a", _into([])))
        calls.came(MOST_BEHIND)
        await asyncio.wait_for(calls.keep_up(), 0.005)  # before the call's end
        calls.came(1)
        await calls.keep_up()
        assert hook.task.done()
        assert hook.task.result() == [b"<", b"a", b">"]

    asyncio.run(long())


def test_what_comes_while_nothing_takes_long_is_not_counted() -> None:
    async def long() -> None:
        calls, function = LongCalls(), Marker(is_long=True)
        calls.came(2 * MOST_BEHIND)
        hook = _begun(calls.call(function, b"a", _into([])))
        await calls.keep_up()
        assert not hook.task.done()
        await hook.task

    asyncio.run(long())
