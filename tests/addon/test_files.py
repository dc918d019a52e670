from pathlib import Path

import pytest

from converter.addon.files import FileError, make_folder, write_whole


def test_a_file_is_there_as_a_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    for data in (b"one", b"two"):
        write_whole(tmp_path / "x", data)
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", data)]


def test_what_cannot_be_written_leaves_the_old_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(FileError, match="x: "):
        write_whole(tmp_path / "x", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        write_whole(tmp_path / "no" / "x", b"data")


def test_who_is_interrupted_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    write_whole(tmp_path / "x", b"old")
    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "x", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"old")]


def test_a_folder_that_cannot_be_created_or_written_in_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "no" / "kept"):
        with pytest.raises(FileError, match=str(bad)):
            make_folder(bad)
