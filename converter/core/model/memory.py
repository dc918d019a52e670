"""Keeps replies by their ids: those of one owner in a `Memory`, all together in a `Store` with
`Bounds`. `Store` and `BoundedStore` are the base classes of all stores; `converter.addon.memory`
and `converter.extras.redis` have those in SQLite and Redis, which may raise `AwayError`.

Kept replies serve clients that do not repeat earlier turns: a request of the Responses API may name
only the reply before it (`previous_response_id`).

An entry has only the messages that one request and its reply added to a conversation, and the id of
the entry before. The history of an entry is this entry with all entries before it.

The memory is bounded. If it is full, the least recently used entry is dropped. Reading a history
counts as use of all its entries. An entry belongs to an owner: no other owner can find, continue or
drop it.

Lessons about servers, and thoughts that a client does not send back, are kept in such a memory too.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import RLock


class AwayError(Exception):
    """The error for a store (a file, Redis) that does not answer, so that no entry can be read or
    written now.
    """


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a store: the number, the size and the age of its entries."""

    count: int
    """The most entries that the store keeps."""
    size: int
    """The most bytes of all entries together."""
    seconds: float = 1e9
    """How many seconds an entry is kept at most after its last use."""

    @property
    def keeps(self) -> bool:
        """True if a store with these bounds keeps anything; False if it has room for no entry."""
        return self.count > 0 and self.size > 0


def utf8(name: str) -> bytes:
    """Return an id or name as UTF-8. Half a surrogate pair is encoded too, although strict UTF-8
    does not allow it, because a client may choose a name that has one.
    """
    return name.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Entry:
    """An entry of a store: the value that is kept, and the names by which it is found."""

    value: bytes
    """The kept bytes: the messages of a request and its reply, without those of earlier entries; or
    the thoughts of a reply, or lessons about servers.
    """
    previous: str = ""
    """The id of the entry that this one continues; empty at the beginning of a conversation."""
    names: Sequence[str] = ()
    """Further names, beside the id, under which the entry is found."""
    used: float = 0.0
    """The time of the last use, in seconds by the store's clock."""

    @property
    def size(self) -> int:
        """The bytes that the entry takes of `Bounds.size`: its value and its further names."""
        return len(self.value) + sum(len(utf8(name)) for name in self.names)


