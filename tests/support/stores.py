"""Every kind of store, opened for a test, with a clock that the test moves."""

from collections.abc import Callable, Iterator

from converter.model.memory import Memory, ProcessStore, Store

SECONDS = 1000
"""Until an entry that nobody uses goes."""


class Opens:
    """Opens memories of some size whose clock moves when it is told."""

    def __init__(self, store: Callable[["Opens", int, int], Store]) -> None:
        self._store = store
        self.now = 1e9

    def __call__(self, count: int, size: int) -> Memory:
        return Memory(store=self._store(self, count, size))

    def passes(self, seconds: float) -> None:
        self.now += seconds


def _process() -> Iterator[Opens]:
    yield Opens(lambda opens, count, size: ProcessStore(count, size, SECONDS, lambda: opens.now))


KINDS: dict[str, Callable[[], Iterator[Opens]]] = {"process": _process}
