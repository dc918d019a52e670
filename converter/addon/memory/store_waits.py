"""Work that reads the memory, and the end of its writes. No exchange waits for its store longer
than `PATIENCE`, all waits together.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from converter.addon.aside import AT_ONCE, BODIES, Worker, aside
from converter.core.model.memory import AwayError, Memory, Store

PATIENCE = 2.0
"""Seconds that an exchange waits for its store: the request for the replies that it refers to and
for earlier thoughts, the end of the reply for the writes.
"""
ANSWER = 1.0
"""Seconds in which a store must answer one query."""
REST = 1.0
"""Seconds in which a store that has failed is left alone."""
LONGEST = 300
"""Characters of a logged failure, because redis describes all its connections."""
_ASKING = ThreadPoolExecutor(8, "think-memory")
_log = logging.getLogger(__name__)


async def remembering[Result](
    memory: Memory, size: int, work: Callable[[], Result], worker: Worker = BODIES
) -> Result:
    """Return the result of `work`, which may read the memory and takes `size` bytes. `worker`: runs
    it where the memory is small and in this process. Raises AwayError.
    """
    if not memory.store.elsewhere:
        worker = worker if memory.size <= AT_ONCE else BODIES
        return await aside(size + memory.size, work, worker)
    answer = _ASKING.submit(work)
    if not await _ended(memory, answer):
        raise AwayError(f"no answer within {PATIENCE:.0f} s")
    return answer.result()


async def written(memory: Memory | None) -> BaseException | None:
    """Wait until all writes of `memory` have ended or taken too long; return a failure, if any."""
    if memory is None or not memory.waits.writes:
        return None
    writes, memory.waits.writes[:] = list(memory.waits.writes), []
    for write in writes:
        if not await _ended(memory, write):
            return AwayError(f"not written within {PATIENCE:.0f} s")
    return next(filter(None, (write.exception() for write in writes)), None)


class PendingPieces:
    """The last pieces of a reply that is kept elsewhere. The client gets them when the reply is
    kept, because it may refer to the reply as soon as it has read it. `memory`: keeps the reply.
    """

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory if memory is not None and memory.store.elsewhere else None
        self._pieces: list[bytes] = []

    @property
    def may_wait(self) -> bool:
        """Return True if the reply is kept elsewhere."""
        return self._memory is not None

    def due(self, pieces: list[bytes], chunk: bytes) -> list[bytes]:
        """Return the pieces that may be sent with those of a chunk. An empty chunk is the end:
        return all.
        """
        if chunk and self._memory is not None and self._memory.waits.writes:
            self._pieces += pieces
            return []
        return self.all(pieces)

    def all(self, pieces: list[bytes]) -> list[bytes]:
        """Return the pieces behind those that have waited."""
        waited, self._pieces = self._pieces, []
        return [*waited, *pieces] if waited else pieces

    async def until_written(self) -> None:
        """Wait until the reply is kept, or that has taken too long."""
        await written(self._memory)


async def _ended(memory: Memory, work: Future[Any]) -> bool:
    """Wait until work has ended, no longer than its exchange may wait; return True if it has.

    An asyncio future around the work, with a timeout of its own, takes the loop twice the time.
    """
    if work.done():
        return True
    begun, loop = time.monotonic(), asyncio.get_running_loop()
    ended = asyncio.Event()
    left = loop.call_later(PATIENCE - memory.waits.seconds, ended.set)

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(ended.set)

    work.add_done_callback(tell)
    try:
        await ended.wait()
    finally:
        left.cancel()
        memory.waits.seconds += time.monotonic() - begun
    return work.done()


@cache
def tell_of_another_type(expected: str) -> None:
    """Log once that a store has an entry of another type than the addon writes. Such an entry is
    ignored.
    """
    message = "an entry is ignored (reported once): expected %s, got another type"
    _log.warning(f"think: the memory: {message}", expected)


def named(key: bytes) -> str:
    """Return the id that `utf8` made these bytes of; empty for bytes that are not an id."""
    try:
        return key.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        tell_of_another_type("an id")
        return ""


class StoreElsewhere(Store):
    """A store that may be away. After a failure nobody waits for it for `REST` seconds."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.elsewhere = True
        self._rests_until = 0.0
        self._is_away = False

    def begin(self, work: Callable[[], object]) -> Future[object]:
        """Begin work that keeps something."""
        return _ASKING.submit(work)

    def close(self) -> None:
        """Close files and connections, when running queries have ended."""
        _ASKING.submit(self.store.close)

    def _ask[Result](self, question: Callable[[], Result]) -> Result:
        if time.monotonic() < self._rests_until:
            raise AwayError("it failed less than a moment ago")
        try:
            answer = question()
        except Exception as error:  # a driver may raise anything
            self._rests_until = time.monotonic() + REST
            fault = f"{type(error).__name__}: {error}"[:LONGEST]
            if not self._is_away:
                _log.warning("think: the memory is away (reported once): %s", fault)
            self._is_away = True
            raise AwayError(fault) from error
        if self._is_away:
            self._is_away = False
            _log.warning("think: the memory is back")
        return answer
