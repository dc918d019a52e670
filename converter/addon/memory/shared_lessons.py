"""`SharedLessons` copies lessons about servers between processes, through the store that
`open_lessons` opens. So a process need not probe a server about which another process has a lesson.

All lessons about a server are one entry. If two processes write the entry at the same time, a
lesson may be lost; another probe replaces it, so there is no lock. An address such as `localhost`
means another server on each machine, so each machine has its own entry for it.
"""

import asyncio
import hashlib
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from converter.addon import servers
from converter.addon.addresses import is_loopback
from converter.addon.memory.store_waits import run_with_memory
from converter.addon.servers.known_servers import (
    BoundedDict,
    KnownServers,
    Lessons,
    Upstream,
    merge_lessons,
    read_lessons,
    write_lessons,
)
from converter.core.model.memory import AwayError, Memory, Store

OWNER = "lessons"
"""The owner in the keys of lessons in a store. No client has this owner, because the owners of
clients are hashes.
"""
WAIT = 0.2
"""The most seconds that the first request to a server waits for other processes' lessons, and so
does a probe before it begins (`anew`). Later requests do not wait for a reading of their own.
"""
AGAIN = 10.0
"""The fewest seconds between two readings of other processes' lessons about a server, except
readings for a probe (`anew`). The first request after these seconds begins the next reading.
"""
_OWN_NAMES = ("localhost", "0.0.0.0", "::", "host.docker.internal", "host.containers.internal")
"""Names of hosts that mean the machine itself, as loopback addresses do."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a server's lessons from the store."""

    task: asyncio.Task[None]
    """The task that reads the lessons."""
    began: float
    """The time when the reading began, by the monotonic clock."""
    until: float
    """The time, by the monotonic clock, until which requests wait for the reading; the same as
    `began` if no request waits.
    """


class SharedLessons:
    """Shares lessons through the store: copies other processes' lessons into `servers`, and writes
    new lessons of this process to the store.
    """

    def __init__(self, servers: KnownServers) -> None:
        self._servers = servers
        self._store: Store | None = None
        self._readings: BoundedDict[Upstream, _Reading] = BoundedDict()
        self._writing: dict[Upstream, asyncio.Task[None]] = {}

    def use_store(self, store: Store | None) -> None:
        """Share lessons through this store from now on; None stops the sharing."""
        self._store = store
        self._readings.clear()

    async def read_store(self, upstream: Upstream, *, anew: bool = False) -> None:
        """Copy other processes' lessons about a server into this process, in a task (a reading).

        A new reading begins unless one is running or has begun in the last `AGAIN` seconds. With
        `anew`, it begins even within these seconds, but not while another one is running.

        A call waits for the running reading only if that is the first about this server, or was
        begun with `anew`. The wait ends at the latest `WAIT` seconds after the reading began.
        """
        if self._store is None:
            return
        now, reading = time.monotonic(), self._readings.get(upstream)
        if reading is None or (reading.task.done() and (anew or reading.began + AGAIN <= now)):
            task = asyncio.ensure_future(self._copy_lessons(self._store, upstream))
            reading = _Reading(task, now, now + WAIT if anew or reading is None else now)
            self._readings[upstream] = reading
        if not reading.task.done() and now < reading.until:
            await asyncio.wait({reading.task}, timeout=reading.until - now)

    async def _copy_lessons(self, store: Store, upstream: Upstream) -> None:
        """Copy a server's lessons from the store into this process."""
        read = partial(_stored_lessons, store, upstream)
        with suppress(AwayError):  # Without these lessons, this process probes the server itself.
            lessons = await run_with_memory(Memory(store=store), 0, read)
            self._servers.add_lessons(upstream, lessons)

    def write_store(self, upstream: Upstream) -> None:
        """Begin to write new lessons of this process about a server to the store. No request waits
        until they are written.
        """
        if self._store is not None and upstream not in self._writing:
            writing = asyncio.ensure_future(self._write_lessons(self._store, upstream))
            if not writing.done():  # mitmproxy's loop starts tasks eagerly: this may have ended.
                self._writing[upstream] = writing
                writing.add_done_callback(lambda _: self._writing.pop(upstream))

    async def _write_lessons(self, store: Store, upstream: Upstream) -> None:
        """Write new lessons about a server to the store, until there are no new ones."""
        while news := self._servers.take_new_lessons(upstream):
            try:
                add = partial(_write_merged, store, upstream, news)
                await run_with_memory(Memory(store=store), 0, add)
            except AwayError:
                self._servers.mark_as_new(upstream, news)  # the next `write_store` writes them
                return


def _write_merged(store: Store, upstream: Upstream, news: Lessons) -> None:
    """Write the lessons `news` to the store's entry of a server, together with the lessons that the
    entry already has.
    """
    merged = merge_lessons(news, _stored_lessons(store, upstream))
    store.keep(_entry_key(upstream), write_lessons(merged), "", [], "")


def _stored_lessons(store: Store, upstream: Upstream) -> Lessons:
    """Return the valid lessons in the store's entry of a server."""
    return read_lessons(store.get(_entry_key(upstream)), time.time())


def _entry_key(upstream: Upstream) -> str:
    """Return the key of a server's entry in the store. The address is hashed, so that the store
    does not show it.
    """
    local = upstream.host.lower() in _OWN_NAMES or is_loopback(upstream.host)
    where = [str(upstream), str(upstream.direct), socket.gethostname() if local else ""]
    whole = "\0".join([_code_digest(), *where]).encode("utf-8", "surrogatepass")
    return f"{OWNER} {hashlib.sha256(whole).hexdigest()}"


@cache
def _code_digest() -> str:
    """Return a digest of the code that makes lessons. It is a part of the key of each entry, so
    that lessons of other versions of the code are not read.
    """
    rules = sorted(Path(next(iter(servers.__path__))).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in rules)).hexdigest()
