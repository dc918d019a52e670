"""Short work is done at once, long work beside the loop."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from converter.shell import aside as aside_module
from converter.shell.aside import AT_ONCE, TURN, aside, aside_of_streams, in_short_steps
from converter.wire import json_text


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


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(("limit", "left"), [(0.0, False), (60.0, True)])
def test_work_upon_work_is_not_without_a_look_for_long(
    limit: float, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside_module, "UNCOLLECTED", limit)

    def upon_each_other() -> bool:
        cycle = weakref.ref(_Cycle())
        in_short_steps(int)
        return cycle() is not None

    assert in_short_steps(upon_each_other) is left
    assert gc.isenabled()


def test_the_collector_passes_over_what_is_loaded_and_is_told_so_once() -> None:
    code = (
        "import gc; from converter.shell.aside import spare_the_loaded; spare_the_loaded();"
        "found = gc.get_freeze_count(); later = [[] for _ in range(1000)]; spare_the_loaded();"
        "assert found > 10_000; assert gc.get_freeze_count() < found + len(later)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_turns_are_short_meanwhile_and_as_ever_afterwards() -> None:
    usual = sys.getswitchinterval()
    assert asyncio.run(aside(AT_ONCE + 1, sys.getswitchinterval)) == pytest.approx(TURN)
    assert sys.getswitchinterval() == usual


def test_streams_do_not_wait_for_bodies() -> None:
    async def both() -> str:
        body = asyncio.ensure_future(aside(AT_ONCE + 1, lambda: time.sleep(0.3)))
        await asyncio.sleep(0.05)
        done = await aside_of_streams(lambda: "done")
        assert not body.done()
        await body
        assert gc.isenabled()
        return done

    assert asyncio.run(both()) == "done"


HUGE = {
    "one text": ["word " * 4_000_000],
    "escapes": ['\n"é🙂\\' * 2_000_000],
    "wide": ["你好 " * 3_000_000],
    "messages": [{"role": "user", "content": f"word {at}"} for at in range(100_000)],
    "numbers": [[1] * 1_000_000],
    "names": [{f"name{at}": "" for at in range(300_000)}],
}


def _longest_step(work: Callable[[], object]) -> float:
    """The most processor time that work in a thread takes before another thread has its turn."""
    clocks: list[int] = []

    def measured() -> float:
        clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
        in_short_steps(work)
        return time.thread_time()

    with ThreadPoolExecutor(1) as pool:
        result, last, longest = pool.submit(measured), 0.0, 0.0
        while not result.done():
            time.sleep(0.0005)
            now = time.clock_gettime(clocks[0]) if clocks else 0.0
            longest, last = max(longest, now - last), now
        return max(longest, result.result() - last)


@pytest.mark.parametrize("value", HUGE.values(), ids=HUGE)
def test_no_step_of_reading_or_writing_is_long(value: object) -> None:
    data = json_text.write(value)
    for work in (partial(json_text.read, data), partial(json_text.write, value)):
        assert min(_longest_step(work) for _ in range(5)) < 0.05
