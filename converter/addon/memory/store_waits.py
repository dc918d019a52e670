"""Runs work that uses the memory (`run_with_memory`), and waits for its writes (`wait_for_writes`),
at most `PATIENCE` seconds in all for one exchange. `StoreElsewhere` wraps a store that may fail;
`decode_key` and `log_wrong_type` are for entries that may be damaged.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from converter.addon.aside import AT_ONCE, BODY_THREAD, Worker, run_aside
from converter.core.model.memory import AwayError, Memory, Store

PATIENCE = 2.0
"""The most seconds that an exchange waits for its store: its request waits for kept replies and
earlier thoughts, the end of its reply waits for the writes.
"""
ANSWER = 1.0
"""The most seconds that a store may take to answer one query."""
REST = 1.0
"""Seconds for which a store is not used after a failure."""
LONGEST = 300
"""The most characters that the log has of a store's failure, because redis' messages may list all
connections.
"""
_STORE_THREADS = ThreadPoolExecutor(8, "think-memory")
"""The threads that use stores elsewhere: in a file or on a server."""
_log = logging.getLogger(__name__)


async def run_with_memory[Result](
    memory: Memory, size: int, work: Callable[[], Result], worker: Worker = BODY_THREAD
) -> Result:
    """Run `work`, which reads `size` bytes and may read the memory, and return its result.

    If the memory is in a store elsewhere (a file or a server), a thread for such stores runs the
    work. Raises AwayError if such a store fails, or if all waits of the exchange together exceed
    `PATIENCE` seconds. If the memory is in this process, `run_aside` runs the work: by `worker`, or
    by the thread of bodies (`BODY_THREAD`) if the memory has more than `AT_ONCE` bytes; at once if
    `size` and the memory together have no more.
    """
    if not memory.store.elsewhere:
        worker = worker if memory.size <= AT_ONCE else BODY_THREAD
        return await run_aside(size + memory.size, work, worker)
    answer = _STORE_THREADS.submit(work)
    if not await _wait_for(memory, answer):
        raise AwayError(f"no answer within {PATIENCE:.0f} s")
    return answer.result()


async def wait_for_writes(memory: Memory | None) -> BaseException | None:
    """Wait until all writes of `memory` have ended, but no longer than `PATIENCE` seconds for all
    waits of the exchange. Return the first failure, or an AwayError if the time was too short; None
    if all writes have succeeded, or if there are none.
    """
    if memory is None or not memory.writes:
        return None
    writes, memory.writes[:] = list(memory.writes), []
    for write in writes:
        if not await _wait_for(memory, write):
            return AwayError(f"not written within {PATIENCE:.0f} s")
    return next(filter(None, (write.exception() for write in writes)), None)


class PendingPieces:
    """Delays the last pieces of a reply until the reply is written to a store elsewhere (a file or
    a server). Otherwise a client that has the whole reply might send its next request before the
    store has the reply. `memory`: writes the reply; None if it is not kept.
    """

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory if memory is not None and memory.store.elsewhere else None
        self._pieces: list[bytes] = []

    @property
    def may_wait(self) -> bool:
        """True if pieces may have to wait, because the reply is written to a store elsewhere."""
        return self._memory is not None

    def take_due(self, pieces: list[bytes], chunk: bytes) -> list[bytes]:
        """Return the pieces that may be sent to the client now. `pieces`: the pieces that `chunk`
        completed. As long as writes are pending, keep the pieces and return `[]`. An empty chunk is
        the end of the reply: return all pieces.
        """
        if chunk and self._memory is not None and self._memory.writes:
            self._pieces += pieces
            return []
        return self.take_all(pieces)

    def take_all(self, pieces: list[bytes]) -> list[bytes]:
        """Return the pieces that have waited, followed by `pieces`, and keep none."""
        waited, self._pieces = self._pieces, []
        return [*waited, *pieces] if waited else pieces

    async def wait_for_writes(self) -> None:
        """Wait until the reply is written to its store, but no longer than `PATIENCE` seconds for
        all waits of the exchange.
        """
        await wait_for_writes(self._memory)


async def _wait_for(memory: Memory, work: Future[Any]) -> bool:
    """Wait until `work` has ended, but no longer than `PATIENCE` seconds for all waits of the
    exchange: `memory.waited` has the seconds of the earlier ones. Return True if it has ended.

    `asyncio.wrap_future` is not used: with a timeout it would cost the loop twice the time.
    """
    if work.done():
        return True
    begun, loop = time.monotonic(), asyncio.get_running_loop()
    ended = asyncio.Event()
    left = loop.call_later(PATIENCE - memory.waited, ended.set)

    def notify(_: Future[Any]) -> None:
        """Wake the waiting task. Called in the thread that ended the work."""
        with suppress(RuntimeError):  # raised if the loop is closed: then no task waits
            loop.call_soon_threadsafe(ended.set)

    work.add_done_callback(notify)
    try:
        await ended.wait()
    finally:
        left.cancel()
        memory.waited += time.monotonic() - begun
    return work.done()


@cache
def log_wrong_type(expected: str) -> None:
    """Log that a store has a value that is not of the `expected` type, and that the value is
    ignored. A second log of the same type is left out.
    """
    message = "an entry is ignored (reported once): expected %s, got another type"
    _log.warning(f"think: the memory: {message}", expected)


def decode_key(key: bytes) -> str:
    """Return the text of a stored key or name, which the function `utf8` has encoded. If the bytes
    are not UTF-8, log it and return an empty text.
    """
    try:
        return key.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        log_wrong_type("an id")
        return ""


class StoreElsewhere(Store):
    """Wraps a store in a file or on a server, which may fail. A use that fails raises AwayError,
    and so does each use in the next `REST` seconds, at once.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.elsewhere = True
        self._rests_until = 0.0
        self._is_away = False

    def begin(self, work: Callable[[], object]) -> Future[object]:
        """Begin `work`, which writes to the store, in a thread. Return its future."""
        return _STORE_THREADS.submit(work)

    def close(self) -> None:
        """Have a thread close the store's files and connections."""
        _STORE_THREADS.submit(self.store.close)

    def _call[Result](self, operation: Callable[[], Result]) -> Result:
        """Return the result of `operation`, which uses the store. Raises AwayError if it fails, or
        at once if another use failed in the last `REST` seconds.
        """
        if time.monotonic() < self._rests_until:
            raise AwayError("it failed a moment ago")
        try:
            answer = operation()
        except Exception as error:  # A store's package may raise errors of any type.
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
