"""Short work is done at once, long work beside the loop."""

import asyncio
import gc
import threading
import time
from functools import partial

import pytest

from converter.shell.aside import AT_ONCE, aside


def test_short_work_is_done_at_once_in_the_loops_own_thread() -> None:
    assert asyncio.run(aside(AT_ONCE, threading.current_thread)) is threading.main_thread()


def test_long_work_is_done_in_another_thread() -> None:
    assert asyncio.run(aside(AT_ONCE + 1, threading.current_thread)) is not threading.main_thread()


def test_an_error_of_long_work_comes_to_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(aside(AT_ONCE + 1, lambda: 1 // 0))


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
        return await asyncio.gather(*(aside(AT_ONCE + 1, partial(work, at)) for at in range(3)))

    assert asyncio.run(both()) == [0, 1, 2]
    assert most == [1, 1, 1]


def _count() -> None:
    for _ in range(20_000_000):  # in Python, where threads have turns
        pass


def test_the_loop_goes_on_meanwhile() -> None:
    async def beside() -> float:
        longest, last = 0.0, time.perf_counter()
        busy = asyncio.ensure_future(aside(AT_ONCE + 1, _count))
        while not busy.done():
            await asyncio.sleep(0.001)
            longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
        return longest

    began = time.perf_counter()
    longest = asyncio.run(beside())
    assert longest < (time.perf_counter() - began) / 2


def test_nothing_is_collected_meanwhile_and_all_is_afterwards() -> None:
    assert not asyncio.run(aside(AT_ONCE + 1, gc.isenabled))
    assert gc.isenabled()
