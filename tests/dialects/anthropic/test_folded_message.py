"""A stream's events, folded into one message."""

import pytest

from converter.dialects.anthropic.folded_message import FoldedMessage, Message
from converter.model.events import Event, Failure, Finish, Text, Thinking, ToolCall
from converter.wire.partial_json import WRAPPED
from tests.support.messages_of import HEAD, SIGNATURE, complete, folded, streamed, whole

EVENTS: list[Event] = [
    Thinking("Six."),
    Text("It is "),
    Text("42."),
    ToolCall(0, "a", "f", '{"x": [1]}'),
]


def fold(*events: Message) -> Message:
    machine = FoldedMessage()
    for event in events:
        machine.feed(event)
    return machine.message


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
    ("said", "made"),
    [
        ('{"x": 1', {"x": 1}),
        ('{"x": 1e999}', {"x": "1e999"}),
        ('{"x": nul}', {WRAPPED: '{"x": nul}'}),
    ],
)
def test_an_input_that_is_cut_off_or_wrong_is_what_can_be_held(said: str, made: object) -> None:
    delta = {"type": "input_json_delta", "partial_json": said}
    message = fold(
        {"type": "message_start", "message": {"role": "assistant"}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "input": {}}},
        {"type": "content_block_delta", "delta": delta},
        {"type": "content_block_stop"},
    )
    assert message["content"] == [{"type": "tool_use", "input": made}]


def test_an_error_takes_the_messages_place() -> None:
    error: Message = {"type": "error", "error": {"type": "api_error", "message": "gone"}}
    assert fold({"type": "message_start", "message": {}}, error) == error
    assert whole([Failure("gone")]) == error
