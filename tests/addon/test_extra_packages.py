"""Packages of extras: absent is one thing, broken another."""

import sys
import tomllib
from pathlib import Path

import pytest

import converter.extras
from converter.addon.extra_packages import EXTRAS, load, load_optional


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(converter.extras, "__path__", [str(tmp_path)])
    for name in [name for name in sys.modules if name.startswith("converter.extras.")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_a_package_that_is_there_is_imported(folder: Path) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "__init__.py").touch()
    (folder / "made" / "extra.py").write_text("NAME = 'made'")
    module = load("made")
    assert module is not None
    assert module.NAME == "made"


def test_a_package_that_was_deleted_is_absent(folder: Path) -> None:
    assert load("gone") is None
    (folder / "left" / "__pycache__").mkdir(parents=True)
    assert load("left") is None


@pytest.mark.parametrize(
    "message", ["import nowhere_to_be_found", "1 / 0", "from . import nothing"]
)
def test_a_fault_within_a_package_is_raised(folder: Path, message: str) -> None:
    (folder / "wrong").mkdir()
    (folder / "wrong" / "__init__.py").touch()
    (folder / "wrong" / "extra.py").write_text(message)
    with pytest.raises((ImportError, ZeroDivisionError)):
        load("wrong")


def test_a_package_without_its_module_is_broken(folder: Path) -> None:
    (folder / "half").mkdir()
    (folder / "half" / "__init__.py").touch()
    with pytest.raises(ModuleNotFoundError, match=r"half\.extra"):
        load("half")


def test_users_of_the_binary_learn_that_it_takes_no_packages(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "__init__.py").touch()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    (folder / "made" / "part.py").write_text("import nowhere_to_be_found")
    with pytest.raises(ValueError, match=r"its own binary takes no .* think-addon\[redis\]$"):
        load_optional("made", "part", "redis", "think_memory")


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for extra, packages in EXTRAS.items():
        rows = project["optional-dependencies"][extra]
        assert packages.split() == [row.partition(">")[0] for row in rows]
