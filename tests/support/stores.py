"""Every kind of store, opened for a test, with a clock that the test moves."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from converter.addon.memory.sqlite_store import SqliteStore
from converter.core.model.memory import Bounds, Memory, ProcessStore, Store
from tests.support.redis_server import RedisServer, valkey

SECONDS = 1000
"""Seconds after which an unused entry is dropped."""


class Opens:
    """Opens memories of some size, with a clock that the test moves."""

    def __init__(self, store: Callable[["Opens", Bounds], Store]) -> None:
        self._store = store
        self.now = 1e9
        self.moves: Callable[[float], None] = lambda _: None
        self._opened = ExitStack()

    def __call__(self, count: int, size: int) -> Memory:
        store = self._store(self, Bounds(count, size, SECONDS))
        self._opened.callback(store.close)
        return Memory(store=store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.moves(seconds)


def _process() -> Iterator[Opens]:
    with Opens(lambda opens, bounds: ProcessStore(bounds, lambda: opens.now)) as opens:
        yield opens


def _sqlite() -> Iterator[Opens]:
    with TemporaryDirectory() as folder:
        paths = (Path(folder) / f"{number}" for number in count())
        store = partial(SqliteStore, seconds=1.0)
        with Opens(lambda at, bounds: store(next(paths), bounds, now=lambda: at.now)) as opens:
            yield opens


def _redis(program: str = "") -> Iterator[Opens]:
    with (
        RedisServer(program=program) as server,
        Opens(lambda _, bounds: server.empty(bounds)) as opens,
    ):
        opens.moves = server.moves
        yield opens


KINDS: dict[str, Callable[[], Iterator[Opens]]] = {
    "process": _process,
    "sqlite": _sqlite,
    "redis": _redis,
}
if program := valkey():
    KINDS["valkey"] = partial(_redis, program)
