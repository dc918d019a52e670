"""Long work beside mitmproxy's loop, so that no other stream waits for it.

An agent's request is quick work (`is_quick`): some milliseconds of C, and of Python for few
messages. Such work takes its turn in the loop, one piece after the other, because a thread that
shares Python with the loop slows both by a quarter.

One thread works on whole bodies, one body after another; a second thread on streams, which do not
wait for bodies; a third draws the views that people look at. While a thread works, Python gives the
loop its turn, but not within one call of C, so long JSON is read and written by Python
(`converter.core.wire.long_json`). A process would need no turns, but the official binary of
mitmproxy cannot start a Python process.
"""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from random import randrange, sample

AT_ONCE = 128 * 1024
"""Bytes of a body that are worked on at once: some milliseconds; a thread's turn costs 0.1."""
_IN_TURN = 1 << 20
"""Bytes of a request that is read, translated and written in the loop: 20 milliseconds, if no part
of it repeats an earlier request.
"""
_QUOTES = 1 << 15
"""Quotes in such a request: 4,000 short messages have as many, and take 50 milliseconds. A body of
700 kB with the 130 turns of an agent has a third as many.
"""
_VALUES = 1 << 16
"""Values in such a request: C reads so many in 15 milliseconds, with an object's short keys."""
_SLICES = 8
"""So many slices hold one byte of some 250: fewer digits than a number has that takes long."""
_STEPS = [step for step in range(1000, 3000) if all(step % other for other in range(2, 55))]
"""Primes, because a step that shares a divisor with the period of data meets a part of it alone."""
BODIES = ThreadPoolExecutor(1, "think-aside")
_OF_STREAMS = ThreadPoolExecutor(1, "think-aside-streams")
SHOWING = ThreadPoolExecutor(1, "think-showing")
"""A thread for drawings, because no client's request waits for that thread."""

type Worker = ThreadPoolExecutor | asyncio.Lock
"""Does long work: a thread, or the loop itself, which takes one piece after the other by this
lock.
"""


def sample_of(data: bytes) -> bytes:
    """Return one byte of some 250, others each time, so that no data can hide by its
    period.
    """
    return b"".join(data[randrange(step) :: step] for step in sample(_STEPS, _SLICES))


def is_quick(body: bytes) -> bool:
    """Return True if a request is read, translated and written in some milliseconds: it has few
    values, few strings (so that it has few messages), and few digits, because the time for a number
    of thousands of digits grows with their square.
    """
    drawn = sample_of(body)
    apart = len(body) / max(len(drawn), 1)
    few_strings = drawn.count(b'"') * apart <= _QUOTES
    few_values = sum(map(drawn.count, (b",", b"[", b"{"))) * apart <= _VALUES
    few_digits = 4 * sum(map(drawn.count, b"0123456789")) < len(drawn)
    return len(body) <= _IN_TURN and few_strings and few_values and few_digits


def exempt_old_objects() -> None:
    """Exempt the objects that exist now from the garbage collector: mitmproxy's 100,000, which live
    as long as the process. A pass over them stops all threads, for 0.1 seconds on a busy machine,
    and long requests cause such passes.
    """
    gc.freeze()


async def aside[Result](size: int, work: Callable[[], Result], worker: Worker = BODIES) -> Result:
    """Return the result of `work` on `size` bytes. `worker`: does it if they are many."""
    if size <= AT_ONCE:
        return work()
    if isinstance(worker, ThreadPoolExecutor):
        return await asyncio.get_running_loop().run_in_executor(worker, work)
    async with worker:
        await asyncio.sleep(0)  # all others have their turn before it
        return work()


def begun_aside[Result](size: int, work: Callable[[], Result]) -> Future[Result]:
    """Begin such work, for callers that cannot wait. Small work is done at once."""
    if size > AT_ONCE:
        return BODIES.submit(work)
    done = Future[Result]()
    done.set_result(work())
    return done


async def aside_of_streams[Result](work: Callable[[], Result]) -> Result:
    """Return the result of `work` on a part of a stream, in the thread of streams."""
    return await asyncio.get_running_loop().run_in_executor(_OF_STREAMS, work)
