"""Long work beside mitmproxy's loop, so that no other stream waits for it.

An agent's request is quick work (`is_quick`): some milliseconds of C, and of Python for few
messages. Such work takes its turn in the loop, one after the other, because a thread that shares
Python with the loop takes both a fourth more time.

One thread works on whole bodies, one body after another; a second thread on streams, which do not
wait for bodies; a third draws the views that people look at. While a thread works, Python gives the
loop its turn every `TURN`; with many threads the loop would wait for each of them. A process would
need no turns, but the official binary of mitmproxy cannot start a Python process. A call into C
keeps the turn until it returns, so long JSON is read and written in short steps here
(`converter.addon.json_steps`). The garbage collector waits too, because it would look at all
objects that the work has made. Frames of streams need neither: a frame of 4 MB holds the loop for
0.06 seconds.

The turn and the collector are settings of the whole process. They stay because the promise breaks
without them: a request of 24 MB of numbers would hold other streams for 0.8 seconds and not 0.1, a
request of 20,000 messages for 0.12 and not 0.03; with short turns alone, one time in three for 0.7
and 0.2.
"""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from converter.addon.json_steps import ShortSteps
from converter.core.wire import json_text

AT_ONCE = 128 * 1024
"""Bytes of a body that are worked on at once: some milliseconds; a thread's turn costs 0.1."""

TURN = 0.001
"""Seconds after which such work gives the loop its turn; a read and its write need several."""
_USUAL_TURN = sys.getswitchinterval()
UNCOLLECTED = 10.0
"""Seconds of such work, one upon the other, in which nobody collects garbage. Longer, a busy proxy
would keep every flow that is over, because flows are cycles.
"""
BODIES = ThreadPoolExecutor(1, "think-aside")
_OF_STREAMS = ThreadPoolExecutor(1, "think-aside-streams")
SHOWING = ThreadPoolExecutor(1, "think-showing")
"""For drawings, because no client's request waits for that."""

type Worker = ThreadPoolExecutor | asyncio.Lock
"""Does long work: a thread, or the loop itself, one work after the other, by this lock."""

_SHORT_STEPS = ShortSteps()


async def aside[Result](size: int, work: Callable[[], Result], worker: Worker = BODIES) -> Result:
    """Return what `work` does to so many bytes; to many `worker` does it."""
    if size <= AT_ONCE:
        return work()
    if isinstance(worker, ThreadPoolExecutor):
        return await asyncio.get_running_loop().run_in_executor(worker, in_short_steps, work)
    async with worker:
        await asyncio.sleep(0)  # all others have their turn before it
        return work()


def begun_aside[Result](size: int, work: Callable[[], Result]) -> Future[Result]:
    """Begin such work, for who cannot wait: what is small is done at once."""
    if size > AT_ONCE:
        return BODIES.submit(in_short_steps, work)
    done = Future[Result]()
    done.set_result(work())
    return done


async def aside_of_streams[Result](work: Callable[[], Result]) -> Result:
    """Return what `work` does to a part of a stream, in the thread of streams."""
    return await asyncio.get_running_loop().run_in_executor(_OF_STREAMS, work)


def spare_the_loaded() -> None:
    """Have the garbage collector pass over what is loaded by now and stays, because a look at all
    of it takes 30 milliseconds, on the loop as often as not.
    """
    if not gc.get_freeze_count():  # a script loaded anew would keep what was under way
        gc.freeze()


def in_short_steps[Result](work: Callable[[], Result]) -> Result:
    """Do work in a thread of its own: JSON in short steps, and garbage is collected afterwards."""
    with _CONSIDERATE, json_text.by(_SHORT_STEPS):
        return work()


class _Considerate:
    """The time of such work: nobody collects garbage, and turns are short."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._collects = True
        self._since = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._under_way:
                sys.setswitchinterval(TURN)
                self._collects, self._since = gc.isenabled(), time.monotonic()
                gc.disable()
            elif self._collects and time.monotonic() - self._since > UNCOLLECTED:
                gc.collect(0)
                self._since = time.monotonic()
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._under_way -= 1
            if self._under_way:
                return
            sys.setswitchinterval(_USUAL_TURN)
            if self._collects:
                gc.enable()


_CONSIDERATE = _Considerate()
