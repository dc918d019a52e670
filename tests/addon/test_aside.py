"""Short work is done at once, long work beside the loop."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
import weakref
from functools import partial
from itertools import pairwise

import pytest

from converter.addon import aside as aside_module
from converter.addon.aside import AT_ONCE, TURN, aside, aside_of_streams, in_short_steps

pytestmark = pytest.mark.slow


def test_short_work_is_done_at_once_in_the_loops_own_thread() -> None:
    assert asyncio.run(aside(AT_ONCE, threading.current_thread)) is threading.main_thread()


def test_long_work_is_done_in_another_thread() -> None:
    assert asyncio.run(aside(AT_ONCE + 1, threading.current_thread)) is not threading.main_thread()


def test_quick_work_has_its_turn_in_the_loop_and_others_theirs_between() -> None:
    said: list[str] = []

    async def all_of_them() -> None:
        in_turn = asyncio.Lock()
        works = [aside(AT_ONCE + 1, partial(said.append, "work"), in_turn) for _ in range(3)]
        working = asyncio.gather(*works)
        while not working.done():
            await asyncio.sleep(0)
            said.append("others")
        await working

    asyncio.run(all_of_them())
    assert said.count("work") == 3
    assert all(pair != ("work", "work") for pair in pairwise(said))


def test_an_error_of_quick_work_leaves_the_turn_to_others() -> None:
    async def both() -> threading.Thread:
        in_turn = asyncio.Lock()
        with pytest.raises(ZeroDivisionError):
            await aside(AT_ONCE + 1, lambda: 1 // 0, in_turn)
        return await aside(AT_ONCE + 1, threading.current_thread, in_turn)

    assert asyncio.run(both()) is threading.main_thread()


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
    async def beside() -> int:
        turns = 0
        busy = asyncio.ensure_future(aside(AT_ONCE + 1, _count))
        while not busy.done():
            await asyncio.sleep(0.001)
            turns += 1
        return turns

    assert asyncio.run(beside()) > 2


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
        "import gc; from converter.addon.aside import spare_the_loaded; spare_the_loaded();"
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


def test_a_part_of_a_stream_changes_nothing_of_the_process() -> None:
    def seen() -> tuple[bool, float]:
        return gc.isenabled(), sys.getswitchinterval()

    assert asyncio.run(aside_of_streams(seen)) == seen()
