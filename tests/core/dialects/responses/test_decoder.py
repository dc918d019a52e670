"""A server's own replies of the Responses API."""

import json
from typing import Any

import pytest
from hypothesis import given

from converter.core.dialects.responses.decoder import NAME, ResponsesDecoder
from converter.core.dialects.responses.response_events import ResponsesEncoder
from converter.core.dialects.wire_form import ReplyContext
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
from converter.core.wire.sse import FrameDecoder, read_frame
from tests.core.dialects.responses.test_response_events import replies
from tests.support.judged_calls import judged
from tests.support.responses_of import parsed
from tests.support.strategies import law

pytestmark = pytest.mark.slow

HEAD = {
    "id": "resp_s",
    "object": "response",
    "created_at": 5,
    "model": "m",
    "status": "in_progress",
}


def read(*events: dict[str, Any]) -> list[Event]:
    decoder = ResponsesDecoder()
    frames = [read_frame(b"data: " + json.dumps(event).encode() + b"\n\n") for event in events]
    return [event for frame in frames for event in decoder.feed(frame)]


def whole(*output: dict[str, Any], **fields: Any) -> list[Event]:
    return read({**HEAD, "status": "completed", "output": [*output], **fields})


def delta(kind: str, text: str, index: int = 0) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}


MESSAGE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "ab"}],
}
THOUGHT = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
START = Start("resp_s", "m", Own(NAME, {"id": "resp_s", "created_at": 5}))


def test_a_whole_response_is_read_in_order() -> None:
    usage = {
        "input_tokens": 3,
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    assert whole(THOUGHT, MESSAGE, CALL, usage=usage) == [
        START,
        Thinking("t"),
        ThinkingEnd(),
        Text("ab"),
        ToolCall(2, "c", "f", '{"a":1}'),
        Finish("tool_calls"),
        Usage(3, 2, thinking=1),
        End(Own(NAME, {"created_at": 5, "model": "m"})),
    ]


def test_deltas_are_read_and_what_repeats_them_is_not() -> None:
    events = read(
        {"type": "response.created", "response": HEAD},
        {"type": "response.in_progress", "response": HEAD},
        delta("reasoning_text", "t"),
        {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
        delta("output_text", "a", 1),
        delta("output_text", "b", 1),
        {"type": "response.output_text.done", "output_index": 1, "text": "ab"},
        {"type": "response.output_item.done", "output_index": 1, "item": MESSAGE},
    )
    assert events == [START, Thinking("t"), ThinkingEnd(), Text("a"), Text("b")]


def test_a_thought_received_raw_and_as_a_summary_is_emitted_once() -> None:
    events = read(
        delta("reasoning_text", "t"),
        delta("reasoning_summary_text", "t"),
        delta("reasoning_summary_text", "u"),
    )
    assert events == [Thinking("t"), Thinking("u")]


def test_arguments_that_no_delta_sent_are_read_from_the_item() -> None:
    added = {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**CALL, "arguments": ""},
    }
    done = {"type": "response.output_item.done", "output_index": 0, "item": CALL}
    assert read(added, delta("function_call_arguments", '{"a"'), done) == [
        ToolCall(0, "c", "f", ""),
        ToolCall(0, "", "", '{"a"'),
        ToolCall(0, "", "", ":1}"),
    ]
    assert read(done) == [ToolCall(0, "c", "f", '{"a":1}')]


def test_arguments_sent_when_a_call_begins_are_emitted_once() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": CALL}
    done = {"type": "response.output_item.done", "output_index": 0, "item": CALL}
    assert read(added, done) == [ToolCall(0, "c", "f", ""), ToolCall(0, "", "", '{"a":1}')]
    assert read(added, delta("function_call_arguments", '{"a":1}'), done) == read(added, done)


def test_arguments_of_a_call_that_goes_on_whole_come_with_it() -> None:
    call = {**CALL, "namespace": "n"}
    added = {"type": "response.output_item.added", "output_index": 0, "item": call}
    done = {"type": "response.output_item.done", "output_index": 0, "item": call}
    assert read(added, delta("function_call_arguments", "{}"), done) == [DialectBlock(NAME, call)]


def test_items_that_nobody_numbered_are_matched_by_their_ids() -> None:
    def added(name: str) -> dict[str, Any]:
        item = {**CALL, "id": name, "call_id": f"call_{name}", "arguments": ""}
        return {"type": "response.output_item.added", "item": item}

    def piece(kind: str, name: str, text: str) -> dict[str, Any]:
        return {"type": f"response.{kind}.delta", "item_id": name, "delta": text}

    done = {"type": "response.output_item.done", "item": {**CALL, "id": "b", "arguments": "{}"}}
    assert read(
        piece("reasoning_text", "rs", "t"),
        added("a"),
        added("b"),
        piece("function_call_arguments", "a", '{"a":1}'),
        done,
    ) == [
        Thinking("t"),
        ToolCall(1, "call_a", "f", ""),
        ToolCall(2, "call_b", "f", ""),
        ToolCall(1, "", "", '{"a":1}'),
        ToolCall(2, "", "", "{}"),
    ]


def test_a_refusal_is_text_that_says_so() -> None:
    assert read(delta("refusal", "no")) == [Text("no", refusal=True)]
    part = {"type": "refusal", "refusal": "no"}
    assert Text("no", refusal=True) in whole({"type": "message", "content": [part]})


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {}},
        {**CALL, "namespace": "n"},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "i"},
    ],
)
def test_an_item_of_another_kind_goes_on_whole(item: dict[str, Any]) -> None:
    assert whole(item)[1] == DialectBlock(NAME, item)


