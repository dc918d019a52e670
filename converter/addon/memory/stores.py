"""The stores that the settings name."""

import time
from pathlib import Path

from converter.addon.exchange.settings import Settings
from converter.addon.extra_packages import load_optional
from converter.addon.memory.store_waits import ANSWER, StoreElsewhere
from converter.addon.servers.known_servers import AGE, MOST_LESSONS
from converter.core.model.memory import Bounds, ProcessStore, Store

_DAY = 86_400
MOST_BYTES_OF_LESSONS = 10_000_000
"""Bytes of a file of lessons; those of one server have 30 kB at most."""


def open_store(settings: Settings) -> Store:
    """Return the store of replies, which connects at its first use. Raises ValueError for an
    address that cannot be read, and without the package that the store needs.
    """
    limits = settings.limits
    bounds = Bounds(limits.replies, limits.reply_bytes, settings.memory_days * _DAY)
    kind, _, file = settings.memory.partition(":")
    if kind == "memory":
        return ProcessStore(bounds, time.monotonic)
    if kind == "sqlite":
        return StoreElsewhere(_file(Path(file).expanduser() if file else None, bounds))
    extra = load_optional("redis", "redis_store", "redis", "think_memory")
    if extra is None:
        raise ValueError("think_memory: expected converter/extras/redis, which is not there")
    return StoreElsewhere(extra.RedisStore(settings.memory, bounds, ANSWER))


def open_lessons(settings: Settings, store: Store) -> Store | None:
    """Return the store of lessons about servers: that of replies, where processes share it, else a
    file of their own, if they are to be kept. `None`: they end with the process.
    """
    if store.elsewhere and store.bounds.keeps:
        return store
    if not settings.lessons:
        return None
    bounds = Bounds(MOST_LESSONS, MOST_BYTES_OF_LESSONS, AGE)
    return StoreElsewhere(_file(None, bounds, "lessons.sqlite"))


def _file(path: Path | None, bounds: Bounds, name: str = "") -> Store:
    """Return the store in a file: at this path, else at the usual one, with another `name` if
    given.
    """
    # imported here, because SQLite takes a megabyte, and most proxies use no file
    from converter.addon.memory.sqlite_store import SqliteStore, usual_path  # noqa: PLC0415

    file = path or usual_path()
    return SqliteStore(file.with_name(name) if name else file, bounds, ANSWER)
