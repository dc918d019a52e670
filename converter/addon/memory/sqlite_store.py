"""`SqliteStore`, a store of replies, thoughts or lessons in a SQLite file, which the processes of
one machine share. `default_path` is its path if the user names none; `open_private` opens any
SQLite file that only its user may read.

If a process is killed during a write, the entries stay as they were before the write (write-ahead
log). If the machine loses power, the last entries may be lost (`synchronous=NORMAL`).
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from converter.addon.memory.store_waits import decode_key, log_wrong_type
from converter.core.model.memory import BoundedStore, Bounds, Entry, utf8

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
"""SQL that creates the tables, and the triggers that keep `totals` up to date when an entry is
added or deleted.
"""
_COUNT = """
INSERT OR REPLACE INTO totals
SELECT 1, count(*), max(CAST(total(size) AS INTEGER), 0) FROM entries
"""
"""SQL that computes the totals anew from all entries."""
_TOTALS = """
SELECT count, size FROM totals WHERE one = 1
AND typeof(count) = 'integer' AND typeof(size) = 'integer' AND min(count, size) >= 0
"""
"""SQL that returns the number of entries and their bytes; no row if these numbers are invalid."""
_DROP_OLDEST = "DELETE FROM entries WHERE used = (SELECT min(used) FROM entries)"
"""SQL that deletes the least recently used entry."""
_SETUP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
)
"""SQL statements that are run on each new connection."""
_UNIT = 10**6
"""How many units of stored times a second has: times are stored in microseconds. The unit is so
short because only these times show in which order the entries were used.
"""
_NEVER = 1 << 53
"""A time later than all real times. A stored value is a valid time only if SQLite orders it before
this number. SQLite stores values of any type in a column, and orders text and bytes after all
numbers, so that they are invalid times, too.
"""
_USED = f"max(?, 1 + (SELECT coalesce(max(used), 0) FROM entries WHERE used < {_NEVER}))"
"""An SQL expression for the time of a use: the present time (`?`), or the first time after all
stored ones, so that no two uses have the same time.
"""


def default_path() -> Path:
    """Return the default path of the memory's file, in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "think-addon" / "memory.sqlite"


def open_private(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a SQLite file, and return the connection. A new file is created so that only its user
    may read it. `seconds`: the longest wait for a locked file. Raises OSError, sqlite3.Error.
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


class SqliteStore(BoundedStore):
    """A store in a SQLite file that only its user may read. The file is created at the first use.

    Arguments:
        path: The file.
        bounds: How many entries and bytes are kept, and how long.
        seconds: The longest wait for a locked file.
        now: Returns the time as seconds since 1970.
    """

    elsewhere = True
    """True: the entries are not in this process, so that a use of the store may take long or fail.
    """

    def __init__(
        self, path: Path, bounds: Bounds, seconds: float = 1.0, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(bounds)
        self._path, self._seconds, self._now = path, seconds, now
        self._connection: sqlite3.Connection | None = None

    @property
    def size(self) -> int:
        """The sum of the sizes of all entries, in bytes."""
        with self._operation():
            return self._totals()[1]

    def forget(self, key: str) -> bool:
        """Drop the entry with this key. Return True if there was one."""
        with self._operation():
            return bool(self._run("DELETE FROM entries WHERE key = ?", utf8(key)).rowcount)

    def find(self, name: str) -> str:
        """Return the key of the entry that has this further name (`Entry.names`); empty if there is
        none.
        """
        with self._operation():
            row = self._run("SELECT key FROM names WHERE name = ?", utf8(name)).fetchone()
            return decode_key(row[0]) if row and _are_bytes(*row) else ""

    def _add(self, key: str, entry: Entry) -> None:
        """Insert an entry, used now, and its names."""
        row = (utf8(key), entry.value, utf8(entry.previous), entry.size)
        self._run(f"INSERT INTO entries VALUES (?, ?, ?, ?, {_USED})", *row, self._time())
        for name in entry.names:
            self._run("INSERT OR REPLACE INTO names VALUES (?, ?)", utf8(name), utf8(key))

    def _use(self, key: str) -> Entry | None:
        """Return the entry with this key, and store that it was used now; None if it is missing or
        invalid.
        """
        self._run(f"UPDATE entries SET used = {_USED} WHERE key = ?", self._time(), utf8(key))
        row = self._run("SELECT value, previous FROM entries WHERE key = ?", utf8(key)).fetchone()
        if row is None or not _are_bytes(*row):
            return None
        previous = decode_key(row[1])
        return Entry(row[0], previous) if previous or not row[1] else None

    def _evict(self) -> None:
        """Drop entries that are too old or have an invalid time, then drop the least recently used
        entries, until the store is within its bounds.
        """
        begin = self._time() - int(self.bounds.seconds * _UNIT)
        self._run("DELETE FROM entries WHERE used < ?", begin)
        if self._run("DELETE FROM entries WHERE used >= ?", _NEVER).rowcount:
            log_wrong_type("a time")
        count, size = self._totals()
        while count > self.bounds.count or size > self.bounds.size:
            if not self._run(_DROP_OLDEST).rowcount:
                self._run(_COUNT)
            count, size = self._totals()

    def _totals(self) -> tuple[int, int]:
        """Return the number of entries, and how many bytes they have."""
        totals = self._run(_TOTALS).fetchone()
        if totals is None:
            log_wrong_type("numbers")
            self._run(_COUNT)
            totals = self._run(_TOTALS).fetchone()
        count, size = totals
        return count, size

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Run an SQL statement with these values in the current operation."""
        assert self._connection  # opened by `_operation`, within which all statements run
        return self._connection.execute(statement, values)

    def _time(self) -> int:
        """Return the present time as it is stored: in microseconds since 1970."""
        return int(self._now() * _UNIT)

    @contextmanager
    def _operation(self) -> Iterator[None]:
        """Run the `with` block as a transaction of SQLite. If SQLite fails in the block, nothing is
        changed, and the file is closed; the next operation opens it again. A nested operation
        belongs to the transaction of the outer operation.
        """
        with self._lock:
            if self._connection and self._connection.in_transaction:
                yield
                return
            try:
                connection = self._connection = self._connection or self._open()
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield
            except sqlite3.Error:
                self.close()
                raise

    def close(self) -> None:
        """Close the file; the next operation opens it."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        """Open the file; create its folder and its tables if they are missing."""
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        connection = self._connection = open_private(self._path, self._seconds)
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {_COUNT}; COMMIT;")
        return connection


def _are_bytes(*values: object) -> bool:
    """Return True if all values of a row are bytes. If not, log it: SQLite accepts values of other
    types in any column.
    """
    if all(isinstance(value, bytes) for value in values):
        return True
    log_wrong_type("bytes")
    return False
