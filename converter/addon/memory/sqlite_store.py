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
_SETUP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
)
_UNIT = 10**6
"""Steps of a second, because the order in which entries are used is told by their times alone."""
_USED = "SELECT max(?, 1 + (SELECT coalesce(max(used), 0) FROM entries))"


def usual_path() -> Path:
    """Return the file in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "think-addon" / "memory.sqlite"


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
            return int(run("SELECT size FROM totals").fetchone()[0])

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
            run(f"INSERT INTO entries VALUES (?, ?, ?, ?, ({_USED}))", *entry, self._time())
            for name in free:
                run("INSERT OR REPLACE INTO names VALUES (?, ?)", name, raw(key))
            while self._is_full(run):
                run("DELETE FROM entries WHERE used = (SELECT min(used) FROM entries)")

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        with self._changing() as run:
            return bool(run("DELETE FROM entries WHERE key = ?", raw(key)).rowcount)

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        with self._changing() as run:
            return self._found(run, name).decode("utf-8", "surrogatepass")

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back; see `Store.values`."""
        values, seen, entry = list[bytes](), set[bytes](), raw(key)
        with self._changing() as run:
            self._drop_old(run)
            while entry and not (one and values):
                if entry in seen:
                    return None
                run(f"UPDATE entries SET used = ({_USED}) WHERE key = ?", self._time(), entry)
                row = run("SELECT value, previous FROM entries WHERE key = ?", entry).fetchone()
                if row is None:
                    return None
                seen.add(entry)
                values.append(row[0])
                entry = row[1]
        return values

    def _found(self, run: "_Run", name: str) -> bytes:
        row = run("SELECT key FROM names WHERE name = ?", raw(name)).fetchone()
        return bytes(row[0]) if row else b""

    def _drop_old(self, run: "_Run") -> None:
        oldest = self._time() - int(self.bounds.seconds * _UNIT)
        run("DELETE FROM entries WHERE used < ?", oldest)

    def _is_full(self, run: "_Run") -> bool:
        count, size = run("SELECT count, size FROM totals").fetchone()
        return bool(count > self.bounds.count or size > self.bounds.size)

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
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = self._connection = sqlite3.connect(
            self._path, timeout=self._seconds, isolation_level=None, check_same_thread=False
        )
        for statement in _SETUP:
            connection.execute(statement)
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
        return connection


type _Run = Callable[..., sqlite3.Cursor]
