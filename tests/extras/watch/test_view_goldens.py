"""What both views show of recorded exchanges: of some exactly, for people to read; of all, that
nothing of them is shown raw.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy.test import taddons

from converter.extras.recordings.library import Library
from converter.extras.watch.views import Views
from tests.support import view_goldens
from tests.support.view_goldens import COMMAND, GOLDENS, NAMES, RECORDINGS, VIEWS, flow_of, shown

ALL = Library(RECORDINGS).names()
_DETAIL = 'rest: |\n  {\n    "detail":'
_FLAT = 'rest: |\n  {\n    "object": "error",'
ODD = {
    "sglang-newest-picture-whole": _FLAT,
    "sglang-newest-reply-too-long-whole": _FLAT,
    "sglang-newest-too-long-whole": _FLAT,
    "transformers-refused-whole": _DETAIL,
    "vllm-mlx-reply-too-long-whole": _DETAIL,
    "xinference-too-long-whole": _DETAIL,
}
"""Replies of a shape that no dialect has: shown as they came."""


@pytest.fixture(autouse=True)
def offered() -> Iterator[None]:
    with taddons.context(Views()):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_both_views_show_what_they_showed_before(name: str) -> None:
    new = view_goldens.difference(name)
    if new:
        pytest.fail(f"{new}\n\nif that is right: {COMMAND}", pytrace=False)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("view", [*VIEWS, "auto"])
def test_every_recording_is_read(name: str, view: str, caplog: pytest.LogCaptureFixture) -> None:
    flow = flow_of(name)
    talks = not flow.request.path.startswith("/v1/models")
    for result in shown(flow, view):
        assert "failed" not in result.description
        assert not talks or result.view_name == ("Thinking" if view == "auto" else view)
        assert (
            not talks or "rest:" not in result.text or ODD.get(name, "rest: nothing") in result.text
        )
        assert not talks or result.text.strip()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


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
