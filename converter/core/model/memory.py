"""A bounded memory of replies by id, for clients that leave their history with the server.

An entry holds the words that one exchange added, and the id of the entry before, so that a long
conversation is kept once. The least recently used entry goes first; reading a history counts as use
of all its entries. An entry belongs to an owner: nobody else finds, continues or drops it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from threading import RLock


class AwayError(Exception):
    """Nobody can find an entry now, because the store is away."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a store: `count` entries with `size` bytes together, each until nobody has used it
    for so many `seconds`.
    """

    count: int
    size: int
    seconds: float = 1e9

    @property
    def keeps(self) -> bool:
        """Return True if anything can be kept at all."""
        return self.count > 0 and self.size > 0


def raw(name: str) -> bytes:
    """Return a name as stores keep it: clients may choose what no encoding has."""
    return name.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Entry:
    """An entry of a store.

    Attributes:
        value: the turns of the exchange, as bytes.
        previous: the id of the entry before it, or empty.
        names: other names under which the entry is found.
        used: when the entry was last used.
    """

    value: bytes
    previous: str = ""
    names: Sequence[str] = ()
    used: float = 0.0

    @property
    def size(self) -> int:
        """Return the bytes that the entry costs."""
        return len(self.value) + sum(len(raw(name)) for name in self.names)


class Store:
    """Entries by id, of all owners; any thread may use it. Those of this class itself are in
    another `store`. `_ask`: the way of each question there; `_own`: the name there of an entry.

    `elsewhere`: asking may take long. All methods but `begin` are then for another thread than the
    loop's, and raise AwayError.
    """

    bounds: Bounds
    elsewhere: bool = False

    def __init__(self, store: "Store") -> None:
        self.store, self.bounds, self.elsewhere = store, store.bounds, store.elsewhere

    @property
    def size(self) -> int:
        """Return the bytes that are kept, of all owners."""
        return self._ask(lambda: self.store.size)

    def begin(self, work: Callable[[], object]) -> Future[object] | None:
        """Do work that keeps something, or return it under way."""
        work()
        return None

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        entry = self._own(key), value, self._own(previous), [*map(self._own, names)]
        self._ask(partial(self.store.keep, *entry, self._own(line)))

    def forget(self, key: str) -> bool:
        """Drop an entry; return True if there was one."""
        return self._ask(partial(self.store.forget, self._own(key)))

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        return self._ask(partial(self.store.find, self._own(name)))

    def get(self, key: str) -> bytes | None:
        """Return an entry's value."""
        values = self.values(key, one=True)
        return values[0] if values else None

    def history(self, key: str) -> list[bytes] | None:
        """Return the values up to this entry, oldest first; None when one of them is gone."""
        values = self.values(key)
        return None if values is None else values[::-1]

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back, or its `one`, and note their use; None when one
        of them is gone.
        """
        return self._ask(partial(self.store.values, self._own(key), one=one))

    def close(self) -> None:
        """Let go of files and connections."""
        self.store.close()

    def _ask[Result](self, question: Callable[[], Result]) -> Result:
        return question()

    def _own(self, name: str) -> str:
        return name


class BoundedStore(Store):
    """The rules by which entries are kept, read and evicted, in this process as in a file. Redis
    has these rules in its scripts, because each operation has to be one step there.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._lock = RLock()

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        with self._operation():
            self._evict()
            self.forget(key)
            last = self.find(line)
            free = [name for name in names if not self.find(name)]
            entry = Entry(value, last or previous, [*free, line] if last else free)
            if entry.size <= self.bounds.size and self.bounds.keeps:
                self._add(key, entry)
                self._evict()

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back; see `Store.values`."""
        values, seen = list[bytes](), set[str]()
        with self._operation():
            self._evict()
            while key and not (one and values):
                entry = None if key in seen else self._use(key)
                if entry is None:  # gone, or a circle
                    return None
                seen.add(key)
                values.append(entry.value)
                key = entry.previous
        return values

    def _operation(self) -> AbstractContextManager[object]:
        """Return the context of an operation, and of its steps, in which no other one may come."""
        return self._lock

    def _add(self, key: str, entry: Entry) -> None:
        """Add an entry as the one that was used last."""
        raise NotImplementedError

    def _use(self, key: str) -> Entry | None:
        """Return an entry, if it is there, as the one that was used last."""
        raise NotImplementedError

    def _evict(self) -> None:
        """Drop the entries that nobody has used for too long, then the oldest beyond the bounds."""
        raise NotImplementedError


class ProcessStore(BoundedStore):
    """Entries of this process. `now`: in seconds."""

    def __init__(self, bounds: Bounds, now: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(bounds)
        self._now = now
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._keys: dict[str, str] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """Return the bytes that are kept."""
        return self._size

    def forget(self, key: str) -> bool:
        """Drop an entry; return True if there was one."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return False
            self._size -= entry.size
            for name in entry.names:
                if self._keys.get(name) == key:
                    del self._keys[name]
            return True

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        return self._keys.get(name, "")

    def close(self) -> None:
        """Forget all."""
        self._entries.clear()

    def _add(self, key: str, entry: Entry) -> None:
        entry.used = self._now()
        self._entries[key] = entry
        self._keys |= dict.fromkeys(entry.names, key)
        self._size += entry.size

    def _use(self, key: str) -> Entry | None:
        if entry := self._entries.get(key):
            self._entries.move_to_end(key)
            entry.used = self._now()
        return entry

    def _evict(self) -> None:
        begin = self._now() - self.bounds.seconds
        while self._entries:
            first = next(iter(self._entries))
            full = len(self._entries) > self.bounds.count or self._size > self.bounds.size
            if not full and self._entries[first].used >= begin:
                break
            self.forget(first)


