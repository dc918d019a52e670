"""Frames of the Messages API to events: what real servers send, and what none should."""

import itertools
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.anthropic.decoder import AnthropicDecoder
from converter.core.dialects.anthropic.encoder import STOP_REASONS
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from tests.support.frames_of import Json, frames, whole_frame
from tests.support.messages_of import HEAD, SIGNATURE, streamed, whole
from tests.support.rows import rows_of
from tests.support.strategies import PLAIN, law

ROWS = rows_of(__file__)

type Seen = tuple[str, ...]


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _begin(index: int, **block: object) -> bytes:
    return _event("content_block_start", index=index, content_block=block)


def _delta(index: int, kind: str, text: str) -> bytes:
    name = "partial_json" if kind == "input_json_delta" else kind.removesuffix("_delta")
    return _event("content_block_delta", index=index, delta={"type": kind, name: text})


def _stop(index: int) -> bytes:
    return _event("content_block_stop", index=index)


def _finish(reason: str = "end_turn", stop_sequence: str | None = None, **usage: object) -> bytes:
    return _event(
        "message_delta", delta={"stop_reason": reason, "stop_sequence": stop_sequence}, usage=usage
    )


MESSAGE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "small",
    "content": [],
    "stop_reason": None,
}
COUNTED = {"input_tokens": 7, "output_tokens": 1}
BEGIN = _event("message_start", message={**MESSAGE, "usage": COUNTED})
STOP = _event("message_stop")


def _read(*raw: bytes) -> list[Event]:
    decoder = AnthropicDecoder()
    return [event for frame in frames(b"".join(raw)) for event in decoder.feed(frame)]


def _read_whole(body: object) -> list[Event]:
    return AnthropicDecoder().feed(whole_frame(body))


def _blocks(events: Iterable[Event]) -> list[Seen]:
    """The message that the events are, whatever their pieces: each block's kind and words, of a
    call its id, name, arguments.
    """
    seen: list[Seen] = []
    calls: dict[int, int] = {}
    for event in events:
        match event:
            case Text() | Thinking():
                kind = type(event).__name__
                seen[-1:] = (
                    [(kind, seen[-1][1] + event.text)]
                    if seen and seen[-1][0] == kind
                    else [*seen[-1:], (kind, event.text)]
                )
            case ThinkingEnd(signature=str(signature)) if seen[-1][0] == "Thinking":
                seen[-1] = ("Thought", seen[-1][1], signature)
            case ToolCall():
                offset = calls.setdefault(event.index, len(seen))
                seen[offset:] = (
                    [("Call", event.id, event.name, "")] if offset == len(seen) else seen[offset:]
                )
                seen[offset] = (*seen[offset][:3], seen[offset][3] + event.arguments)
    return seen


LLAMA = [
    *[
        BEGIN,
        _begin(0, type="thinking", thinking=""),
        _delta(0, "thinking_delta", "hm"),
        _begin(1, type="text", text=""),
    ],
    *[
        _delta(1, "text_delta", "hi"),
        _delta(0, "signature_delta", ""),
        _stop(0),
        _stop(1),
        _finish(output_tokens=5),
        STOP,
    ],
]
VLLM = [
    *[
        BEGIN,
        _begin(0, type="thinking", thinking=""),
        _delta(0, "thinking_delta", "\nhm"),
        _delta(0, "signature_delta", "5f" * 16),
    ],
    *[_stop(0), _begin(1, type="text", text=""), _delta(1, "text_delta", "\n\n"), _stop(1)],
    *[
        _begin(2, type="tool_use", id="a", name="f", input={}),
        _delta(2, "input_json_delta", '{"x":1}'),
        _stop(2),
    ],
    *[_finish("tool_use", output_tokens=5), STOP],
]
CALL = [_delta(0, "input_json_delta", '{"x"'), _delta(0, "input_json_delta", ":1}"), _stop(0)]
SEEN: dict[str, tuple[list[bytes], list[Seen]]] = {
    "llama.cpp overlaps blocks": (LLAMA, [("Thinking", "hm"), ("Text", "hi")]),
    "llama.cpp begins calls without input": (
        [_begin(0, type="tool_use", id="a", name="f"), *CALL],
        [("Call", "a", "f", '{"x":1}')],
    ),
    "vLLM has a text of blanks": (
        VLLM,
        [("Thought", "\nhm", "5f" * 16), ("Text", "\n\n"), ("Call", "a", "f", '{"x":1}')],
    ),
    "input at the start": (
        [_begin(0, type="tool_use", id="a", name="f", input={"x": 1})],
        [("Call", "a", "f", '{"x":1}')],
    ),
    "a call without arguments": (
        [_begin(0, type="tool_use", id="a", name="f", input={}), _stop(0)],
        [("Call", "a", "f", "{}")],
    ),
    "words at a block's start": (
        [_begin(0, type="text", text="a"), _delta(0, "text_delta", "b")],
        [("Text", "ab")],
    ),
}


