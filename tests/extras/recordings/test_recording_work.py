"""The work of keeping one exchange: under a name or the next number, with what it should read."""

from pathlib import Path

import pytest

from converter.extras.recordings.flow_file import to_flow
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import RecordingError
from converter.extras.recordings.recording_work import keep
from tests.support.recorded import FOLDER

NAME = "vllm-two-choices-stream"
FLOW = to_flow(Library(FOLDER).load(NAME))


def test_a_recording_has_the_next_number_what_it_is_and_the_model(tmp_path: Path) -> None:
    model = "0001-chat-tiny-think"
    paths = [keep(FLOW, tmp_path / "kept") for _ in range(2)]
    assert [path.stem for path in paths] == [model, model.replace("0001", "0002")]
    library = Library(tmp_path / "kept")
    assert [library.check(name, lambda *_: []) for name in library.names()] == [[], []]


def test_numbers_go_on_after_the_highest_also_a_claimed_one(tmp_path: Path) -> None:
    (tmp_path / "0007-chat-x.mitm").touch()
    (tmp_path / ".0012-").touch()
    assert keep(FLOW, tmp_path).name.startswith("0013-")
    assert {path.name for path in tmp_path.glob(".*")} == {".0012-"}


def test_a_named_one_has_its_name_and_what_it_should_read(tmp_path: Path) -> None:
    expected = Expectation("deep", "", "I say so")
    path = keep(FLOW, tmp_path, "mine", expected)
    assert path == tmp_path / "mine.mitm"
    assert Library(path.parent).read_expectation(path.stem) == expected


def test_of_an_exchange_without_a_reply_there_is_nothing_to_keep(tmp_path: Path) -> None:
    silent = FLOW.copy()
    silent.response = None
    with pytest.raises(RecordingError, match="the server gave no reply"):
        keep(silent, tmp_path)
    assert list(tmp_path.iterdir()) == []
