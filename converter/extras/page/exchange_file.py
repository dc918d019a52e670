"""`ExchangeFile` keeps exchanges as bytes in the SQLite file of `think_page`, bounded in number and
size: the oldest are deleted first. `kept_exchanges.py` calls it.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from converter.addon.memory.sqlite_store import open_private
from converter.core.wire.bounds import Bound

MOST_EXCHANGES = Bound(1000, "exchanges", "exchanges in the file of think_page", "the oldest go")
"""An agent sends about this number of requests in some days."""
MOST_BYTES = Bound(256 << 20, "bytes", "those exchanges, all together", "the oldest go")
"""Bounded, because mitmweb reads all exchanges of the file into memory when it starts. Counted
before compression.
"""
_TABLE = """
CREATE TABLE IF NOT EXISTS exchanges (
    id TEXT PRIMARY KEY, began REAL NOT NULL, flow BLOB NOT NULL, size INTEGER NOT NULL
)
"""
"""The table's definition: an exchange's flow id, its beginning in seconds since 1970, the
compressed flow, and the flow's bytes before compression.
"""
_DROP_OLDEST = "DELETE FROM exchanges WHERE id = (SELECT id FROM exchanges ORDER BY began LIMIT 1)"
"""Deletes the oldest exchange."""
_PATIENCE = 1.0
"""Seconds to wait while another process has locked the file."""


class ExchangeFile:
    """Keeps exchanges: id of the flow -> its bytes. Any thread may call the methods."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it. Raises OSError if SQLite fails, as do `keep`, `flows` and
        `forget`.
        """
        self._lock = Lock()
        with _as_os_errors():
            self._connection = open_private(path, _PATIENCE)
            self._connection.execute(_TABLE)

    def keep(self, name: str, began: float, flow: bytes, is_wanted: Callable[[], bool]) -> None:
        """Write the exchange `flow` with the id `name`, which began at `began`, in seconds
        since the epoch. An earlier exchange of this id is replaced, and the oldest beyond the
        bounds are deleted.

        A person may delete the exchange in mitmweb while it waits to be written. So `is_wanted` is
        called while this method holds the file's lock, and the exchange is not written if it
        returns False.
        """
        row = name, began, zlib.compress(flow), len(flow)
        with self._transaction() as run:
            if is_wanted():
                run.execute("INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?)", row)
            while _is_full(run):
                run.execute(_DROP_OLDEST)

    def flows(self) -> list[bytes]:
        """Return the bytes of all readable exchanges, the oldest first."""
        with self._transaction() as run:
            rows = run.execute("SELECT flow FROM exchanges ORDER BY began").fetchall()
        return [flow for [packed] in rows if (flow := _decompressed(packed))]

    def forget(self, name: str) -> None:
        """Delete the exchange with the id `name` from the file, and from SQLite's write-ahead log
        beside it, which may hold a copy.
        """
        with self._transaction() as run:
            run.execute("DELETE FROM exchanges WHERE id = ?", (name,))
        with _as_os_errors():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, for which other threads wait. The end of the
        `with` block commits it, or rolls it back after an error.
        """
        with self._lock, _as_os_errors(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise SQLite's errors as OSError."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _is_full(run: sqlite3.Connection) -> bool:
    """Return True if the file holds more exchanges or bytes than the bounds allow."""
    count, size = run.execute("SELECT count(*), total(size) FROM exchanges").fetchone()
    return bool(count > MOST_EXCHANGES or size > MOST_BYTES)


def _decompressed(packed: object) -> bytes:
    """Return decompressed bytes, empty if they are damaged."""
    try:
        return zlib.decompress(packed) if isinstance(packed, bytes) else b""
    except zlib.error:
        return b""
