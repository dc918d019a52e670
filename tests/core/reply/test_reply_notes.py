"""Notes on a reply: a line for each thing that a person should know."""

import pytest

from converter.core.dialects.table import ANTHROPIC
from converter.core.model.events import Text
from converter.core.reply import reply_notes
from converter.core.reply.reply_notes import SpoiledFrames
from converter.core.reply.rewriter import Rewriter
from converter.core.wire.sse import Frame
from tests.support.frames import ROLE, data, finish, stream, text
from tests.support.frames_of import OPENAI, call, passed, rewriter


def _told(through: Rewriter, *chunks: bytes) -> list[str]:
    passed(through, chunks)
    return [through.failure, *through.notes]


NOTHING_TO_TELL = {
    "a usual reply": stream("<think>a</think>b"),
    "pings": [b": ping\n\n", *stream("a")],
    "blank lines": [b"\n\n", *stream("a"), b"\n"],
    "calls": [ROLE, call(0, "f", "{}", id="a"), finish("tool_calls")],
}


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("chunks", NOTHING_TO_TELL.values(), ids=NOTHING_TO_TELL)
def test_a_usual_reply_is_nothing_to_tell(client: object, chunks: list[bytes]) -> None:
    assert not any(_told(rewriter(OPENAI if client is OPENAI else ANTHROPIC), *chunks))


def test_frames_that_nobody_can_read_are_counted_and_the_first_is_quoted() -> None:
    failure, note = _told(rewriter(OPENAI), b"garbage\n\n", b'data: {"a": 1}\n\n', *stream("a"))
    assert failure == ""
    assert "2 frames" in note
    assert "garbage" in note
    assert "passed" in note


def test_frames_left_out_are_said_to_be_left_out() -> None:
    _, note = _told(rewriter(ANTHROPIC), b"garbage\n\n", *stream("a"))
    assert "left out" in note


def test_a_long_frame_is_quoted_in_part() -> None:
    failure, note = _told(rewriter(OPENAI), b"x" * 10_000 + b"\n\n", *stream("a"))
    assert failure == ""
    assert len(note) < 400


UNTOLD = {
    "garbage": [b"garbage: 1\nmore\n\n", *stream("a")],
    "a page": [b"<html>\n<body>"],
    "an error of two lines": [data({"error": {"message": "one\ntwo"}})],
    "arguments of two lines": [ROLE, call(0, "f", "one\ntwo", id="a"), finish("tool_calls")],
    "a tool's name of two lines": [ROLE, call(0, "f\ng", "one", id="a"), finish("tool_calls")],
}


@pytest.mark.parametrize("chunks", UNTOLD.values(), ids=UNTOLD)
def test_a_note_is_one_line(chunks: list[bytes]) -> None:
    told = [line for line in _told(rewriter(ANTHROPIC), *chunks)[1:] if line]
    assert all("\n" not in line for line in told)


def test_bytes_that_are_no_utf8_are_counted() -> None:
    spoiled = b"".join(text("x")).replace(b'"x"', b'"\xff"')
    _, note = _told(rewriter(OPENAI), spoiled, *stream("a"))
    assert note == "1 frames hold bytes that are no UTF-8"


def test_a_frame_in_order_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_notes, "_is_utf8", pytest.fail)
    frame = Frame(b"raw", b"{}")
    SpoiledFrames().count(frame, frame, [Text("said")])
