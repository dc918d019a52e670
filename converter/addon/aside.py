"""Does long work, such as the parsing of a large body, in threads beside mitmproxy's event loop, so
that no other stream waits for it.

An agent's usual request is quick work (`is_quick`): some milliseconds. Quick work is done in the
loop, one request after another. In a thread it would slow the loop, and be slowed itself, by a
quarter.

Long work is done in three threads: one for whole bodies, one for streams, so that no stream waits
for a body, and one for views that people look at. Python switches between a thread and the loop,
but not within one call of a C function. So long JSON is read and written by Python code
(`converter.core.wire.long_json`). Another process would not slow the loop at all, but the official
binary of mitmproxy cannot start a Python process.
"""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from random import randrange, sample

AT_ONCE = 128 * 1024
"""Work on at most this number of bytes is done at once in the event loop, where it takes some
milliseconds. Work on more bytes is done by a `Worker`, usually in a thread; to switch to the thread
takes 0.1 milliseconds.
"""
_MOST_BYTES = 1 << 20
"""The most bytes of a quick request (`is_quick`). To read, translate and write a megabyte takes 20
milliseconds, if no part of the request repeats an earlier one.
"""
_MOST_QUOTES = 1 << 15
"""The most double quotes in a quick request (`is_quick`). 4,000 short messages have this number of
quotes, and take 50 milliseconds; an agent's body of 700 kB with 130 turns has a third of them.
"""
_MOST_VALUES = 1 << 16
"""The most JSON values in a quick request (`is_quick`). Python's `json` reads an object of 65,536
values with short keys in 15 milliseconds.
"""
_SLICES = 8
"""How many slices of the data `sample_of` takes (`data[start::step]`). Together they have one byte
of 250. This is enough to notice a number that Python parses slowly because of its many digits.
"""
_STEPS = [step for step in range(1000, 3000) if all(step % other for other in range(2, 55))]
"""The primes from 1,000 to 3,000, from which `sample_of` draws the steps of its slices. In
repetitive data, a step that has a divisor in common with the period would meet only a part of the
period's bytes.
"""
BODY_THREAD = ThreadPoolExecutor(1, "think-aside")
"""The thread for long work on whole bodies."""
_STREAM_THREAD = ThreadPoolExecutor(1, "think-aside-streams")
"""The thread for long work on streams."""
SHOWING = ThreadPoolExecutor(1, "think-showing")
"""The thread that renders mitmweb's views and the page at /think. No client's request waits for it.
"""

type Worker = ThreadPoolExecutor | asyncio.Lock
"""Where long work is done: in a thread, or, with a lock, in the loop itself, one work after
another.
"""


def sample_of(data: bytes) -> bytes:
    """Return a sample of `data`, about one byte of 250. The bytes are chosen at random, so that no
    client can build data that the sample misses.
    """
    return b"".join(data[randrange(step) :: step] for step in sample(_STEPS, _SLICES))


def is_quick(body: bytes) -> bool:
    """Return True if a request is likely to be read, translated and written in some milliseconds.

    Such a request has at most `_MOST_BYTES`, few values, few strings (and so few messages), and few
    digits: the time to read a number grows with the square of its digits.
    """
    drawn = sample_of(body)
    apart = len(body) / max(len(drawn), 1)
    few_strings = drawn.count(b'"') * apart <= _MOST_QUOTES
    few_values = sum(map(drawn.count, (b",", b"[", b"{"))) * apart <= _MOST_VALUES
    few_digits = 4 * sum(map(drawn.count, b"0123456789")) < len(drawn)
    return len(body) <= _MOST_BYTES and few_strings and few_values and few_digits


def exempt_old_objects() -> None:
    """Exempt all objects that exist now from the garbage collector: mitmproxy's 100,000, which live
    as long as the process. Long requests cause the collector to visit all objects, which would stop
    all threads, for 0.1 seconds on a busy machine.
    """
    gc.freeze()


async def run_aside[Result](
    size: int, work: Callable[[], Result], worker: Worker = BODY_THREAD
) -> Result:
    """Call `work`, which reads or writes `size` bytes, and return its result. `worker`: the thread
    that calls `work` on more than `AT_ONCE` bytes. If `worker` is a lock, the event loop makes
    these calls, one after another.
    """
    if size <= AT_ONCE:
        return work()
    if isinstance(worker, ThreadPoolExecutor):
        return await asyncio.get_running_loop().run_in_executor(worker, work)
    async with worker:
        await asyncio.sleep(0)  # other tasks of the event loop run first
        return work()


def begin_aside[Result](size: int, work: Callable[[], Result]) -> Future[Result]:
    """Begin `work`, which reads or writes `size` bytes, in the thread for whole bodies, and return
    its future, for callers that cannot await it. Work on at most `AT_ONCE` bytes is done at once.
    """
    if size > AT_ONCE:
        return BODY_THREAD.submit(work)
    done = Future[Result]()
    done.set_result(work())
    return done


async def run_in_stream_thread[Result](work: Callable[[], Result]) -> Result:
    """Call `work`, which rewrites a part of a stream, in the thread for streams, and return its
    result.
    """
    return await asyncio.get_running_loop().run_in_executor(_STREAM_THREAD, work)
