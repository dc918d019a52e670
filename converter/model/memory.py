"""A bounded memory of replies by id, for clients that leave their history with the server.

An entry holds what one exchange added and names the one before it, so that a long conversation is
kept once. The least recently used entry goes first; reading a history counts as use of all of it.
What is kept belongs to an owner: nobody else finds, continues or drops it.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from threading import RLock


@dataclass(frozen=True, slots=True)
class Entry:
    """`value`: what the exchange added, as bytes. `previous`: the id of the entry before it, or
    empty. `names`: other names under which the entry is found.
    """

    value: bytes
    previous: str = ""
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes that the entry costs."""
        return len(self.value) + sum(map(len, self.names))


class Store:
    """Entries by id, at most `count` of them with at most `size` bytes together, the `limit`. Any
    thread may use it.
    """

    def __init__(self, count: int, size: int) -> None:
        self._count, self.limit = count, size
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._names: dict[str, str] = {}
        self._lock = RLock()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def keeps(self) -> bool:
        """Tell whether anything can be kept at all."""
        return self._count > 0 and self.limit > 0

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        with self._lock:
            self.forget(key)
            last = self.find(line)
            entry = Entry(value, last or previous, (*names, *([line] if last else [])))
            if entry.size <= self.limit and self._count:
                self._add(key, entry)

    def _add(self, key: str, entry: Entry) -> None:
        self._entries[key] = entry
        self._names |= dict.fromkeys(entry.names, key)
        self.size += entry.size
        while len(self._entries) > self._count or self.size > self.limit:
            self.forget(next(iter(self._entries)))

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return False
            self.size -= entry.size
            for name in entry.names:
                if self._names.get(name) == key:
                    del self._names[name]
            return True

    def find(self, name: str) -> str:
        """Return the id of the last entry kept under this name; empty when there is none."""
        return self._names.get(name, "")

    def get(self, key: str) -> bytes | None:
        """Return an entry's value."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key].value

    def history(self, key: str) -> list[bytes] | None:
        """Return the values up to this entry, oldest first; None when one of them is gone."""
        values: list[bytes] = []
        with self._lock:
            while key:
                value = self.get(key)
                if value is None or len(values) > len(self._entries):  # gone, or a circle
                    return None
                values.append(value)
                key = self._entries[key].previous
        return values[::-1]


class Memory:
    """One owner's entries in a store that all owners share; at first those of clients without a
    key.
    """

    def __init__(self, count: int, size: int) -> None:
        self._store, self._owner = Store(count, size), ""

    def of(self, owner: str) -> "Memory":
        """Return the memory of another owner, in the same store."""
        other = Memory(0, 0)
        other._store, other._owner = self._store, owner
        return other

    def __len__(self) -> int:
        return len(self._store)

    @property
    def size(self) -> int:
        """Return the bytes that are kept, of all owners."""
        return self._store.size

    @property
    def limit(self) -> int:
        """Return the bytes that can be kept."""
        return self._store.limit

    @property
    def keeps(self) -> bool:
        """Tell whether anything can be kept at all."""
        return self._store.keeps

    def keep(
        self,
        key: str,
        value: bytes,
        previous: str = "",
        names: Iterable[str] = (),
        line: str = "",
    ) -> None:
        """Keep an entry in place of one of the same id. One larger than the memory is not kept.

        `line`: a name; the entry follows the last one of this name, whichever that is by now, and
        has the name from now on. Where none is left, it follows `previous`.
        """
        said = (self._own(previous) if previous else "", map(self._own, names))
        self._store.keep(self._own(key), value, *said, self._own(line) if line else "")

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        return self._store.forget(self._own(key))

    def find(self, name: str) -> str:
        """Return the id of the last entry kept under this name; empty when there is none."""
        return self._store.find(self._own(name)).removeprefix(self._own(""))

    def get(self, key: str) -> bytes | None:
        """Return an entry's value."""
        return self._store.get(self._own(key))

    def history(self, key: str) -> list[bytes] | None:
        """Return the values up to this entry, oldest first; None when one of them is gone."""
        return self._store.history(self._own(key)) if key else []

    def _own(self, name: str) -> str:
        return f"{self._owner} {name}" if self._owner else name
