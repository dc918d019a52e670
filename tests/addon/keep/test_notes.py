import json

import pytest

from converter.addon.keep import notes
from converter.addon.keep.notes import METADATA, NotedFacts, NotesError
from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import RecordingError
from tests.support.raw_exchanges import exchange
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

FACTS = NotedFacts("vllm", True, "thinking", 7, True)
RECORDING = exchange(ended="gone", facts=FACTS)
CUTS = [(len(chunk.data), chunk.at_seconds) for chunk in RECORDING.chunks]
WRITTEN = CUTS, "gone", RECORDING.options, FACTS
NOTED = json.loads(notes.write_notes(WRITTEN, {}))


def test_what_was_written_is_read() -> None:
    read = notes.read_notes(notes.write_notes(WRITTEN, {"thoughts": 1}, comment="said"))
    assert read == WRITTEN


def test_half_a_character_of_a_server_can_be_kept() -> None:
    text = notes.write_notes(WRITTEN, {"failure": "\ud800"})
    assert text.isascii()
    assert json.loads(text)["summary"] == {"failure": "\ud800"}


@pytest.mark.parametrize(("change", "reason"), ROWS["notes that cannot be read say why"])
def test_notes_that_cannot_be_read_say_why(change: dict[str, object], reason: str) -> None:
    with pytest.raises(NotesError, match=reason):
        notes.read_notes(json.dumps({**NOTED, **change}))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"x"', "[" * 100_000, None, b"\xff"])
def test_what_is_no_note_says_so(text: object) -> None:
    with pytest.raises(NotesError, match="cannot be read"):
        notes.read_notes(text)


def test_a_missing_note_is_named() -> None:
    with pytest.raises(NotesError, match="KeyError: 'begins'"):
        notes.read_notes(
            json.dumps({name: value for name, value in NOTED.items() if name != "begins"})
        )


def test_chunks_of_another_body_are_refused() -> None:
    flow = flow_file.to_flow(RECORDING)
    flow.metadata[METADATA] = json.dumps({**NOTED, "chunks": [[1, 0.5]]})
    with pytest.raises(RecordingError, match="bytes, but its chunks are 1"):
        flow_file.from_flow(flow, "hello")
