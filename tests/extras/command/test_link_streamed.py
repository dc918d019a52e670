"""The content of a streamed reply."""

import json

import pytest

from converter.extras.command.link import PARTS, StreamedReply
from tests.support import frames

pytestmark = pytest.mark.slow

CALL = [{"index": 0, "function": {"name": "get_weather", "arguments": "{}"}}]


def frame(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def streamed(*chunks: bytes) -> StreamedReply:
    reply = StreamedReply()
    for at, chunk in enumerate(chunks, 1):
        reply.feed(chunk, float(at))
    reply.feed(b"", float(len(chunks)))
    return reply


def test_text_thinking_and_calls_are_kept_apart() -> None:
    reply = streamed(
        frame(role="assistant", content=None),
        frame(reasoning_content="I "),
        frame(reasoning_content="add."),
        frame(content="\n\n"),
        frame(content="84"),
        frame(tool_calls=CALL),
        b"data: [DONE]\n\n",
    )
    assert (reply.text, reply.thinking_by_field, reply.called_tools) == (
        "\n\n84",
        {"reasoning_content": "I add."},
        ["get_weather"],
    )
    assert reply.seconds_to_first_token == 2.0


def test_the_cut_of_the_bytes_does_not_matter() -> None:
    stream = b"".join(frames.stream("<think>a</think>b"))
    assert streamed(*[stream[at : at + 1] for at in range(len(stream))]).text == "<think>a</think>b"


def test_thinking_in_parts_of_the_content_has_a_name_of_its_own() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
        {"type": "text", "text": "84"},
    ]
    reply = streamed(frame(content=parts))
    assert (reply.text, reply.thinking_by_field) == ("84", {PARTS: "why"})


def test_an_error_in_the_stream_is_a_refusal() -> None:
    assert streamed(b'data: {"error": {"message": "too\\nlong"}}\n\n').refusal == "too long"