@dataclass(slots=True)
class Waits:
    """`writes`: those that a store elsewhere may not have ended. `seconds`: for which an exchange
    has waited for its store, for writes as for answers.
    """

    writes: list[Future[object]] = field(default_factory=list)
    seconds: float = 0.0


class Memory(Store):
    """One owner's entries in a store that all owners share; at first nobody's, whose ids reach
    all. Without `store`, the entries are this process's.
    """

    def __init__(
        self, count: int = 0, size: int = 0, store: Store | None = None, owner: str = ""
    ) -> None:
        super().__init__(ProcessStore(Bounds(count, size)) if store is None else store)
        self._prefix = f"{owner} " if owner else ""
        self.waits = Waits()

    def of(self, owner: str) -> "Memory":
        """Return the memory of another owner, in the same store. A blank ends the owner's name
        there, so that it has none itself.
        """
        other = Memory(store=self.store, owner=owner)
        other.waits = self.waits
        return other

    def keep(
        self,
        key: str,
        value: bytes,
        previous: str = "",
        names: Iterable[str] = (),
        line: str = "",
    ) -> None:
        """Begin to keep an entry in place of one of the same id. One larger than the memory is not
        kept.

        `names`: the entry gets those that no other has. `line`: a name; the entry follows the one
        that has it by now, and has the name from now on. Where none has, it follows `previous`.
        """
        self.begin(partial(super().keep, key, value, previous, [*names], line))

    def keep_agreed(self, key: str, value: bytes, disputed: bytes) -> None:
        """Begin to keep an entry; where another value is kept, `disputed` in place of both."""
        self.begin(partial(self._agree, key, value, disputed))

    def _agree(self, key: str, value: bytes, disputed: bytes) -> None:
        agreed = self.get(key) in (None, value)
        super().keep(key, value if agreed else disputed, "", [])

    def begin(self, work: Callable[[], object]) -> None:
        """Begin work that keeps something."""
        if write := self.store.begin(work):
            self.waits.writes.append(write)

    def find(self, name: str) -> str:
        """Return the id of the entry that has this name; empty when none has."""
        return super().find(name).removeprefix(self._prefix)

    def history(self, key: str) -> list[bytes] | None:
        """Return the values up to this entry, oldest first; None when one of them is gone."""
        return super().history(key) if key else []

    def _own(self, name: str) -> str:
        return name and self._prefix + name
