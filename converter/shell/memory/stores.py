"""The store that the settings name."""

import time
from collections.abc import Callable
from pathlib import Path

from converter.exchange.settings import Settings
from converter.model.memory import Bounds, ProcessStore, Store
from converter.shell.memory.remembering import ANSWER, StoreElsewhere
from converter.shell.memory.sqlite_store import SqliteStore, usual_path

_DAY = 86_400


def open_store(settings: Settings) -> Store:
    """Return the store; nobody is asked before there is something to keep."""
    limits = settings.limits
    bounds = Bounds(limits.replies, limits.reply_bytes, settings.memory_days * _DAY)
    kind, _, place = settings.memory.partition(":")
    return _KINDS[kind](place, bounds)


def _in_process(_: str, bounds: Bounds) -> Store:
    return ProcessStore(bounds, time.monotonic)


def _in_a_file(place: str, bounds: Bounds) -> Store:
    path = Path(place).expanduser() if place else usual_path()
    return StoreElsewhere(SqliteStore(path, bounds, ANSWER))


_KINDS: dict[str, Callable[[str, Bounds], Store]] = {"memory": _in_process, "sqlite": _in_a_file}
