"""Read a reply's content from the bytes that a client received, and compare it with the expected.

There is a reader for each dialect, for streams and for whole replies. They run after a measurement,
so that their time is not measured.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tools.bench.replies import MARKS, WHOLE, Message, ReplyName, expected_message

type Json = dict[str, Any]

SENDING_TIME = re.compile(rb"@(\d{10}\.\d{6})")
"""The pattern of the time of sending in a token of a paced reply, such as `@0000012345.500000`."""
_MARK = re.compile("|".join(MARKS))
"""The pattern of a mark, such as `<think>`."""


def join_chunks(body: bytes) -> bytes:
    """Return a body without HTTP's chunked encoding.

    `2\\r\\nab\\r\\n1\\r\\nc\\r\\n0\\r\\n\\r\\n` -> `abc`. Raises ValueError if the encoding is
    invalid.
    """
    pieces, at = list[bytes](), 0
    while True:
        line = body.index(b"\r\n", at)
        size = int(body[at:line].partition(b";")[0], 16)
        if size == 0:
            return b"".join(pieces)
        pieces.append(body[line + 2 : line + 2 + size])
        at = line + 4 + size


def _frames(body: bytes) -> Iterator[Json]:
    """Yield the JSON of each server-sent event of a stream, but not `[DONE]`."""
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


class _Content:
    """The content of a reply, to which its deltas or blocks are added one by one."""

    def __init__(self) -> None:
        self.thinking: list[str] = []
        self.text: list[str] = []
        self.calls: list[tuple[str, list[str]]] = []

    def message(self) -> Message:
        """Return what was added so far. Raises ValueError if a call's arguments are not JSON."""
        calls = tuple(
            (name, json.dumps(json.loads("".join(written)))) for name, written in self.calls
        )
        return Message("".join(self.thinking), "".join(self.text), calls)

    def add_openai(self, delta: Json) -> None:
        """Add the content of a delta of chat completions, or of the message of a whole completion."""
        self.thinking.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        self.text.append(delta.get("content") or "")
        for call in delta.get("tool_calls") or []:
            if call.get("function", {}).get("name"):
                self.calls.append((call["function"]["name"], []))
            self.calls[-1][1].append(call.get("function", {}).get("arguments") or "")

    def add_anthropic(self, piece: Json) -> None:
        """Add the content of a delta of the Messages API, or of a block. A block is complete in a
        whole reply, and only begun in a stream.
        """
        self.thinking.append(piece.get("thinking") or "")
        self.text.append(piece.get("text") or "")
        if piece.get("type") == "tool_use":
            self.calls.append(
                (piece["name"], [json.dumps(piece["input"])] if piece.get("input") else [])
            )
        elif "partial_json" in piece:
            self.calls[-1][1].append(piece["partial_json"])


def _openai_stream(body: bytes) -> Message:
    """Return the content of a stream of chat completions, which must end with `[DONE]`."""
    content = _Content()
    for frame in _frames(body):
        for choice in frame["choices"]:
            content.add_openai(choice["delta"])
    assert body.rstrip().endswith(b"data: [DONE]"), body[-200:]
    return content.message()


def _openai_whole(body: bytes) -> Message:
    """Return the content of a whole chat completion."""
    content = _Content()
    content.add_openai(json.loads(body)["choices"][0]["message"])
    return content.message()


def _anthropic_stream(body: bytes) -> Message:
    """Return the content of a stream of the Messages API, which must end with `message_stop`."""
    content, last = _Content(), ""
    for frame in _frames(body):
        content.add_anthropic(frame.get("content_block") or frame.get("delta") or {})
        last = frame["type"]
    assert last == "message_stop", body[-200:]
    return content.message()


def _anthropic_whole(body: bytes) -> Message:
    """Return the content of a whole reply of the Messages API: a JSON message object."""
    content = _Content()
    for block in json.loads(body)["content"]:
        content.add_anthropic(block)
    return content.message()


