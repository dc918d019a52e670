"""Calls whose input is a free text."""

import json

from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.model.events import ToolCall
from converter.core.wire.sse import read_frame


def arguments(*deltas: dict[str, object], finish: str = "stop") -> str:
    decoder = OpenAIDecoder()
    choices = [
        *({"index": 0, "delta": {"tool_calls": [each]}} for each in deltas),
        {"index": 0, "delta": {}, "finish_reason": finish},
    ]
    frames = [b"data: " + json.dumps({"choices": [each]}).encode() for each in choices]
    events = [event for frame in frames for event in decoder.feed(read_frame(frame + b"\n\n"))]
    return "".join(event.arguments for event in events if isinstance(event, ToolCall))


def test_the_text_is_one_string_of_an_object() -> None:
    begun = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "f", "input": 'a "b'}}
    more = {"index": 0, "custom": {"input": '"\n'}}
    assert json.loads(arguments(begun, more)) == {"input": 'a "b"\n'}


def test_the_next_call_ends_the_one_before() -> None:
    calls = [
        {"index": number, "id": str(number), "custom": {"name": "f", "input": str(number)}}
        for number in range(2)
    ]
    assert arguments(*calls) == '{"input": "0"}{"input": "1"}'


def test_other_calls_stay_as_they_are() -> None:
    assert arguments({"index": 0, "function": {"name": "f", "arguments": "{}"}}) == "{}"
