"""A bounded memory of replies by id, for clients that leave their history with the server.

An entry holds only the messages that one request and its reply added to a conversation, and the id
of the entry before. The history of an entry is the entry with all entries before it.

If the memory is full, the least recently used entry is dropped; reading a history counts as use of
all its entries. An entry belongs to an owner: no other owner can find, continue or drop it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from threading import RLock


class AwayError(Exception):
    """The store (a file, Redis) does not answer, so that no entry can be read or written now."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a store.

    Attributes:
        count: the most entries.
        size: the most bytes of all entries together.
        seconds: an entry that is not used for so long is dropped.
    """

    count: int
    size: int
    seconds: float = 1e9

    @property
    def keeps(self) -> bool:
        """True if the bounds allow any entry."""
        return self.count > 0 and self.size > 0


def utf8(name: str) -> bytes:
    """Return an id or name as bytes. Clients may choose names with lone surrogates, which strict
    UTF-8 does not allow.
    """
    return name.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Entry:
    """An entry of a store.

    Attributes:
        value: the messages that the entry adds to its conversation, as bytes.
        previous: the id of the entry before; empty at the beginning of a conversation.
        names: further names, beside the id, under which the entry is found.
        used: the time of the last use, in seconds.
    """

    value: bytes
    previous: str = ""
    names: Sequence[str] = ()
    used: float = 0.0

    @property
    def size(self) -> int:
        """The number of bytes that the entry takes in a store."""
        return len(self.value) + sum(len(utf8(name)) for name in self.names)


class Store:
    """Entries by id, of all owners. Any thread may use a store.

    This class itself hands each call on to another `store`. A subclass can override `_ask`, which
    makes each such call, and `_own`, which returns the name that an entry has in the other store.

    Attributes:
        elsewhere: True if a call may take long (a file, Redis). All methods but `begin` can then
            raise AwayError, and must not be called from the event loop's thread.
    """

    bounds: Bounds
    elsewhere: bool = False

    def __init__(self, store: "Store") -> None:
        self.store, self.bounds, self.elsewhere = store, store.bounds, store.elsewhere

    @property
    def size(self) -> int:
        """The number of bytes that the entries of all owners take."""
        return self._ask(lambda: self.store.size)

    def begin(self, work: Callable[[], object]) -> Future[object] | None:
        """Run `work`, which writes to the store. If `elsewhere`, start `work` in another thread and
        return its future.
        """
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
        """Return the id of the entry with this name; empty if there is no such entry."""
        return self._ask(partial(self.store.find, self._own(name)))

    def get(self, key: str) -> bytes | None:
        """Return an entry's value; `None` if the entry is gone."""
        values = self.values(key, one=True)
        return values[0] if values else None

    def history(self, key: str) -> list[bytes] | None:
        """Return the values of an entry's history, oldest first; `None` if an entry is gone."""
        values = self.values(key)
        return None if values is None else values[::-1]

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values of an entry's history, newest first; `None` if an entry is gone. Each
        entry of the history then counts as used. `one`: only this entry.
        """
        return self._ask(partial(self.store.values, self._own(key), one=one))

    def close(self) -> None:
        """Close files and connections."""
        self.store.close()

    def _ask[Result](self, question: Callable[[], Result]) -> Result:
        return question()

    def _own(self, name: str) -> str:
        return name


class BoundedStore(Store):
    """The rules by which entries are kept, read and evicted: in this process and in a file.

    The store in Redis has the same rules as Lua scripts, because Redis runs each script as one
    step.
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
                if entry is None:  # gone, or the history leads back to an entry that was read
                    return None
                seen.add(key)
                values.append(entry.value)
                key = entry.previous
        return values

    def _operation(self) -> AbstractContextManager[object]:
        """Return a context in which no other thread or process can change the store."""
        return self._lock

    def _add(self, key: str, entry: Entry) -> None:
        """Add an entry, used now."""
        raise NotImplementedError

    def _use(self, key: str) -> Entry | None:
        """Return an entry and note its use; `None` if the entry is not there."""
        raise NotImplementedError

    def _evict(self) -> None:
        """Drop entries that are unused for too long, and the least recently used beyond a bound."""
        raise NotImplementedError


class ProcessStore(BoundedStore):
    """Entries in this process. `now`: a clock, in seconds."""

    def __init__(self, bounds: Bounds, now: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(bounds)
        self._now = now
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._keys: dict[str, str] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """The number of bytes that the entries take."""
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
        """Return the id of the entry with this name; empty if there is no such entry."""
        return self._keys.get(name, "")

    def close(self) -> None:
        """Drop all entries."""
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
    """The waiting of one exchange for its store.

    Attributes:
        writes: the writes that were begun and for which nobody has waited yet.
        seconds: how long the exchange has waited so far, for writes and reads together.
    """

    writes: list[Future[object]] = field(default_factory=list)
    seconds: float = 0.0


class Memory(Store):
    """The entries of one owner in a store that all owners share.

    In the store, an id has the owner's name and a blank in front. Without `owner` nothing stands in
    front. Without `store`, the entries are kept in this process.
    """

    def __init__(
        self, count: int = 0, size: int = 0, store: Store | None = None, owner: str = ""
    ) -> None:
        super().__init__(ProcessStore(Bounds(count, size)) if store is None else store)
        self._prefix = f"{owner} " if owner else ""
        self.waits = Waits()

    def of(self, owner: str) -> "Memory":
        """Return the memory of another owner in the same store. `owner` must not have a blank."""
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
        """Begin to keep an entry; it replaces an entry with the same id. An entry larger than the
        whole memory is not kept.

        Args:
            key: the id.
            value: the entry's value.
            previous: the id of the entry before.
            names: further names for the entry; a name that another entry has already is left out.
            line: the name of a growing conversation, which its newest entry has. If an entry has
                this name, the new entry follows that entry instead of `previous` and takes the
                name over; else `line` does nothing.
        """
        self.begin(partial(super().keep, key, value, previous, [*names], line))

    def keep_agreed(self, key: str, value: bytes, disputed: bytes) -> None:
        """Begin to keep an entry. If the id has another value already, begin to keep `disputed` in
        place of both values.
        """
        self.begin(partial(self._agree, key, value, disputed))

    def _agree(self, key: str, value: bytes, disputed: bytes) -> None:
        agreed = self.get(key) in (None, value)
        super().keep(key, value if agreed else disputed, "", [])

    def begin(self, work: Callable[[], object]) -> None:
        """Begin `work`, which writes to the store, and remember the write in `waits`."""
        if write := self.store.begin(work):
            self.waits.writes.append(write)

    def find(self, name: str) -> str:
        """Return the id of the entry with this name; empty if there is no such entry."""
        return super().find(name).removeprefix(self._prefix)

    def history(self, key: str) -> list[bytes] | None:
        """Return the values of an entry's history, oldest first; `None` if an entry is gone. An
        empty `key` has an empty history.
        """
        return super().history(key) if key else []

    def _own(self, name: str) -> str:
        return name and self._prefix + name
