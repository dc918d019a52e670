"""Frames of chat completions to events: what real servers send, and what none should."""

import pytest

from converter.core.dialects.openai_chat.decoder import OpenAIDecoder, tool_calls
from converter.core.dialects.reasoning_fields import REASONING_FIELDS
from converter.core.dialects.wire_form import Mapped
from converter.core.model.events import (
    Event,
    Failure,
    MappedField,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from tests.support.frames import data
from tests.support.frames_of import Json, choice, chunk, entry, frames, parsed, read, whole_frame
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

TOKENS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@pytest.mark.parametrize("unknown", [None, -1, True, "5", 10**400])
def test_a_count_that_is_none_counts_nothing(unknown: object) -> None:
    counted = {"prompt_tokens": unknown, "completion_tokens": unknown}
    (usage,) = [event for event in parsed(chunk(usage=counted)) if isinstance(event, Usage)]
    assert (usage.input, usage.output) == (0, 0)


CALLS: dict[str, tuple[Json, ToolCall]] = ROWS["calls"]


@pytest.mark.parametrize(("sent", "expected"), CALLS.values(), ids=CALLS)
def test_pieces_of_tool_calls(sent: Json, expected: ToolCall) -> None:
    assert parsed(chunk(choice(delta={"tool_calls": [sent]}))) == [expected]


def test_calls_without_an_index_are_counted() -> None:
    pieces = parsed(chunk(choice(delta={"tool_calls": [entry(None, "f"), entry(None, "g")]})))
    assert [(piece.index, piece.name) for piece in pieces if isinstance(piece, ToolCall)] == [
        (0, "f"),
        (1, "g"),
    ]


def test_details_of_the_count_are_read() -> None:
    counted = {
        **TOKENS,
        "prompt_tokens_details": {"cached_tokens": 3, "created_cache_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    assert parsed(chunk(usage=counted)) == [
        Usage(7, 5, cached=3, created=4, thinking=2, own=Own("openai", counted))
    ]


def test_calls_are_taken_out_of_what_rides_along() -> None:
    for fields in ({"function_call": {"name": "f"}}, {"tool_calls": [{"index": 0}]}):
        inner: dict[str, object] = {**fields, "content": "a"}
        assert len(tool_calls(inner, 0)) == 1
        assert inner == {"content": "a"}


def test_a_function_call_beside_the_calls_is_their_twin() -> None:
    inner: dict[str, object] = {
        "function_call": {"name": "f"},
        "tool_calls": [entry(0, "f"), entry(1, "g")],
    }
    pieces = tool_calls(inner, 0)
    assert [(piece.name, piece.misshapen) for piece in pieces] == [("f", True), ("g", True)]
    assert inner == {}


STOPPED = {"logprobs": None, "finish_reason": "stop"}


def _usage(**fields: object) -> Usage:
    return Usage(7, 5, own=Own("openai", {**TOKENS, **fields}))


SEEN: dict[str, tuple[bytes, list[Event]]] = ROWS["seen"]


@pytest.mark.parametrize(("raw", "expected"), SEEN.values(), ids=SEEN)
def test_frames_that_servers_send(raw: bytes, expected: list[Event]) -> None:
    assert parsed(raw) == expected


def test_the_head_comes_once_while_it_stays_the_same() -> None:
    head = {"id": "chatcmpl-1", "model": "small"}
    assert read(chunk(choice(delta={"content": "a"})), chunk(choice(delta={"content": "b"}))) == [
        Start("chatcmpl-1", "small", Own("openai", head)),
        Text("a"),
        Text("b"),
    ]


def test_a_head_with_news_comes_again() -> None:
    heads = [
        event
        for event in read(chunk(choice()), chunk(timings={"n": 1}))
        if isinstance(event, Start)
    ]
    assert [head.own and head.own.fields.get("timings") for head in heads] == [None, {"n": 1}]


def test_a_frame_that_cannot_be_read_does_not_take_the_head_along() -> None:
    bad, good = chunk(choice(delta={"content": 5})), chunk(choice(delta={"content": "a"}))
    assert read(bad, good) == [
        OpaqueFrame(Own("openai", raw=bad), lost=True),
        Start("chatcmpl-1", "small", Own("openai", {"id": "chatcmpl-1", "model": "small"})),
        Text("a"),
    ]


@pytest.mark.parametrize("name", REASONING_FIELDS)
def test_every_name_of_thinking_is_read(name: str) -> None:
    assert parsed(chunk(choice(delta={name: "a"}))) == [
        Thinking("a", 0, own=Own("openai", dict.fromkeys((name,), "a")))
    ]


def test_one_text_under_two_names_is_one_thought() -> None:
    both = {"reasoning": "a", "reasoning_content": "a"}
    assert parsed(chunk(choice(delta=both))) == [
        Thinking("a", 0, own=Own("openai", dict.fromkeys(("reasoning_content", "reasoning"), "a")))
    ]


def test_one_text_under_two_names_is_one_thought_in_pieces_of_any_length() -> None:
    pieces = ({"reasoning": "ab"}, {"reasoning_content": "a"}, {"reasoning_content": "bc"})
    assert parsed(*(chunk(choice(delta=piece)) for piece in pieces)) == [
        Thinking("ab", 0, own=Own("openai", dict.fromkeys(("reasoning",), "ab"))),
        Thinking("", 0, own=Own("openai", {"reasoning_content": "a"})),
        Thinking("c", 0, own=Own("openai", {"reasoning_content": "bc"})),
    ]


def test_a_list_of_thoughts_is_read_and_stays_as_it_came() -> None:
    details = [{"type": "reasoning.text", "text": "a", "format": None}]
    both = {"reasoning": "a", "reasoning_details": details}
    assert parsed(chunk(choice(delta=both))) == [Thinking("a", 0, own=Own("openai", both))]


def test_a_list_without_text_rides_along() -> None:
    hidden = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "g"}]}
    assert parsed(chunk(choice(delta=hidden))) == [Opaque("openai", hidden, {})]


