"""Long work beside mitmproxy's loop, so that no other stream waits for it.

One thread does it, a piece of work after another: Python gives the loop its turn every 5
milliseconds then, while several threads would have it wait for each of them. A process of its own
would need no turns, but the official binary of mitmproxy cannot start one of Python's. What is
written in C keeps the turn for one call, so JSON is written in pieces (`json_text.write_long`); and
the garbage collector, which would look at all that such work has made, has to wait.
"""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 128 * 1024
"""Bytes of a body that are worked on at once: some milliseconds; a thread's turn costs 0.1."""

_WORKER = ThreadPoolExecutor(1, "think-aside")


async def aside[Result](size: int, work: Callable[[], Result]) -> Result:
    """Return what `work` does to so many bytes; for many it is done in the thread."""
    if size <= AT_ONCE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_WORKER, _uncollected, work)


def _uncollected[Result](work: Callable[[], Result]) -> Result:
    collects = gc.isenabled()
    gc.disable()
    try:
        return work()
    finally:
        if collects:
            gc.enable()
