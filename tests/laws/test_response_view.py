"""The reader of Responses streams forgives nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from converter.core.dialects.responses.response_events import ResponsesEncoder
from converter.core.model.events import Event, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.wire.sse import FrameDecoder, write_frame
from laws.response_view import as_message, read_response
from tests.support.judged_calls import judged
from tests.support.responses_of import COUNTED, HEAD, STOP, context_of

pytestmark = pytest.mark.slow

type Json = dict[str, Any]

SAID: list[Event] = [
    HEAD,
    Thinking("why"),
    ThinkingEnd(),
    Text("so"),
    ToolCall(0, "call_1", "f", '{"a":1}'),
    STOP,
    COUNTED,
]


def _events() -> list[Json]:
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    encoder = ResponsesEncoder(context_of(tools=tools))
    body = b"".join([*encoder.feed(judged(SAID)), *encoder.close()])
    return [json.loads(frame.data or b"{}") for frame in FrameDecoder().feed(body)]


def _stream(events: list[Json]) -> bytes:
    return b"".join(write_frame(json.dumps(event).encode(), event["type"]) for event in events)


def test_a_good_stream_is_read_as_its_message() -> None:
    message = as_message(read_response(_stream(_events())))
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][0]["thinking"] == "why"
    assert message["content"][2]["input"] == {"a": 1}
    assert message["stop_reason"] == "tool_use"


def _without_last(events: list[Json]) -> None:
    events.pop()


def _another_delta(events: list[Json]) -> None:
    next(event for event in events if event["type"].endswith(".delta"))["delta"] = "else"


def _without_an_added_item(events: list[Json]) -> None:
    events.remove(next(event for event in events if event["type"].endswith("item.added")))
    for number, event in enumerate(events):
        event["sequence_number"] = number


def _other_items_at_the_end(events: list[Json]) -> None:
    events[-1]["response"]["output"].pop()


FAULTS = [_without_last, _another_delta, _without_an_added_item, _other_items_at_the_end]


@pytest.mark.parametrize("spoil", FAULTS, ids=lambda fault: fault.__name__)
def test_a_spoiled_stream_is_refused(spoil: Callable[[list[Json]], None]) -> None:
    events = _events()
    spoil(events)
    with pytest.raises((AssertionError, KeyError, TypeError)):
        read_response(_stream(events))
