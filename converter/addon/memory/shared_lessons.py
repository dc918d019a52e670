"""Lessons about servers, shared through the store of kept replies, so that the lessons of one
process save the probes of the others.

The lessons of a server are one entry, of an owner that no client can be. When two processes write
the entry at the same time, one process may lose its lesson. The loss costs a probe, and no lock is
worth that. An address such as `localhost` means another server on each machine, so each machine has
its own entry for it.
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
from converter.addon.memory.store_waits import remembering
from converter.addon.servers.known_servers import (
    Bounded,
    KnownServers,
    Lessons,
    Upstream,
    prevailing,
    read,
    write,
)
from converter.core.model.memory import AwayError, Memory, Store

OWNER = "lessons"
"""The owner of lessons; those of clients are hashes."""
WAIT = 0.2
"""Seconds that a server's first request waits for the lessons of others; later ones do not wait."""
AGAIN = 10.0
"""Seconds after which a process reads the lessons of others again, while requests come."""
_OWN_NAMES = ("localhost", "0.0.0.0", "::", "host.docker.internal", "host.containers.internal")
"""Names that mean each machine itself, beside addresses of loopback."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A reading of the lessons of others.

    Attributes:
        task: reads them.
        began: when it began, by the monotonic clock.
        until: how long requests wait for it.
    """

    task: asyncio.Task[None]
    began: float
    until: float


class SharedLessons:
    """Copies the lessons of other processes into `servers`, and writes new lessons to the store."""

    def __init__(self, servers: KnownServers) -> None:
        self._servers = servers
        self._store: Store | None = None
        self._looks: Bounded[Upstream, _Look] = Bounded()
        self._telling: dict[Upstream, asyncio.Task[None]] = {}

    def share(self, store: Store | None) -> None:
        """Share lessons by this store from now on; `None` stops that."""
        self._store = store
        self._looks.clear()

    async def look(self, upstream: Upstream, *, anew: bool = False) -> None:
        """Copy the lessons that others have of a server. Wait for them the first time, or `anew`,
        no longer than `WAIT`.
        """
        if self._store is None:
            return
        now, look = time.monotonic(), self._looks.get(upstream)
        if look is None or (look.task.done() and (anew or look.began + AGAIN <= now)):
            task = asyncio.ensure_future(self._look(self._store, upstream))
            look = _Look(task, now, now + WAIT if anew or look is None else now)
            self._looks[upstream] = look
        if not look.task.done() and now < look.until:
            await asyncio.wait({look.task}, timeout=look.until - now)

    async def _look(self, store: Store, upstream: Upstream) -> None:
        def stored() -> Lessons:
            return read(store.get(_key(upstream)), time.time())

        with suppress(AwayError):  # then the server is probed
            self._servers.take(upstream, await remembering(Memory(store=store), 0, stored))

    def tell(self, upstream: Upstream) -> None:
        """Begin to write the new lessons about a server; nothing waits for it."""
        if self._store is not None and upstream not in self._telling:
            telling = asyncio.ensure_future(self._tell(self._store, upstream))
            if not telling.done():  # mitmproxy's tasks start eagerly
                self._telling[upstream] = telling
                telling.add_done_callback(lambda _: self._telling.pop(upstream))

    async def _tell(self, store: Store, upstream: Upstream) -> None:
        while news := self._servers.news(upstream):
            try:
                add = partial(_add, store, upstream, news)
                await remembering(Memory(store=store), 0, add)
            except AwayError:
                self._servers.keep_news(upstream, news)  # they are written with the next news
                return


def _add(store: Store, upstream: Upstream, news: Lessons) -> None:
    key = _key(upstream)
    before = read(store.get(key), time.time())
    store.keep(key, write(prevailing(news, before)), "", [], "")


def _key(upstream: Upstream) -> str:
    """Return the id of a server's entry, which does not reveal the server's address."""
    local = upstream.host.lower() in _OWN_NAMES or is_loopback(upstream.host)
    where = [str(upstream), str(upstream.direct), socket.gethostname() if local else ""]
    whole = "\0".join([_version(), *where]).encode("utf-8", "surrogatepass")
    return f"{OWNER} {hashlib.sha256(whole).hexdigest()}"


@cache
def _version() -> str:
    """Return a digest of the code that makes lessons. Lessons of other code are not found, so that
    no version number has to be raised.
    """
    rules = sorted(Path(next(iter(servers.__path__))).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in rules)).hexdigest()