@pytest.mark.parametrize(("raw", "blocks"), SEEN.values(), ids=SEEN)
def test_blocks_are_read_as_what_they_say(raw: list[bytes], blocks: list[Seen]) -> None:
    assert _blocks(_read(*raw)) == blocks


def test_a_message_begins_with_its_head_and_ends_with_its_count() -> None:
    start, finish, usage, end = _read(BEGIN, _finish("stop_sequence", "END", output_tokens=5), STOP)
    assert start == Start("msg_1", "small", Own("anthropic", {**MESSAGE, "usage": COUNTED}))
    assert (finish, type(usage), end) == (
        Finish("stop", "END"),
        Usage,
        End(Own("anthropic", raw=STOP)),
    )


def test_a_stop_sequence_that_the_server_does_not_name_stays_one() -> None:
    assert Finish("stop", "") in _read(BEGIN, _finish("stop_sequence"), STOP)
    assert Finish("stop", None) in _read(BEGIN, _finish("end_turn"), STOP)


CACHED = {"cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
COUNTS: dict[str, tuple[Json, Json, tuple[object, ...]]] = ROWS["counts"]


@pytest.mark.parametrize(("first", "last", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts_are_put_together(first: Json, last: Json, expected: tuple[object, ...]) -> None:
    (usage,) = (
        event
        for event in _read(_event("message_start", message={"usage": first}), _finish(**last))
        if isinstance(event, Usage)
    )
    assert (usage.input, usage.output, usage.cached, usage.created, usage.thinking) == expected


ERRORS = ROWS["errors"]


@pytest.mark.parametrize(("raw", "kind"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_a_failure_with_the_servers_text(raw: bytes, kind: str) -> None:
    status = 400 if b"400" in raw else 0
    assert _read(raw) == [Failure("m", kind, status, own=Own("anthropic", raw=raw))]


def test_pings_and_comments_are_none_of_the_replys() -> None:
    pings = [_event("ping"), b": ping\n\n"]
    assert _read(*pings) == [OpaqueFrame(Own("anthropic", raw=raw), comment=True) for raw in pings]


UNKNOWN = {
    "an event": _event("content_block_pause", index=0),
    "an event without a type": b"data: {}\n\n",
    "no JSON": b"event: message_start\ndata: {\n\n",
    "no object": b"data: []\n\n",
}


@pytest.mark.parametrize("kind", [{"type": "text"}, ["text"], 7])
def test_a_block_or_delta_whose_type_is_no_word_is_lost(kind: object) -> None:
    begun = _event("content_block_start", index=0, content_block={"type": kind, "text": "a"})
    delta = _event("content_block_delta", index=0, delta={"type": kind, "text": "a"})
    body = {"type": "message", "content": [{"type": kind, "text": "a"}]}
    for events in (_read(begun), _read(delta), _read_whole(body)):
        assert [type(event) for event in events] == [OpaqueFrame]
        assert getattr(events[0], "lost", False)


@pytest.mark.parametrize("raw", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_unknown_is_counted_and_breaks_nothing(raw: bytes) -> None:
    assert [(type(event), getattr(event, "comment", None)) for event in _read(raw)] == [
        (OpaqueFrame, False)
    ]


OTHER = {
    "a block": (_begin(0, type="redacted_thinking", data="x"), "content_block_start"),
    "a delta": (
        _event("content_block_delta", index=0, delta={"type": "citations_delta", "citation": {}}),
        "content_block_delta",
    ),
}


@pytest.mark.parametrize(("raw", "kind"), OTHER.values(), ids=OTHER)
def test_a_block_of_another_kind_is_passed_as_it_is(raw: bytes, kind: str) -> None:
    [event] = _read(raw)
    assert isinstance(event, DialectBlock)
    assert event.event["type"] == kind


def test_a_whole_message_says_what_its_stream_says() -> None:
    content = [
        {"type": "thinking", "thinking": "t", "signature": "S"},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"x": [1, "é"]}},
    ]
    body = {
        **MESSAGE,
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {**COUNTED, "output_tokens": 5},
    }
    events = _read_whole(body)
    assert _blocks(events) == [
        ("Thought", "t", "S"),
        ("Text", "a"),
        ("Call", "c", "f", '{"x":[1,"é"]}'),
    ]
    assert [type(event) for event in events[-3:]] == [Finish, Usage, End]


ODD: list[Json] = ROWS["odd"]


@pytest.mark.parametrize("fields", ODD, ids=repr)
def test_an_odd_message_still_ends(fields: Json) -> None:
    assert isinstance(_read_whole({"type": "message", **fields})[-1], End)


LEGAL = {
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
}


@pytest.mark.parametrize("reason", sorted(LEGAL))
def test_a_reason_to_stop_has_a_neutral_word(reason: str) -> None:
    (finish,) = (event for event in _read(_finish(reason)) if isinstance(event, Finish))
    assert finish.reason in {*STOP_REASONS, "tool_calls"}
    assert (finish.reason == "length") == (
        reason in ("max_tokens", "model_context_window_exceeded")
    )


_KINDS = st.sampled_from(
    [
        *AnthropicDecoder()._readers,
        "message_stop",
        "error",
        "ping",
        "text",
        "thinking",
        "tool_use",
        "text_delta",
    ]
)
_NAMES = st.sampled_from(
    [
        "type",
        "index",
        "message",
        "content_block",
        "delta",
        "content",
        "usage",
        "text",
        "input",
        "id",
        "error",
    ]
)
_VALUES = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=3) | _KINDS
)
_JSON = st.recursive(
    _VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=5),
    max_leaves=10,
)
_EVENTS = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    _KINDS,
    st.dictionaries(_NAMES, _JSON, max_size=5),
)


