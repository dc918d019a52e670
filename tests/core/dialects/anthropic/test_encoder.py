"""Frames and whole messages for Anthropic clients."""

import pytest

from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.wire.partial_json import WRAPPED
from tests.support.frames_of import CONTEXT, Json
from tests.support.messages_of import HEAD, SIGNATURE, complete, folded, streamed, whole
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

EVENTS: list[Event] = [
    Thinking("Six."),
    Text("It is "),
    Text("42."),
    ToolCall(0, "a", "f", '{"x": [1]}'),
]


def fold(*events: dict[str, object]) -> dict[str, object]:
    encoder = AnthropicEncoder(CONTEXT, whole=True)
    for event in events:
        encoder._add_to_whole_reply(event)
    return encoder._result


def test_the_events_of_a_stream_make_its_message() -> None:
    message = fold(*complete([*EVENTS, Finish("tool_calls")]))
    assert message["content"] == [
        {"type": "thinking", "thinking": "Six.", "signature": SIGNATURE},
        {"type": "text", "text": "It is 42."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1]}},
    ]
    assert message["stop_reason"] == "tool_use"


def test_it_is_what_a_client_makes_of_the_stream() -> None:
    assert fold(*complete([Text("a"), Finish("stop")])) == folded(
        streamed([HEAD, Text("a"), Finish("stop")])
    )


def test_a_block_of_the_stream_is_not_changed_by_what_is_added() -> None:
    events = complete([Text("a"), Finish("stop")])
    fold(*events)
    assert events[1]["content_block"] == {"type": "text", "text": ""}


@pytest.mark.parametrize(
    ("partial", "held"),
    [
        ('{"x": 1', {"x": 1}),
        ('{"x": 1e999}', {"x": "1e999"}),
        ('{"x": nul}', {WRAPPED: '{"x": nul}'}),
    ],
)
def test_an_input_that_is_cut_off_or_wrong_is_what_can_be_held(partial: str, held: object) -> None:
    delta = {"type": "input_json_delta", "partial_json": partial}
    message = fold(
        {"type": "message_start", "message": {"role": "assistant"}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "input": {}}},
        {"type": "content_block_delta", "delta": delta},
        {"type": "content_block_stop"},
    )
    assert message["content"] == [{"type": "tool_use", "input": held}]


def test_an_error_replaces_the_message() -> None:
    error: dict[str, object] = {"type": "error", "error": {"type": "api_error", "message": "gone"}}
    assert fold({"type": "message_start", "message": {}}, error) == error
    assert whole([Failure("gone")]) == error


PING = OpaqueFrame(Own("anthropic", raw=b": ping\n\n"), comment=True)
CALL = ToolCall(0, "a", "f", '{"x":[1,"é"]}')

REPLIES: dict[str, list[Event]] = ROWS["replies"]


@pytest.mark.parametrize("events", REPLIES.values(), ids=REPLIES)
def test_a_whole_message_is_the_stream_folded(events: list[Event]) -> None:
    assert whole(events) == folded(streamed(events))


def test_a_whole_message_has_all_its_fields() -> None:
    assert whole([HEAD, Thinking("a"), ThinkingEnd(), Text("b"), Finish("stop"), Usage(7, 5)]) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "asked",
        "content": [
            {"type": "thinking", "thinking": "a", "signature": "ours"},
            {"type": "text", "text": "b"},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 2},
        },
    }


def test_a_whole_call_has_an_object_for_input() -> None:
    assert whole([HEAD, CALL, Finish("tool_calls")])["content"] == [
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1, "é"]}}
    ]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_has_not_is_in_no_message(number: str) -> None:
    encoder = AnthropicEncoder(CONTEXT, whole=True)
    encoder.feed([HEAD, ToolCall(0, "a", "f", f'{{"x":{number}}}'), Finish("tool_calls")])
    written = b"".join(encoder.close())
    assert b"NaN" not in written
    assert b"Infinity" not in written


def test_a_delta_without_text_costs_nothing() -> None:
    odd: list[Json] = [
        {"type": "content_block_start", "content_block": {"type": "new", "a": 1}},
        {"type": "content_block_delta", "delta": {"type": "new_delta"}},
        {"type": "content_block_delta", "delta": {"type": "new_delta", "b": "x"}},
        {"type": "content_block_stop"},
    ]
    assert whole([HEAD, *(DialectBlock("anthropic", event) for event in odd), Finish("stop")])[
        "content"
    ] == [{"type": "new", "a": 1}]


def test_deep_arguments_do_not_cost_the_message() -> None:
    deep = '{"x":' + "[" * 30_000 + "]" * 30_000 + "}"
    encoder = AnthropicEncoder(CONTEXT, whole=True)
    encoder.feed([HEAD, Text("important"), ToolCall(0, "a", "f", deep), Finish("tool_calls")])
    assert b"important" in b"".join(encoder.close())


def test_every_frame_names_its_event() -> None:
    frames = streamed(REPLIES["thinking and text"])
    assert all(
        frame.startswith(b"event: " + name + b'\ndata: {"type":"' + name + b'"')
        for frame in frames
        for name in [_name(frame)]
    )
    assert all(frame.endswith(b"}\n\n") and frame.count(b"\n") == 3 for frame in frames)


def _name(frame: bytes) -> bytes:
    return frame.removeprefix(b"event: ").partition(b"\n")[0]


def test_the_stream_ends_with_no_mark_of_the_other_dialect() -> None:
    assert b"[DONE]" not in b"".join(
        streamed([HEAD, Text("a"), Finish("stop"), End(Own("anthropic", raw=b"data: [DONE]\n\n"))])
    )


def test_comments_pass_at_once_and_wherever_they_come() -> None:
    encoder = AnthropicEncoder(CONTEXT)
    assert encoder.feed([PING]) == [PING.own.raw]
    encoder.feed([HEAD, Text("a")])
    assert encoder.feed([PING]) == [PING.own.raw]


def test_comments_are_left_out_in_a_whole_message() -> None:
    assert whole([PING, HEAD, PING, Text("a"), Finish("stop")])["content"] == [
        {"type": "text", "text": "a"}
    ]


def test_other_frames_do_not_pass() -> None:
    assert (
        AnthropicEncoder(CONTEXT).feed(
            [OpaqueFrame(Own("anthropic", raw=b"data: {}\n\n"))], b"data: {}\n\n"
        )
        == []
    )


@pytest.mark.parametrize("whole", [False, True])
def test_an_encoder_tells_why_the_client_got_an_error(whole: bool) -> None:
    encoder = AnthropicEncoder(CONTEXT, whole)
    encoder.feed([HEAD, Text("a")])
    assert encoder.failure == ""
    encoder.feed([Failure("gone")])
    assert encoder.failure == "gone"


def test_an_error_instead_of_a_message_with_a_call_has_nothing_to_run() -> None:
    message = whole([HEAD, ToolCall(0, "a", "f", '{"a": "b'), Finish("tool_calls")])
    assert (message["type"], message["content"], message["stop_reason"]) == ("error", [], None)


def test_an_error_instead_of_a_message_has_no_part_of_one() -> None:
    assert whole([HEAD, Text("a"), Failure("gone")]) == {
        "type": "error",
        "error": {"type": "api_error", "message": "gone"},
    }