@pytest.mark.parametrize("kind", [None, {}, "", 7])
def test_an_item_whose_kind_is_no_word_is_lost(kind: object) -> None:
    done = {"type": "response.output_item.done", "output_index": 0, "item": {"type": kind}}
    (frame,) = read(done)
    assert isinstance(frame, OpaqueFrame)
    assert frame.lost


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_tool_calls"}}, "length"),
        ({"status": "incomplete"}, "length"),
    ],
)  # fmt: skip
def test_the_status_is_a_finish_reason(fields: dict[str, Any], reason: str) -> None:
    assert Finish(reason) in whole(MESSAGE, **fields)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {**HEAD, "status": "failed", "error": {"code": "c", "message": "no"}}},
        {**HEAD, "status": "failed", "error": {"code": "c", "message": "no"}},
        {"type": "error", "code": "c", "message": "no"},
        {"type": "error", "error": {"code": "c", "message": "no"}},
        {"error": {"code": "c", "message": "no"}},
    ],
)  # fmt: skip
def test_a_failure_is_read_in_every_form(event: dict[str, Any]) -> None:
    assert read(event)[-1] == Failure("no", "c")


@pytest.mark.parametrize(
    "raw",
    [
        b"data: no json\n\n",
        b"data: [1]\n\n",
        b'data: {"type": "response.output_text.delta"}\n\n',
        b'data: {"type": "response.output_item.done", "item": 1}\n\n',
    ],
)
def test_what_cannot_be_read_is_lost(raw: bytes) -> None:
    lost = OpaqueFrame(Own(NAME, raw=raw), lost=True)
    assert ResponsesDecoder().feed(read_frame(raw)) == [lost]


def test_a_comment_is_none_of_the_replys() -> None:
    ping = OpaqueFrame(Own(NAME, raw=b": ping\n\n"), comment=True)
    assert ResponsesDecoder().feed(read_frame(b": ping\n\n")) == [ping]


@pytest.mark.parametrize(
    "event",
    [b"data: [DONE]\n\n", b'data: {"type": "response.web_search_call.in_progress"}\n\n', b'data: {"type": "keepalive"}\n\n'],
)  # fmt: skip
def test_what_only_announces_says_nothing(event: bytes) -> None:
    assert ResponsesDecoder().feed(read_frame(event)) == []


@law(100)
@given(replies())
def test_what_the_encoder_wrote_is_read_as_what_it_was(events: list[Event]) -> None:
    """Streamed and whole, through the machines a second time: the same response."""
    context = ReplyContext(id="1", model="m")
    encoder = ResponsesEncoder(context, whole=True)
    events = judged(events)
    encoder.feed(events)
    before = encoder.close()[0]
    stream = ResponsesEncoder(context)
    for body in (
        [read_frame(b"data: " + before + b"\n\n")],
        FrameDecoder().feed(b"".join([*stream.feed(events), *stream.close()])),
    ):
        decoder, again = ResponsesDecoder(), ResponsesEncoder(context, whole=True)
        again.feed(judged(event for frame in body for event in decoder.feed(frame)))
        assert parsed(json.loads(again.close()[0])) == parsed(json.loads(before))
