"""A file of exchanges keeps, bounds and forgets them."""

import sqlite3
import stat
from pathlib import Path

import pytest

from converter.core.wire.bounds import Bound
from converter.extras.page import exchange_file
from converter.extras.page.exchange_file import ExchangeFile


def keep(file: ExchangeFile, name: str, began: float, flow: bytes = b"a flow") -> None:
    file.keep(name, began, flow, lambda: True)


def test_what_is_kept_is_there_for_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    first = ExchangeFile(path)
    keep(first, "b", 2, b"second")
    keep(first, "a", 1, b"first")
    keep(first, "b", 2, b"second, again")
    first.keep("c", 3, b"third", lambda: False)
    first.close()
    second = ExchangeFile(path)
    assert second.flows() == [b"first", b"second, again"]
    second.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("bound", "most"), [("MOST_EXCHANGES", 2), ("MOST_BYTES", 10)])
def test_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(exchange_file, bound, Bound(most, "", "", ""))
    file = ExchangeFile(tmp_path / "kept.sqlite")
    for began, name in ((3, "newest"), (1, "first"), (2, "then")):
        keep(file, name, began, f"{began}    ".encode())
    assert file.flows() == [b"2    ", b"3    "]
    file.close()


def test_what_is_forgotten_is_nowhere_in_the_file(tmp_path: Path) -> None:
    file = ExchangeFile(tmp_path / "kept.sqlite")
    keep(file, "secret-name", 1)
    keep(file, "other", 2)
    file.forget("secret-name")
    for each in tmp_path.iterdir():
        assert b"secret-name" not in each.read_bytes()
    assert len(file.flows()) == 1
    file.close()


def test_a_file_of_something_else_is_no_file_of_exchanges(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    path.write_text("words, and no database at all " * 40)
    with pytest.raises(OSError, match="not a database"):
        ExchangeFile(path)


def test_a_row_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    file = ExchangeFile(path)
    keep(file, "whole", 1)
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO exchanges VALUES ('odd', 2, 'text', 4), ('cut', 3, x'78', 1)")
    other.close()
    assert file.flows() == [b"a flow"]
    file.close()
