"""Lessons about servers, shared through the store of kept replies: what one process has learnt, the
others need not ask.

The lessons of a server are one entry, of an owner that no client can be. When two processes write
the entry at the same time, one process may lose its lesson: the loss costs a question, and no lock
is worth it. An address such as `localhost` means another server on each machine, so each machine
has its own entry for it.
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
from converter.addon.memory.remembering import remembering
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
"""No client's: theirs are hashes."""
WAIT = 0.2
"""Seconds that a server's first request waits for the lessons of others; no later one does."""
AGAIN = 10.0
"""Seconds after which a process looks whether others have learnt more, while requests come."""
_OWN_NAMES = ("localhost", "0.0.0.0", "::", "host.docker.internal", "host.containers.internal")
"""Names that mean each machine itself, beside addresses of loopback."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at the lessons of others, and how long it is waited for, by the monotonic clock."""

    task: asyncio.Task[None]
    began: float
    until: float


class SharedLessons:
    """Takes over into `servers` what other processes have learnt, and tells them of its news."""

    def __init__(self, servers: KnownServers) -> None:
        self._servers = servers
        self._store: Store | None = None
        self._looks: Bounded[Upstream, _Look] = Bounded()
        self._telling: dict[Upstream, asyncio.Task[None]] = {}

    def share(self, store: Store | None) -> None:
        """Share by this store from now on; by none where it is None."""
        self._store = store
        self._looks.clear()

    async def look(self, upstream: Upstream, *, anew: bool = False) -> None:
        """Take over what others have learnt of a server; wait for it the first time, or `anew`, no
        longer than `WAIT`.
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

        with suppress(AwayError):  # then who wants to know asks the server
            self._servers.take(upstream, await remembering(Memory(store=store), 0, stored))

    def tell(self, upstream: Upstream) -> None:
        """Begin to tell others what is new of a server; nothing waits for it."""
        if self._store is not None and upstream not in self._telling:
            telling = asyncio.ensure_future(self._tell(self._store, upstream))
            if not telling.done():  # mitmproxy's tasks begin at once
                self._telling[upstream] = telling
                telling.add_done_callback(lambda _: self._telling.pop(upstream))

    async def _tell(self, store: Store, upstream: Upstream) -> None:
        while news := self._servers.news(upstream):
            try:
                add = partial(_add, store, upstream, news)
                await remembering(Memory(store=store), 0, add)
            except AwayError:
                self._servers.untold(upstream, news)  # they are told with the next
                return


def _add(store: Store, upstream: Upstream, news: Lessons) -> None:
    key = _key(upstream)
    before = read(store.get(key), time.time())
    store.keep(key, write(prevailing(news, before)), "", [], "")


def _key(upstream: Upstream) -> str:
    """Return the id of a server's entry, which tells nobody the server's address."""
    local = upstream.host.lower() in _OWN_NAMES or is_loopback(upstream.host)
    where = [str(upstream), str(upstream.direct), socket.gethostname() if local else ""]
    whole = "\0".join([_version(), *where]).encode("utf-8", "surrogatepass")
    return f"{OWNER} {hashlib.sha256(whole).hexdigest()}"


@cache
def _version() -> str:
    """Return a digest of the rules by which lessons are made: those of other rules are not found,
    and nobody has to think of raising a number.
    """
    rules = sorted(Path(next(iter(servers.__path__))).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in rules)).hexdigest()
