"""Opens the stores of replies and of lessons that the user's settings name."""

import time
from pathlib import Path

from converter.addon.exchange.settings import Settings
from converter.addon.extra_packages import load_optional
from converter.addon.memory.store_waits import ANSWER, StoreElsewhere
from converter.addon.servers.known_servers import AGE, MOST_LESSONS
from converter.core.model.memory import Bounds, ProcessStore, Store

_DAY = 86_400
"""How many seconds a day has."""
MOST_BYTES_OF_LESSONS = 10_000_000
"""The most bytes of lessons in the file of lessons. The lessons about one server mostly take less
than 30 kB.
"""


def open_store(settings: Settings) -> Store:
    """Return the store of replies that the option `think_memory` names. It connects at its first
    use. Raises ValueError for an invalid address, or if the store's package is missing.
    """
    limits = settings.limits
    bounds = Bounds(limits.replies, limits.reply_bytes, settings.memory_days * _DAY)
    kind, _, file = settings.memory.partition(":")
    if kind == "memory":
        return ProcessStore(bounds, time.monotonic)
    if kind == "sqlite":
        return StoreElsewhere(_file_store(Path(file).expanduser() if file else None, bounds))
    extra = load_optional("redis", "redis_store", "redis", "think_memory")
    if extra is None:
        raise ValueError("think_memory: expected converter/extras/redis, which is not there")
    return StoreElsewhere(extra.RedisStore(settings.memory, bounds, ANSWER))


def open_lessons(settings: Settings, store: Store) -> Store | None:
    """Return the store of lessons about servers: `store`, the store of replies, if it keeps entries
    in a file or on a server; else a file of lessons if `think_lessons` is on; else None: lessons
    then last only as long as the process.
    """
    if store.elsewhere and store.bounds.keeps:
        return store
    if not settings.lessons:
        return None
    bounds = Bounds(MOST_LESSONS, MOST_BYTES_OF_LESSONS, AGE)
    return StoreElsewhere(_file_store(None, bounds, "lessons.sqlite"))


def _file_store(path: Path | None, bounds: Bounds, name: str = "") -> Store:
    """Return a store in the file `path`; None: in the file `default_path()`. `name`: if it is not
    empty, the store is in the file of this name in the same folder.
    """
    # Imported on use, because SQLite takes a megabyte and most proxies use no file.
    from converter.addon.memory.sqlite_store import SqliteStore, default_path  # noqa: PLC0415

    file = path or default_path()
    return SqliteStore(file.with_name(name) if name else file, bounds, ANSWER)