def test_a_field_with_a_block_of_the_users_is_reported_and_stays_where_it_was() -> None:
    for name, value in (("plan", ["a"]), ("thinking", 1)):
        decoder = OpenAIDecoder({name: Mapped("custom", "steps")})
        delta = {name: value, "reasoning": "b", "content": "c", "other": 1}
        [frame] = frames(chunk(choice(delta=delta)))
        assert decoder.feed(frame)[1:] == [
            Opaque("openai", {name: value, "other": 1}, {}, covered=(name,)),
            Thinking("b", 0, own=Own("openai", dict.fromkeys(("reasoning",), "b"))),
            MappedField("custom", "steps", value),
            Text("c"),
        ]


def test_a_content_in_parts_becomes_text_when_every_part_is_read() -> None:
    thought: dict[str, object] = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}
    read = parsed(chunk(choice(delta={"content": [thought, {"type": "text", "text": "b"}]})))
    assert read == [Thinking("a"), Text("b")]
    picture = {"content": [thought, {"type": "image_url"}]}
    assert parsed(chunk(choice(delta=picture)))[0] == Opaque("openai", picture, {})


def test_two_texts_under_two_names_are_two_pieces() -> None:
    thoughts = parsed(chunk(choice(delta={"reasoning": "b", "reasoning_content": "a"})))
    assert thoughts == [
        Thinking("a", 0, own=Own("openai", dict.fromkeys(("reasoning_content",), "a"))),
        Thinking("b", 0, own=Own("openai", dict.fromkeys(("reasoning",), "b"))),
    ]


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_reasoning_field_is_no_thinking(empty: object) -> None:
    assert parsed(chunk(choice(delta={"reasoning": empty}))) == [
        Opaque("openai", {"reasoning": empty}, {})
    ]


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_name_of_thinking_does_not_hide_the_next(empty: object) -> None:
    sent = {"reasoning_content": empty, "reasoning": "deep"}
    thoughts = [event for event in parsed(chunk(choice(delta=sent))) if isinstance(event, Thinking)]
    assert thoughts == [Thinking("deep", own=Own("openai", {"reasoning": "deep"}))]


def test_unknown_fields_ride_along_beside_what_is_read() -> None:
    odd = choice(delta={"content": "a", "audio": {"id": 1}}, logprobs={"content": []})
    assert parsed(chunk(odd)) == [
        Opaque("openai", {"audio": {"id": 1}}, {"logprobs": {"content": []}}),
        Text("a"),
    ]