class Store:
    """Kept entries, by id. Any thread may use a store.

    A subclass of one kind keeps entries itself, and overrides the methods. A subclass of the other
    kind stands before another store, the attribute `store`: the methods of this class pass each
    call on to it, except `begin`. Such a subclass may override `_call`, through which all calls but
    `close` go, and `_stored`, which returns the name that an entry has in `store`.

    Attributes:
        store: the store to which calls are passed on; missing in a store that keeps entries itself.
    """

    bounds: Bounds
    """The limits of the store: the number, the size and the age of its entries."""
    elsewhere: bool = False
    """True if the entries are in a file or in Redis, so that a call may take long or raise
    AwayError. The event loop's thread may then call only `begin`, methods that use `begin`, and
    `close`.
    """

    def __init__(self, store: "Store") -> None:
        self.store, self.bounds, self.elsewhere = store, store.bounds, store.elsewhere

    @property
    def size(self) -> int:
        """The number of bytes that the entries of all owners take."""
        return self._call(lambda: self.store.size)

    def begin(self, work: Callable[[], object]) -> Future[object] | None:
        """Run `work`, which writes to the store, and return `None`. If `elsewhere` is True, start
        `work` in another thread instead, and return its future.
        """
        work()
        return None

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], moving_name: str = ""
    ) -> None:
        """Keep an entry with the id `key`, in place of an entry with the same id.

        Args:
            key: the id.
            value: the messages of a request and its reply, without those of earlier entries, as
                bytes.
            previous: the id of the entry that this one continues; empty at the beginning of a
                conversation.
            names: further names under which the entry is found. A name that another entry has is
                left out.
            moving_name: the name of a conversation, which always belongs to its newest entry; empty
                for none. The new entry takes it from the entry that has it, and continues that
                entry, whatever `previous` is. If no entry has it, it is ignored: the first entry of
                a conversation must get it in `names`.
        """
        entry = self._stored(key), value, self._stored(previous), [*map(self._stored, names)]
        self._call(partial(self.store.keep, *entry, self._stored(moving_name)))

    def forget(self, key: str) -> bool:
        """Drop the entry with this id. Return False if there is none."""
        return self._call(partial(self.store.forget, self._stored(key)))

    def find(self, name: str) -> str:
        """Return the id of the entry that has `name` among its further names (`Entry.names`); empty
        if there is none.
        """
        return self._call(partial(self.store.find, self._stored(name)))

    def get(self, key: str) -> bytes | None:
        """Return the value of the entry with this id; `None` if there is none."""
        values = self.values(key, one=True)
        return values[0] if values else None

    def history(self, key: str) -> list[bytes] | None:
        """Return the values of an entry and of all entries before it in the conversation, the
        oldest first; `None` if one of them is not kept.
        """
        values = self.values(key)
        return None if values is None else values[::-1]

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values of an entry and of all entries before it in the conversation, the
        newest first; `None` if one of them is not kept. Each entry that was read counts as used.
        `one`: return only the value of the entry itself.
        """
        return self._call(partial(self.store.values, self._stored(key), one=one))

    def close(self) -> None:
        """Close files and connections."""
        self.store.close()

    def _call[Result](self, operation: Callable[[], Result]) -> Result:
        """Return the result of `operation`, a call that this store passes on to the store behind it
        (`self.store`). A subclass can handle the errors of all such calls here.
        """
        return operation()

    def _stored(self, name: str) -> str:
        """Return the name or id in `store` for a name or id of this store: here, the same one."""
        return name


class BoundedStore(Store):
    """A store that keeps entries itself, within its bounds: one subclass in this process, another
    in a file.

    The store in Redis follows the same rules, but in Lua scripts, because Redis runs a script as
    one step.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._lock = RLock()

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], moving_name: str = ""
    ) -> None:
        """Keep an entry (parameters as in `Store.keep`). Drop older entries until the store is
        within its bounds. An entry that exceeds the bounds by itself is not kept.
        """
        with self._operation():
            self._evict()
            self.forget(key)
            last = self.find(moving_name)
            free = [name for name in names if not self.find(name)]
            entry = Entry(value, last or previous, [*free, moving_name] if last else free)
            if entry.size <= self.bounds.size and self.bounds.keeps:
                self._add(key, entry)
                self._evict()

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values of an entry and of all entries before it in the conversation, the
        newest first; if `one` is True, only the value of the entry itself. Return `None` if one of
        these entries is not kept, or if the ids (`Entry.previous`) lead in a circle. Each entry
        that was read counts as used.
        """
        values, seen = list[bytes](), set[str]()
        with self._operation():
            self._evict()
            while key and not (one and values):
                # An entry that was already read counts as missing: if entries continue each other
                # in a circle, the loop would else never end.
                entry = None if key in seen else self._use(key)
                if entry is None:
                    return None
                seen.add(key)
                values.append(entry.value)
                key = entry.previous
        return values

    def _operation(self) -> AbstractContextManager[object]:
        """Return a context in which no other thread or process can change the store."""
        return self._lock

    def _add(self, key: str, entry: Entry) -> None:
        """Add an entry with this id. Its time of use is now."""
        raise NotImplementedError

    def _use(self, key: str) -> Entry | None:
        """Return the entry with this id, and record its use; `None` if there is none."""
        raise NotImplementedError

    def _evict(self) -> None:
        """Drop entries that were not used for `Bounds.seconds`. Then drop the least recently used
        ones, until the store is within its bounds.
        """
        raise NotImplementedError


class ProcessStore(BoundedStore):
    """A store that keeps its entries in this process. `now` returns the time in seconds; by default
    it is always 0, so that no entry is too old.
    """

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
        """Add an entry with this id, which counts as used now."""
        entry.used = self._now()
        self._entries[key] = entry
        self._keys |= dict.fromkeys(entry.names, key)
        self._size += entry.size

    def _use(self, key: str) -> Entry | None:
        """Return the entry with this id, and record its use; `None` if there is none."""
        if entry := self._entries.get(key):
            self._entries.move_to_end(key)
            entry.used = self._now()
        return entry

    def _evict(self) -> None:
        """Drop the least recently used entries, until no entry is too old and the store is within
        its bounds.
        """
        begin = self._now() - self.bounds.seconds
        while self._entries:
            first = next(iter(self._entries))
            full = len(self._entries) > self.bounds.count or self._size > self.bounds.size
            if not full and self._entries[first].used >= begin:
                break
            self.forget(first)


class Memory(Store):
    """One owner's entries in a store that all owners share; each exchange has its own `Memory`.

    In the store, each id and name gets a prefix: `owner` and a blank; none if `owner` is empty. If
    `store` is `None`, the entries are kept in this process, within the bounds `count` and `size`.

    Attributes:
        writes: the writes that were begun and that the exchange must still await.
        waited: how many seconds the exchange has waited for reads and writes so far.
    """

    def __init__(
        self, count: int = 0, size: int = 0, store: Store | None = None, owner: str = ""
    ) -> None:
        super().__init__(ProcessStore(Bounds(count, size)) if store is None else store)
        self._prefix = f"{owner} " if owner else ""
        self.writes: list[Future[object]] = []
        self.waited = 0.0

    def keep(
        self,
        key: str,
        value: bytes,
        previous: str = "",
        names: Iterable[str] = (),
        moving_name: str = "",
    ) -> None:
        """Begin to keep an entry, in place of an entry with the same id. An entry that is larger
        than the store's bounds is not kept. The write may end later (`writes`).

        Args:
            key: the id.
            value: the messages of a request and its reply, without those of earlier entries, as
                bytes.
            previous: the id of the entry that this one continues; empty at the beginning of a
                conversation.
            names: further names for the entry. A name that another entry has is left out.
            moving_name: the name of a conversation, which always belongs to its newest entry; empty
                for none. The new entry takes it from the entry that has it, and continues that
                entry, whatever `previous` is. If no entry has it, it is ignored: the first entry of
                a conversation must get it in `names`.
        """
        self.begin(partial(super().keep, key, value, previous, [*names], moving_name))

    def keep_agreed(self, key: str, value: bytes, disputed: bytes) -> None:
        """Begin to keep an entry with the value `value`. If an entry with this id has another
        value, keep the value `disputed` in place of both, so that neither is taken for the right
        one.
        """
        self.begin(partial(self._keep_agreed, key, value, disputed))

    def _keep_agreed(self, key: str, value: bytes, disputed: bytes) -> None:
        """Do the work of `keep_agreed`: compare the kept value with `value`, and keep the entry."""
        agreed = self.get(key) in (None, value)
        super().keep(key, value if agreed else disputed, "", [])

    def begin(self, work: Callable[[], object]) -> None:
        """Begin `work`, which writes to the store. If it runs in another thread, add its future to
        `writes`.
        """
        if write := self.store.begin(work):
            self.writes.append(write)

    def find(self, name: str) -> str:
        """Return the id of the entry with this name; empty if there is no such entry."""
        return super().find(name).removeprefix(self._prefix)

    def history(self, key: str) -> list[bytes] | None:
        """Return the values of an entry and of all entries before it in the conversation, the
        oldest first; `None` if one of them is not kept. Return an empty list for an empty `key`.
        """
        return super().history(key) if key else []

    def _stored(self, name: str) -> str:
        """Return the name with the owner's prefix before it; an empty name stays empty."""
        return name and self._prefix + name
