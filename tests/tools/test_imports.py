from pathlib import Path

import pytest

from tools import imports

SOURCES = {
    "ours/__init__.py": "",
    "ours/low.py": "import re\n",
    "ours/middle.py": "from ours import low\nfrom re import match\n",
    "ours/high.py": "def late() -> None:\n    from ours.middle import low\n",
    "ours/left.py": "if TYPE_CHECKING:\n    from ours.right import name\n",
    "ours/right.py": "import ours.left\nimport ours.low\n",
}


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(imports, "ROOT", tmp_path)
    imports.file_of.cache_clear()
    imports.imported_by.cache_clear()


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("ours.low", set()),
        ("ours.middle", {"ours.low"}),
        ("ours.high", {"ours.middle"}),
        ("ours.left", {"ours.right"}),
    ],
)
def test_an_import_counts_wherever_it_stands(module: str, imported: set[str]) -> None:
    assert imports.imported_by(module) == imported


def test_a_closure_has_the_imports_of_imports_and_their_package() -> None:
    assert imports.closure("ours.high") == {"ours", "ours.low", "ours.middle", "ours.high"}


def test_a_circle_is_listed_once_and_without_the_modules_below_it() -> None:
    modules = [f"ours.{name}" for name in ("low", "middle", "high", "left", "right")]
    assert imports.circles(modules) == [["ours.left", "ours.right"]]
