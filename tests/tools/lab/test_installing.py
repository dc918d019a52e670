"""Servers are installed once; what is missing is said in one line."""

from pathlib import Path

import pytest

from tools.lab import installing
from tools.lab.installing import INSTALLERS, MissingError, Place, installed, main, place_of, run

pytestmark = pytest.mark.slow

HERE = ("3.12", "3.13", "3.14")


def test_a_server_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "CACHE", tmp_path)
    made: list[Path] = []

    def install(place: Place) -> None:
        made.append(place.folder)
        run([str(place.python), "-c", "pass"])

    for _ in range(2):
        place = installed("toy", "1", HERE, install)
    assert made == [tmp_path / "toy-1"]
    assert place.packages.is_dir()


def test_what_fails_is_said_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "CACHE", tmp_path)

    def install(place: Place) -> None:
        run([str(place.python), "-c", "raise SystemExit('no wheel')"])

    for _ in range(2):
        with pytest.raises(MissingError, match="no wheel"):
            installed("toy", "1", HERE, install)


def test_no_python_of_the_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "CACHE", tmp_path)
    with pytest.raises(MissingError, match=r"no Python 2\.5 can"):
        installed("toy", "1", ("2.5",), print)


def test_a_server_that_cannot_be_had_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installing, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    with pytest.raises(MissingError):
        place_of("sglang")
    main(["sglang"])
    assert "sglang: NOT installed: no Python 3.11" in capsys.readouterr().out


def test_every_server_has_a_pin() -> None:
    assert all(version[0].isdigit() for version, _, _ in INSTALLERS.values())
