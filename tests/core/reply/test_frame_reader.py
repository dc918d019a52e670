"""Bytes to frames, and to neutral events."""

import json

import pytest

from converter.core.dialects.table import OLLAMA, OPENAI_CHAT, Form
from converter.core.model.events import Event, OpaqueFrame, Text
from converter.core.reply.frame_reader import FrameReader
from converter.core.wire.sse import Frame, read_frame
from tests.support.frames import text


def _read(frame: Frame, form: Form = Form.STREAM) -> tuple[Frame, list[Event]]:
    return FrameReader(OPENAI_CHAT, form).read(frame)


def test_a_comment_between_bare_lines_does_not_go_on() -> None:
    frame, events = FrameReader(OLLAMA, Form.STREAM).read(Frame(b": ping\n", b": ping"))
    assert (frame.raw, events) == (b"", [])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"choices":[{"index":"0","delta":{"content":"a"}}]}', "a"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\0"}}]}', "a\0"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\xff"}}]}', "a\ufffd"),
        (b'{"choices":[{"index":0,"delta":{"content":"a",},"logprobs":NaN}]}}', "a"),
    ],
)
def test_a_frame_of_clear_meaning_is_mended(line: bytes, text: str) -> None:
    for raw, body in ((b"event: x\ndata: " + line + b"\n\n", False), (line, True)):
        frame = Frame(line, line) if body else read_frame(raw)
        mended, events = _read(frame)
        assert [event.text for event in events if isinstance(event, Text)] == [text]
        assert (mended.is_body, mended.event) == (body, "" if body else "x")
        assert json.loads(mended.data or b"")["choices"][0]["delta"] == {"content": text}


def test_a_frame_in_order_and_one_beyond_help_stay_as_they_came() -> None:
    for raw in (*text("a"), b"data: {cut\n\n", b'data: {"choices": [5], "a": NaN}\n\n'):
        frame = read_frame(raw)
        assert _read(frame)[0] is frame


@pytest.mark.parametrize("line", [b"null", b"[]", b'""', b"0"])
def test_a_value_that_says_nothing_is_nothing_in_a_stream_and_no_body(line: bytes) -> None:
    assert _read(read_frame(b"data: " + line + b"\n\n")) == (Frame(b"", None), [])
    _, [event] = _read(Frame(line, line), Form.WHOLE)
    assert isinstance(event, OpaqueFrame)
    assert event.lost
