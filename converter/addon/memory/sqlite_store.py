"""A store in a file, for the processes of one machine.

A process that is killed in the middle of a write leaves the entries as they were before it (WAL);
only a machine that loses its power may lose the last of them (`synchronous=NORMAL`).
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from converter.addon.memory.remembering import named, tell_of_another_type
from converter.core.model.memory import Bounds, Store, raw

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    key BLOB PRIMARY KEY, value BLOB NOT NULL, previous BLOB NOT NULL,
    size INTEGER NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
CREATE TABLE IF NOT EXISTS names (
    name BLOB PRIMARY KEY, key BLOB NOT NULL REFERENCES entries ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS of_entry ON names (key);
CREATE TABLE IF NOT EXISTS totals (one INTEGER PRIMARY KEY, count INTEGER, size INTEGER);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON entries
BEGIN UPDATE totals SET count = count + 1, size = size + NEW.size; END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON entries
BEGIN UPDATE totals SET count = count - 1, size = size - OLD.size; END;
"""
_COUNT = """
INSERT OR REPLACE INTO totals
SELECT 1, count(*), max(CAST(total(size) AS INTEGER), 0) FROM entries
"""
_TOTALS = """
SELECT count, size FROM totals WHERE one = 1
AND typeof(count) = 'integer' AND typeof(size) = 'integer' AND min(count, size) >= 0
"""
_DROP_OLDEST = "DELETE FROM entries WHERE used = (SELECT min(used) FROM entries)"
_SETUP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
)
_UNIT = 10**6
"""Steps of a second, because the order in which entries are used is told by their times alone."""
_NEVER = 1 << 53
"""A time that does not come. SQLite orders words and bytes behind all numbers, whatever a column is
to hold.
"""
_USED = f"max(?, 1 + (SELECT coalesce(max(used), 0) FROM entries WHERE used < {_NEVER}))"


def usual_path() -> Path:
    """Return the file in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "think-addon" / "memory.sqlite"


def open_private(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a file that only its user may read, made where it is not there; a locked one is waited
    for so long. Raises OSError, sqlite3.Error.
    """
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False
    )
    try:
        for statement in _SETUP:
            connection.execute(statement)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class SqliteStore(Store):
    """Entries in a file that only its user may read, made where it is not there. `seconds`: how
    long a locked file is waited for.
    """

    elsewhere = True

    def __init__(
        self, path: Path, bounds: Bounds, seconds: float = 1.0, now: Callable[[], float] = time.time
    ) -> None:
        self.bounds = bounds
        self._path, self._seconds, self._now = path, seconds, now
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None

    @property
    def size(self) -> int:
        """Return the bytes that are kept."""
        with self._changing() as run:
            return self._totals(run)[1]

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        with self._changing() as run:
            self._drop_old(run)
            run("DELETE FROM entries WHERE key = ?", raw(key))
            last = self._found(run, line) if line else b""
            free = [raw(name) for name in names if not self._found(run, name)]
            free += [raw(line)] if last else []
            size = len(value) + sum(map(len, free))
            if size > self.bounds.size or not self.bounds.keeps:
                return
            entry = (raw(key), value, last or raw(previous), size)
            run(f"INSERT INTO entries VALUES (?, ?, ?, ?, {_USED})", *entry, self._time())
            for name in free:
                run("INSERT OR REPLACE INTO names VALUES (?, ?)", name, raw(key))
            while self._is_full(run):
                if not run(_DROP_OLDEST).rowcount:
                    run(_COUNT)

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        with self._changing() as run:
            return bool(run("DELETE FROM entries WHERE key = ?", raw(key)).rowcount)

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        with self._changing() as run:
            return named(self._found(run, name))

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back; see `Store.values`."""
        values, seen, entry = list[bytes](), set[bytes](), raw(key)
        with self._changing() as run:
            self._drop_old(run)
            while entry and not (one and values):
                if entry in seen:
                    return None
                run(f"UPDATE entries SET used = {_USED} WHERE key = ?", self._time(), entry)
                row = run("SELECT value, previous FROM entries WHERE key = ?", entry).fetchone()
                if row is None or not _are_bytes(*row):
                    return None
                seen.add(entry)
                values.append(row[0])
                entry = row[1]
        return values

    def _found(self, run: "_Run", name: str) -> bytes:
        row = run("SELECT key FROM names WHERE name = ?", raw(name)).fetchone()
        return row[0] if row and _are_bytes(*row) else b""

    def _drop_old(self, run: "_Run") -> None:
        run("DELETE FROM entries WHERE used < ?", self._time() - int(self.bounds.seconds * _UNIT))
        if run("DELETE FROM entries WHERE used >= ?", _NEVER).rowcount:
            tell_of_another_type("a time")

    def _totals(self, run: "_Run") -> tuple[int, int]:
        """Return how many entries there are, and how many bytes they cost."""
        totals = run(_TOTALS).fetchone()
        if totals is None:
            tell_of_another_type("numbers")
            run(_COUNT)
            totals = run(_TOTALS).fetchone()
        count, size = totals
        return count, size

    def _is_full(self, run: "_Run") -> bool:
        count, size = self._totals(run)
        return count > self.bounds.count or size > self.bounds.size

    def _time(self) -> int:
        return int(self._now() * _UNIT)

    @contextmanager
    def _changing(self) -> Iterator["_Run"]:
        """Give a transaction; one that fails changes nothing, and opens the file anew."""
        with self._lock:
            try:
                connection = self._connection = self._connection or self._open()
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield lambda statement, *values: connection.execute(statement, values)
            except sqlite3.Error:
                self.close()
                raise

    def close(self) -> None:
        """Close the file; the next question opens it."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        connection = self._connection = open_private(self._path, self._seconds)
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {_COUNT}; COMMIT;")
        return connection


def _are_bytes(*values: object) -> bool:
    """Tell whether all are of the type that their columns are to hold; SQLite holds any."""
    if all(isinstance(value, bytes) for value in values):
        return True
    tell_of_another_type("bytes")
    return False


type _Run = Callable[..., sqlite3.Cursor]
