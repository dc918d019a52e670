"""A file that several processes write, and what may happen to it."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from converter.addon.memory.sqlite_store import SqliteStore
from converter.addon.memory.store_waits import StoreElsewhere, log_wrong_type
from converter.core.model.memory import Bounds, Memory
from tests.support.harness import TESTS

pytestmark = pytest.mark.slow

WRITES = """
import sys
from pathlib import Path
from converter.core.model.memory import Bounds, Memory
from converter.addon.memory.sqlite_store import SqliteStore

memory = Memory(store=SqliteStore(Path(sys.argv[1]), Bounds(10_000, 1 << 24)))
for number in range(int(sys.argv[3])):
    memory.keep(f"{sys.argv[2]}{number}", b"x" * 1000, "begun", moving_name="talk")
    print(number, flush=True)
"""
BOUNDS = Bounds(10_000, 1 << 24)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "memory.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, BOUNDS, 0.01)
    yield store
    store.close()


@pytest.fixture
def memory(store: SqliteStore) -> Memory:
    memory = Memory(store=store)
    memory.keep("begun", b"0", names=["talk"])
    return memory


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITES, str(path), name, str(count)]
    return subprocess.Popen(command, cwd=TESTS.parent, stdout=subprocess.PIPE, text=True)


def test_nobody_else_may_read_it(memory: Memory, path: Path) -> None:
    assert memory.find("talk") == "begun"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_it_is_there_when_it_is_opened_again(memory: Memory, path: Path) -> None:
    memory.store.close()
    again = SqliteStore(path, BOUNDS)
    assert (again.history("begun"), again.find("talk"), again.size) == ([b"0"], "begun", 5)
    again.close()


def test_two_processes_that_add_to_one_conversation_lose_nothing(
    memory: Memory, path: Path
) -> None:
    count = 100
    writers = [writer(path, name, count) for name in "ab"]
    assert [len(process.communicate()[0].split()) for process in writers] == [count] * 2
    history = memory.history(memory.find("talk"))
    assert history is not None
    assert len(history) == 1 + 2 * count


def test_a_process_killed_in_mid_write_loses_nothing_that_was_kept(
    memory: Memory, path: Path
) -> None:
    with writer(path, "a", 10_000) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(50)]
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
    whole = [int(line) for line in lines if line.endswith("\n")]
    history = memory.history(memory.find("talk"))
    assert history is not None
    assert len(history) >= 1 + len(whole) > 50
    assert set(history[1:]) == {b"x" * 1000}
    memory.keep("next", b"1", moving_name="talk")
    assert memory.history("next") == [*history, b"1"]


def test_a_locked_file_is_not_waited_for_long(memory: Memory, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        memory.keep("a", b"1", moving_name="talk")
    other.execute("ROLLBACK")
    other.close()
    memory.keep("a", b"1", moving_name="talk")
    assert memory.history("a") == [b"0", b"1"]


def test_a_full_disk_keeps_all_or_nothing(memory: Memory) -> None:
    assert isinstance(memory.store, SqliteStore)
    assert memory.store._connection
    memory.store._connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        memory.keep("large", b"x" * 1_000_000, moving_name="talk")
    assert (memory.get("large"), memory.history(memory.find("talk"))) == (None, [b"0"])


@pytest.mark.parametrize("damage", [b"no database" * 1000, None], ids=["damaged", "a folder"])
def test_a_file_that_cannot_be_used_is_an_error_at_once(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "memory.sqlite"
    path.write_bytes(damage) if damage else path.mkdir()
    with pytest.raises((sqlite3.DatabaseError, OSError)):
        Memory(store=SqliteStore(path, BOUNDS)).find("a")
    if damage:
        assert path.read_bytes() == damage


def spoil(store: SqliteStore, statement: str, value: object) -> None:
    """Change the file as another program does, without foreign keys."""
    with sqlite3.connect(store._path) as other:
        other.execute(statement, [value])
    other.close()


BOTH = [b"1", b"2"]
ODD = ["words", 1e300, "9" * 30]
"""Values of types that no column holds."""


@pytest.mark.parametrize("odd", ODD, ids=["text", "a number", "digits"])
@pytest.mark.parametrize(
    ("column", "expected", "is_logged"),
    [
        ("entries.value", ("b", None), True),
        ("entries.previous", ("b", None), True),
        ("entries.used", ("b", None), True),
        ("names.key", ("", BOTH), True),
        ("totals.count", ("b", BOTH), True),
        ("totals.size", ("b", BOTH), True),
        ("entries.size", ("b", BOTH), False),
        ("entries.key", ("b", None), False),
        ("names.name", ("", BOTH), False),
    ],
)
def test_a_value_of_another_type_is_reported_and_ignored(
    store: SqliteStore,
    column: str,
    odd: object,
    expected: object,
    is_logged: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SQLite holds any type in any column, and others may write to the file. A key of another value
    cannot be noticed.
    """
    log_wrong_type.cache_clear()
    memory = Memory(store=StoreElsewhere(store))
    store.keep("a", b"1", "", ["name"], "")
    store.keep("b", b"2", "a", ["talk"], "")
    table, _, name = column.partition(".")
    where = {"names": "name = CAST('talk' AS BLOB)", "entries": "rowid = 2", "totals": "true"}[
        table
    ]
    spoil(store, f"UPDATE {table} SET {name} = ? WHERE {where}", odd)
    assert (memory.find("talk"), memory.history("b")) == expected
    assert memory.get("a") == b"1"
    assert memory.size > 0
    assert ("another type" in caplog.text) is is_logged
    store.keep("c", b"3", "a", ["other", "talk"], "")
    assert memory.history(memory.find("other")) in ([b"1", b"3"], None if name == "size" else [])


@pytest.mark.usefixtures("memory")
def test_totals_that_are_too_high_are_counted_anew(store: SqliteStore) -> None:
    spoil(store, "UPDATE totals SET size = ?", 2 * BOUNDS.size)
    store.keep("b", b"1", "", ["name"], "")
    store.keep("c", b"1", "", ["name"], "")
    assert (store.get("c"), store.size) == (b"1", 6)


@pytest.mark.usefixtures("memory")
def test_an_id_that_is_none_is_passed_over(store: SqliteStore) -> None:
    spoil(store, "UPDATE names SET key = ?", b"\xff")
    assert Memory(store=StoreElsewhere(store)).find("talk") == ""
