"""Bytes to neutral events: the one place where frames, decoder and stages meet."""

import json

import pytest

from converter.core.dialects.table import OLLAMA, OPENAI_CHAT, Form
from converter.core.model.events import Event, Finish, OpaqueFrame, Own, Text, Thinking, joined
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.reading import Reading
from converter.core.reply.pipeline import LONGEST, Pipeline, in_pieces
from converter.core.reply.stages import STAGES
from converter.core.wire.sse import Frame, read_frame
from tests.support.frames import stream, text, whole


def _pipeline(form: Form = Form.STREAM) -> Pipeline:
    return Pipeline(STAGES, Reading(choose([AUTO]), whole=form is Form.WHOLE), OPENAI_CHAT, form)


def _fed(pipeline: Pipeline, body: bytes) -> list[Event]:
    return [
        event
        for frame in pipeline.cutter.feed(body)
        for event in pipeline.feed(pipeline.decode(frame)[1])
    ]


def _words(events: list[Event]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__, event.text)
        for event in events
        if isinstance(event, Text | Thinking) and event.text
    ]


def test_streamed_and_whole_say_the_same() -> None:
    streamed = _pipeline()
    events = _fed(streamed, b"".join(stream("<think>why</think>so"))) + streamed.stages.close()
    body = _pipeline(Form.WHOLE)
    assert _fed(body, whole("<think>why</think>so")) == []
    rest = [event for frame in body.cutter.close() for event in body.feed(body.decode(frame)[1])]
    assert _words(events) == _words(rest) == [("Thinking", "why"), ("Text", "so")]


def test_a_comment_between_bare_lines_does_not_go_on() -> None:
    pipeline = Pipeline(STAGES, Reading(choose([AUTO])), OLLAMA, Form.STREAM)
    frame, events = pipeline.decode(Frame(b": ping\n", b": ping"))
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
    pipeline = _pipeline()
    for raw, body in ((b"event: x\ndata: " + line + b"\n\n", False), (line, True)):
        frame = Frame(line, line) if body else read_frame(raw)
        mended, events = pipeline.decode(frame)
        assert [event.text for event in events if isinstance(event, Text)] == [text]
        assert (mended.is_body, mended.event) == (body, "" if body else "x")
        assert json.loads(mended.data or b"")["choices"][0]["delta"] == {"content": text}


def test_a_frame_in_order_and_one_beyond_help_stay_as_they_came() -> None:
    for raw in (*text("a"), b"data: {cut\n\n", b'data: {"choices": [5], "a": NaN}\n\n'):
        frame = read_frame(raw)
        assert _pipeline().decode(frame)[0] is frame


@pytest.mark.parametrize("line", [b"null", b"[]", b'""', b"0"])
def test_a_value_that_says_nothing_is_nothing_in_a_stream_and_no_body(line: bytes) -> None:
    assert _pipeline().decode(read_frame(b"data: " + line + b"\n\n")) == (Frame(b"", None), [])
    _, [event] = _pipeline(Form.WHOLE).decode(Frame(line, line))
    assert isinstance(event, OpaqueFrame)
    assert event.lost


# Long texts go through the stages in pieces, and nobody can tell.

LONG = "a" * (2 * LONGEST + 1)


def test_a_long_text_is_cut_and_joined_again() -> None:
    pieces = in_pieces([Text("b"), Text(LONG, 1), Finish("stop")])
    assert [len(piece.text) for piece in pieces if isinstance(piece, Text)] == [
        1,
        LONGEST,
        LONGEST,
        1,
    ]
    assert joined(pieces) == [Text("b"), Text(LONG, 1), Finish("stop")]


@pytest.mark.parametrize(
    "event",
    [
        Text("a" * LONGEST),
        Text(LONG, refusal=True),
        Text(LONG, own=Own("openai")),
        Thinking(LONG, own=Own("openai", {"reasoning": LONG})),
    ],
    ids=["short", "refusal", "in parts", "of the server's own field"],
)
def test_what_no_stage_searches_stays_whole(event: Text | Thinking) -> None:
    assert list(in_pieces([event])) == [event]


def test_short_events_are_given_back_as_they_are() -> None:
    events = [Text("a"), Text("b")]
    assert in_pieces(events) is events
