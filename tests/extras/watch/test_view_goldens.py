"""Both views of recorded exchanges: the exact text of some, for people to read; and that none is
shown raw.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy.test import taddons

from converter.extras.watch.views import Views
from tests.support import view_goldens
from tests.support.view_goldens import COMMAND, GOLDENS, NAMES


@pytest.fixture(autouse=True)
def offered() -> Iterator[None]:
    with taddons.context(Views()):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_both_views_show_what_they_showed_before(name: str) -> None:
    new = view_goldens.difference(name)
    if new:
        pytest.fail(f"{new}\n\nif that is right: {COMMAND}", pytrace=False)


def test_no_golden_is_of_no_recording() -> None:
    assert sorted(path.stem for path in GOLDENS.glob("*.txt")) == sorted(NAMES)


def test_blessing_tells_what_is_new_and_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(view_goldens, "GOLDENS", tmp_path)
    (tmp_path / "gone.txt").write_text("")
    view_goldens.main(["bless"])
    assert "\n+  thinking:\n" in capsys.readouterr().out
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(NAMES)
    assert [name for name in NAMES if view_goldens.difference(name)] == []
    file = view_goldens.path_of(NAMES[0])
    file.write_text(file.read_text().replace("user:", "you:"))
    view_goldens.main(["bless"])
    assert "\n-you: |\n+user: |\n" in capsys.readouterr().out