def _responses_stream(body: bytes) -> Message:
    """Return the content of a stream of the Responses API.

    Raises AssertionError if its sequence numbers have a gap, or if the joined deltas differ from
    the response in the last event.
    """
    frames = list(_frames(body))
    numbers = [frame["sequence_number"] for frame in frames]
    assert numbers == list(range(len(frames))), numbers
    content, whole = _Content(), _read_response_object(frames[-1]["response"])
    for frame in frames:
        match frame["type"]:
            case "response.reasoning_summary_text.delta":
                content.thinking.append(frame["delta"])
            case "response.output_text.delta":
                content.text.append(frame["delta"])
    assert (whole.thinking, whole.text) == ("".join(content.thinking), "".join(content.text))
    return whole


def _responses_whole(body: bytes) -> Message:
    """Return the content of a whole reply of the Responses API: a JSON response object."""
    return _read_response_object(json.loads(body))


def _read_response_object(response: Json) -> Message:
    """Return the content of a response object of the Responses API; its items are in `output`."""
    content = _Content()
    for item in response["output"]:
        content.thinking += [part["text"] for part in item.get("summary", ())]
        content.text += [part["text"] for part in item.get("content", ())]
        if item["type"] == "function_call":
            content.calls.append((item["name"], [item["arguments"]]))
    return content.message()


def _ollama_stream(body: bytes) -> Message:
    """Return the content of Ollama's lines, of which only the last one is `done`."""
    lines = [json.loads(line) for line in body.splitlines()]
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True], body[-200:]
    return _read_ollama_objects(*lines)


def _ollama_whole(body: bytes) -> Message:
    """Return the content of a whole reply of Ollama."""
    return _read_ollama_objects(json.loads(body))


def _read_ollama_objects(*replies: Json) -> Message:
    """Return the joined content of Ollama's JSON objects, each of which has a `message`."""
    content = _Content()
    for message in (reply["message"] for reply in replies):
        content.thinking.append(message.get("thinking", ""))
        content.text.append(message["content"])
        for call in message.get("tool_calls", ()):
            written = json.dumps(call["function"]["arguments"])
            content.calls.append((call["function"]["name"], [written]))
    return content.message()


READERS: dict[tuple[str, bool], Callable[[bytes], Message]] = {
    ("openai", False): _openai_stream,
    ("openai", True): _openai_whole,
    ("anthropic", False): _anthropic_stream,
    ("anthropic", True): _anthropic_whole,
    ("responses", False): _responses_stream,
    ("responses", True): _responses_whole,
    ("ollama", False): _ollama_stream,
    ("ollama", True): _ollama_whole,
}
"""Dialect, and True for a whole reply or False for a stream -> the function that reads a body."""


def fault_in_reply(name: ReplyName, dialect: str, apart: bool, body: bytes) -> str:
    """Return what is wrong with a reply; an empty text if it is right.

    `name`: the requested reply's; `dialect`: the client's. `apart`: True if thinking must come in
    fields or blocks of its own. False: it may stand in the text, between tags; so thinking and text
    are joined in both replies, and compared without marks and blanks.
    """
    try:
        got = READERS[dialect, name.kind == WHOLE](
            SENDING_TIME.sub(b"@", body) if name.pace else body
        )
    except (AssertionError, ValueError, KeyError, IndexError, TypeError) as error:
        return f"{name} cannot be read: {type(error).__name__}: {error}"
    wanted = expected_message(name)
    if not apart:
        got, wanted = _without_marks(got), _without_marks(wanted)
    return "" if got == wanted else f"{name}: expected {_short(wanted)}, got {_short(got)}"


def _without_marks(message: Message) -> Message:
    """Return a message whose text is the thinking and the text of `message`, joined, without marks
    and blanks. Its own thinking is empty.
    """
    return Message(
        "", "".join(_MARK.sub("", message.thinking + message.text).split()), message.calls
    )


def _short(message: Message) -> str:
    """Return the last 60 characters of thinking and of text, each with the whole length, for the
    message of a fault.
    """
    return f"{message.thinking[-60:]!r} ({len(message.thinking)}), {message.text[-60:]!r} ({len(message.text)})"