@law(150)
@given(values=st.lists(_EVENTS | _JSON, max_size=4))
def test_whatever_a_server_says_nothing_is_raised(values: list[object]) -> None:
    assert isinstance(
        _read(*(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)), list
    )


_NONBLANK = PLAIN.filter(lambda text: text.strip() == text != "")
_BY = st.sampled_from(["", "S"])
_THOUGHTS = st.builds(
    lambda text, by: list[Event]([Thinking(text), ThinkingEnd(signature=by)]), _NONBLANK, _BY
)
_TEXTS = _NONBLANK.map(lambda text: list[Event]([Text(text), Text(text)]))
_ENDS = st.builds(Finish, st.sampled_from(("content_filter", "length", "stop")))


@st.composite
def _messages(draw: st.DrawFn) -> list[Event]:
    parts: list[list[Event]] = draw(st.lists(_THOUGHTS | _TEXTS, max_size=5))
    calls = [
        ToolCall(index, f"c{index}", "f", '{"x":1}') for index in range(draw(st.integers(0, 2)))
    ]
    finish = Finish("tool_calls") if calls else draw(_ENDS)
    usage = draw(st.builds(Usage, st.just(9), st.integers(0, 9), st.none() | st.integers(0, 3)))
    return [HEAD, *itertools.chain(*parts), *calls, finish, usage, End()]


def _meaning(events: Iterable[Event]) -> tuple[object, ...]:
    events = list(events)
    blocks = [
        (*block[:2], block[2] or SIGNATURE) if block[0] == "Thought" else block
        for block in _blocks(events)
    ]
    (finish,) = (event for event in events if isinstance(event, Finish))
    (usage,) = (event for event in events if isinstance(event, Usage))
    return blocks, finish, usage.input, usage.output, usage.cached, isinstance(events[-1], End)


@law(200)
@given(events=_messages())
def test_what_was_written_is_read_back(events: list[Event]) -> None:
    assert _meaning(_read(*streamed(events))) == _meaning(events)
    assert _meaning(_read_whole(whole(events))) == _meaning(events)


def test_a_content_that_is_plain_text_is_one_block_of_it() -> None:
    read = AnthropicDecoder().feed(whole_frame({"type": "message", "content": "plain"}))
    assert Text("plain") in read


def test_a_block_without_a_type_is_none() -> None:
    assert [event for event in _read(_begin(0), _stop(0)) if isinstance(event, DialectBlock)] == []
