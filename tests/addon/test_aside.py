"""Short work is done at once, long work beside the loop."""

import asyncio
import gc
import json
import threading
import time
from functools import partial
from itertools import pairwise

import pytest

from converter.addon.aside import (
    AT_ONCE,
    exempt_old_objects,
    is_quick,
    run_aside,
    run_in_stream_thread,
)

pytestmark = pytest.mark.slow


def test_short_work_is_done_at_once_in_the_loops_own_thread() -> None:
    assert asyncio.run(run_aside(AT_ONCE, threading.current_thread)) is threading.main_thread()


def test_long_work_is_done_in_another_thread() -> None:
    assert (
        asyncio.run(run_aside(AT_ONCE + 1, threading.current_thread)) is not threading.main_thread()
    )


def test_quick_work_has_its_turn_in_the_loop_and_others_theirs_between() -> None:
    lines: list[str] = []

    async def all_of_them() -> None:
        in_turn = asyncio.Lock()
        works = [run_aside(AT_ONCE + 1, partial(lines.append, "work"), in_turn) for _ in range(3)]
        working = asyncio.gather(*works)
        while not working.done():
            await asyncio.sleep(0)
            lines.append("others")
        await working

    asyncio.run(all_of_them())
    assert lines.count("work") == 3
    assert all(pair != ("work", "work") for pair in pairwise(lines))


def test_an_error_of_quick_work_leaves_the_turn_to_others() -> None:
    async def both() -> threading.Thread:
        in_turn = asyncio.Lock()
        with pytest.raises(ZeroDivisionError):
            await run_aside(AT_ONCE + 1, lambda: 1 // 0, in_turn)
        return await run_aside(AT_ONCE + 1, threading.current_thread, in_turn)

    assert asyncio.run(both()) is threading.main_thread()


def test_an_error_of_long_work_comes_to_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_aside(AT_ONCE + 1, lambda: 1 // 0))


def test_two_long_works_are_done_one_after_the_other() -> None:
    running: list[int] = []
    most: list[int] = []

    def work(number: int) -> int:
        running.append(number)
        time.sleep(0.02)
        most.append(len(running))
        running.remove(number)
        return number

    async def both() -> list[int]:
        return await asyncio.gather(*(run_aside(AT_ONCE + 1, partial(work, at)) for at in range(3)))

    assert asyncio.run(both()) == [0, 1, 2]
    assert most == [1, 1, 1]


def test_the_loop_goes_on_meanwhile() -> None:
    async def beside() -> bool:
        over = threading.Event()
        busy = asyncio.ensure_future(run_aside(AT_ONCE + 1, lambda: over.wait(60)))
        for _ in range(3):
            await asyncio.sleep(0.001)
        over.set()
        return await busy

    assert asyncio.run(beside())


def _body(*messages: object) -> bytes:
    return json.dumps({"model": "qwen3", "messages": messages}).encode()


_TEXT = 'She said "no", and the file of forty lines was as before: {a: [1]}. So he tried again.\n'
_MESSAGE = {"role": "user", "content": _TEXT * 32}


def _periodic(period: int) -> bytes:
    """A megabyte of small messages whose marks stand at the same bytes of each period."""
    unit = (b'{"role":"user","content":"x"},' * (period // 31)).ljust(period)
    return b'{"messages":['.ljust(period) + unit * (1_000_000 // period)


@pytest.mark.parametrize(
    ("body", "quick"),
    [
        (_body(*[_MESSAGE] * 200), True),
        *((_periodic(period), False) for period in (250, 251, 2000, 2008)),
        (_body(*[_MESSAGE] * 400), False),
        (_body(*[{"role": "user", "content": "hi"}] * 5000), False),
        (_body(list(range(100_000))), False),
        (_body([[]] * 100_000), False),
    ],
    ids=["an agent's", *["periodic"] * 4, "1 MB", "short messages", "numbers", "lists"],
)
def test_a_request_of_few_messages_is_quick_work(body: bytes, quick: bool) -> None:
    assert is_quick(body) is quick


def test_streams_do_not_wait_for_bodies() -> None:
    async def both() -> str:
        begun, over = threading.Event(), threading.Event()

        def long() -> bool:
            begun.set()
            return over.wait(60)

        body = asyncio.ensure_future(run_aside(AT_ONCE + 1, long))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        done = await run_in_stream_thread(lambda: "done")
        over.set()
        assert await body
        return done

    assert asyncio.run(both()) == "done"


def test_old_objects_are_no_work_of_the_collector() -> None:
    old: list[list[int]] = [[]]
    exempt_old_objects()
    assert not any(each is old for each in gc.get_objects())
    gc.unfreeze()