FAILURES = ROWS["failures"]


@pytest.mark.parametrize(("body", "message"), FAILURES.values(), ids=FAILURES)
def test_an_error_in_the_stream_is_a_failure_with_the_servers_text(
    body: Json, message: str
) -> None:
    failures = [event for event in parsed(data(body)) if isinstance(event, Failure)]
    assert [(failure.message, failure.own) for failure in failures] == [
        (message, Own("openai", raw=data(body)))
    ]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (data({"error": "out of memory"}), "out of memory"),
        (data({"error": {"code": 500}}), '{"code":500}'),
        (data({"object": "error", "message": "gone"}), "gone"),
        (b'error: {"message": "gone", "code": 500}\n\n', "gone"),
        (b"event: error\ndata: gone\n\n", "gone"),
    ],
)
def test_an_error_in_a_shape_that_clients_do_not_know_is_to_be_written_anew(
    frame: bytes, message: str
) -> None:
    failures = [event for event in parsed(frame) if isinstance(event, Failure)]
    assert [(failure.message, failure.own) for failure in failures] == [(message, None)]


def test_an_error_of_null_is_none() -> None:
    assert parsed(chunk(choice(delta={"content": "a"}), error=None)) == [
        Opaque("openai", {}, {}),
        Text("a"),
    ]


MISSHAPEN = {
    "no JSON": b"{",
    "no object": b"[1]",
    "a number": b"1",
    "choices that are no list": b'{"choices":{"a":1}}',
    "a choice that is no object": b'{"choices":[1]}',
    "a delta that is no object": b'{"choices":[{"delta":"a"}]}',
    "content that is a number": b'{"choices":[{"delta":{"content":5}}]}',
    "an index that is a string": b'{"choices":[{"index":"0","delta":{"content":"a"}}]}',
    "tool calls that are no list": b'{"choices":[{"delta":{"tool_calls":{"a":1}}}]}',
    "a tool call that is no object": b'{"choices":[{"delta":{"tool_calls":[null]}}]}',
    "a function that is no object": b'{"choices":[{"delta":{"tool_calls":[{"function":"f"}]}}]}',
    "deep nesting": b'{"choices":' + b"[" * 200_000,
    "a number of too many digits": b'{"choices":[{"index":' + b"9" * 5000 + b"}]}",
}


@pytest.mark.parametrize("line", MISSHAPEN.values(), ids=MISSHAPEN)
def test_what_is_no_chat_completion_is_lost(line: bytes) -> None:
    raw = b"data: " + line + b"\n\n"
    lost = [OpaqueFrame(Own("openai", raw=raw), lost=True)]
    assert read(raw) == lost
    assert OpenAIDecoder().feed(whole_frame(line)) == [
        OpaqueFrame(Own("openai", raw=line), lost=True)
    ]


@pytest.mark.parametrize("line", [b'{"a":1}', b"{}", b'{"choices":null}', b'{"choices":{}}'])
def test_an_object_without_choices_is_opaque_and_nothing_is_lost(line: bytes) -> None:
    raw = b"data: " + line + b"\n\n"
    assert read(raw) == [OpaqueFrame(Own("openai", raw=raw))]


@pytest.mark.parametrize(
    ("raw", "comment"),
    [(b": ping\n\n", True), (b":\n\n", True), (b"event: x\n\n", False), (b"\n\n", True)],
)
def test_a_frame_without_data_is_opaque_and_a_comment_is_read_as_one(
    raw: bytes, comment: bool
) -> None:
    assert [OpenAIDecoder().feed(frame) for frame in frames(raw)] == [
        [OpaqueFrame(Own("openai", raw=raw), comment)]
    ]


@pytest.mark.parametrize("index", [b"-1", b"16384", b"1.5", b"true"])
def test_a_choice_that_nobody_can_have_requested_is_lost(index: bytes) -> None:
    raw = b'data: {"choices":[{"index":' + index + b',"delta":{"content":"a"}}]}\n\n'
    assert read(raw) == [OpaqueFrame(Own("openai", raw=raw), lost=True)]


def test_a_lone_surrogate_is_text() -> None:
    assert parsed(b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n') == [
        Text("\ud83d")
    ]
