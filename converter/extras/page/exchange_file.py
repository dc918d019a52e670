"""A file of exchanges, bounded in number and bytes: the oldest go."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from converter.addon.memory.sqlite_store import open_private
from converter.core.wire.bounds import Bound

MOST_EXCHANGES = Bound(1000, "exchanges", "exchanges in the file of think_page", "the oldest go")
"""Some days of an agent."""
MOST_BYTES = Bound(256 << 20, "bytes", "those exchanges, all together", "the oldest go")
"""They are read into mitmweb's list when it starts."""
_TABLE = """
CREATE TABLE IF NOT EXISTS exchanges (
    id TEXT PRIMARY KEY, began REAL NOT NULL, flow BLOB NOT NULL, size INTEGER NOT NULL
)
"""
_DROP_OLDEST = "DELETE FROM exchanges WHERE id = (SELECT id FROM exchanges ORDER BY began LIMIT 1)"
_SECONDS = 1.0
"""A locked file is waited for."""


class ExchangeFile:
    """Exchanges by the ids of their flows, each some bytes. Other threads may use the file."""

    def __init__(self, path: Path) -> None:
        """Open the file, made where it is not there. Raises OSError, as all methods do."""
        self._lock = Lock()
        with _failures():
            self._connection = open_private(path, _SECONDS)
            self._connection.execute(_TABLE)

    def keep(self, name: str, began: float, flow: bytes, is_wanted: Callable[[], bool]) -> None:
        """Keep an exchange, if it `is_wanted` now that nobody else changes the file."""
        row = name, began, zlib.compress(flow), len(flow)
        with self._changing() as run:
            if is_wanted():
                run.execute("INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?)", row)
            while _is_full(run):
                run.execute(_DROP_OLDEST)

    def flows(self) -> list[bytes]:
        """Return all exchanges, the oldest first; one that cannot be read is left out."""
        with self._changing() as run:
            rows = run.execute("SELECT flow FROM exchanges ORDER BY began").fetchall()
        return [flow for [packed] in rows if (flow := _unpacked(packed))]

    def forget(self, name: str) -> None:
        """Delete an exchange, also from the log in which SQLite writes changes first."""
        with self._changing() as run:
            run.execute("DELETE FROM exchanges WHERE id = ?", (name,))
        with _failures():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _failures(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _is_full(run: sqlite3.Connection) -> bool:
    count, size = run.execute("SELECT count(*), total(size) FROM exchanges").fetchone()
    return bool(count > MOST_EXCHANGES or size > MOST_BYTES)


def _unpacked(packed: object) -> bytes:
    try:
        return zlib.decompress(packed) if isinstance(packed, bytes) else b""
    except zlib.error:
        return b""
