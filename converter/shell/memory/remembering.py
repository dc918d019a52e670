"""Work that asks the memory, and the end of what it writes: nobody waits longer than `PATIENCE`."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from converter.model.memory import AwayError, Memory, PassingStore, Store
from converter.shell.aside import AT_ONCE, aside

PATIENCE = 2.0
"""Seconds that a request waits for what it refers to, and a reply's last words for its writing."""
ANSWER = 1.0
"""Seconds in which a store must answer one question."""
REST = 1.0
"""Seconds in which a store that has failed is asked nothing."""
LONGEST = 300
"""Characters of a failure that are told: redis describes all its connections."""
_ASKING = ThreadPoolExecutor(8, "think-memory")
_log = logging.getLogger(__name__)


async def remembering[Result](store: Store, size: int, work: Callable[[], Result]) -> Result:
    """Return what `work` does, which may ask the store, to so many bytes. Raises AwayError."""
    if not store.elsewhere:
        return await aside(size + store.size, work)
    try:
        async with asyncio.timeout(PATIENCE):
            return await aside(AT_ONCE + 1, work, _ASKING)
    except TimeoutError:
        raise AwayError(f"no answer within {PATIENCE:.0f} s") from None


async def written(memory: Memory | None) -> BaseException | None:
    """Wait until all is written that `memory` keeps, or has taken too long; return a failure."""
    if memory is None or not memory.writes:
        return None
    writing = [asyncio.wrap_future(write) for write in memory.writes]
    memory.writes.clear()
    done, late = await asyncio.wait(writing, timeout=PATIENCE)
    failures = [failure for write in done if (failure := write.exception())]
    return AwayError(f"not written within {PATIENCE:.0f} s") if late else next(iter(failures), None)


def _keep(work: Callable[[], object]) -> None:
    try:
        work()
    except AwayError as error:
        _log.info("think: a reply is not kept: %s", error)
        raise


class StoreElsewhere(PassingStore):
    """A store that may be away: then it is let rest, and nobody waits for it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.elsewhere = True
        self._rests_until = 0.0
        self._is_away = False

    def begin(self, work: Callable[[], object]) -> Future[object]:
        """Begin work that keeps something."""
        return _ASKING.submit(_keep, work)

    def close(self) -> None:
        """Let go of files and connections, when those who ask are done."""
        _ASKING.submit(self._store.close)

    def _ask[Result](self, question: Callable[[], Result]) -> Result:
        if time.monotonic() < self._rests_until:
            raise AwayError("it failed a moment ago")
        try:
            answer = question()
        except Exception as error:  # whatever a driver raises, nothing is known of what is kept
            self._rests_until = time.monotonic() + REST
            words = f"{type(error).__name__}: {error}"[:LONGEST]
            if not self._is_away:
                _log.warning("think: the memory is away (said once): %s", words)
            self._is_away = True
            raise AwayError(words) from error
        if self._is_away:
            self._is_away = False
            _log.warning("think: the memory is back")
        return answer
