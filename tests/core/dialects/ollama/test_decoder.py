"""Replies of Ollama's own endpoints, read."""

import json

import pytest

from converter.core.dialects.ollama.decoder import OllamaDecoder
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.wire.sse import Frame

HEAD = {"model": "small", "created_at": "2026-01-01T00:00:00Z"}


def _events(*contents: object) -> list[Event]:
    decoder = OllamaDecoder()
    raws = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in contents]
    return [event for raw in raws for event in decoder.feed(Frame(raw + b"\n", raw))]


def _chat(done: bool = False, /, **message: object) -> dict[str, object]:
    return {**HEAD, "message": {"role": "assistant", "content": "", **message}, "done": done}


def test_a_streams_lines_are_thinking_text_calls_and_the_end() -> None:
    call = {"function": {"name": "look", "arguments": {"at": "sky"}}}
    last = _chat(True) | {"done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}
    assert _events(
        _chat(thinking="hm"), _chat(content="So"), _chat(tool_calls=[call, call]), last
    ) == [
        Start("", "small"),
        Thinking("hm"),
        Text("So"),
        ToolCall(0, "", "look", '{"at":"sky"}'),
        ToolCall(1, "", "look", '{"at":"sky"}'),
        Finish("tool_calls"),
        Usage(7, 5, own=Own("ollama", {"prompt_eval_count": 7, "eval_count": 5})),
        End(),
    ]


def test_generated_text_stands_in_response() -> None:
    line = {**HEAD, "response": "So", "thinking": "hm", "done": True, "done_reason": "length"}
    assert _events(line) == [
        Start("", "small", Own("ollama", {"response": ""})),
        Thinking("hm"),
        Text("So"),
        Finish("length"),
        End(),
    ]


def test_an_error_within_a_stream_is_a_failure() -> None:
    (failure,) = _events({"error": "out of memory"})
    assert isinstance(failure, Failure)
    assert failure.message == "out of memory"


@pytest.mark.parametrize(
    "line", [b"no JSON", [], {"message": "hm"}, _chat(content=3), _chat(tool_calls=[3])]
)
def test_a_line_of_another_shape_is_lost(line: object) -> None:
    last = _events(line)[-1]
    assert isinstance(last, OpaqueFrame)
    assert last.lost
