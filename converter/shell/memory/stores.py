"""The store that the settings name."""

import time
from pathlib import Path

from converter.exchange.settings import Settings
from converter.model.memory import Bounds, ProcessStore, Store
from converter.shell.memory.redis_store import RedisStore
from converter.shell.memory.remembering import ANSWER, StoreElsewhere
from converter.shell.memory.sealed_store import SealedStore
from converter.shell.memory.sqlite_store import SqliteStore, usual_path

_DAY = 86_400


def open_store(settings: Settings) -> Store:
    """Return the store; nobody is asked before there is something to keep. Raises
    ValueError for an address that cannot be read, and without the package that it needs.
    """
    limits = settings.limits
    bounds = Bounds(limits.replies, limits.reply_bytes, settings.memory_days * _DAY)
    kind, _, place = settings.memory.partition(":")
    if kind == "memory":
        return ProcessStore(bounds, time.monotonic)
    if kind == "sqlite":
        path = Path(place).expanduser() if place else usual_path()
        store: Store = SqliteStore(path, bounds, ANSWER)
    else:
        store = RedisStore(settings.memory, bounds, ANSWER)
    key = settings.memory_key
    return StoreElsewhere(SealedStore(store, Path(key)) if key else store)
