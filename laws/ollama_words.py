"""The words of Ollama's API: read plainly from a server's lines, and as the message that a client
has at the end.
"""

import json
from collections.abc import Iterator
from typing import Any

from converter.core.dialects.table import Form
from laws.heard import CALLED, Piece, ServerWords

type Json = dict[str, Any]
_COUNTS = ("prompt_eval_count", "eval_count")


class OllamaWords:
    """Lines in, as values; `words` is what they say."""

    def __init__(self) -> None:
        self.words = ServerWords()
        self._calls = 0

    def feed(self, line: Json) -> None:
        """Read one line, or a whole reply."""
        heard, message = self.words.choice(), line.get("message") or line
        self.words.error = self.words.error or "error" in line
        if thinking := message.get("thinking"):
            heard.add_thought("thinking", thinking)
        if text := message.get("content") or message.get("response"):
            heard.pieces.append(Piece("text", text))
        for entry in message.get("tool_calls") or ():
            function = entry["function"]
            heard.add_call(self._calls, entry.get("id"), function["name"], function["arguments"])
            self._calls += 1
        if line.get("done"):
            reason = line.get("done_reason") or "stop"
            heard.finish = CALLED[0] if self._calls and reason == "stop" else reason
            self.words.done = True
            counts = {name: line[name] for name in _COUNTS if name in line}
            named = zip(("input_tokens", "output_tokens"), _COUNTS, strict=True)
            self.words.usage |= {ours: counts[name] for ours, name in named if name in counts}


def as_events(body: bytes) -> bytes:
    """Return lines of JSON as the frames of an event stream."""
    return b"".join(b"data: " + line + b"\n\n" for line in body.splitlines() if line.strip())


def as_lines(stream: bytes) -> bytes:
    """Return the frames of an event stream as lines of JSON."""
    frames = (frame.removeprefix(b"data: ") for frame in stream.split(b"\n\n"))
    return b"".join(frame + b"\n" for frame in frames if frame)


def as_message(body: bytes, form: Form) -> Json:
    """Return a reply in the words of a message; all thoughts are one block, and so is all text.
    `words`: what lines say, in their order.
    """
    lines = [json.loads(line) for line in (body.splitlines() if form is Form.STREAM else [body])]
    reader = OllamaWords()
    for line in lines:
        reader.feed(line)
    heard = reader.words.choice()
    message = {
        "type": "message",
        "id": None,
        "model": next((line["model"] for line in lines if "model" in line), None),
        "content": list(_blocks(reader.words)),
        "stop_reason": "tool_use" if heard.finish in CALLED else _STOPS.get(str(heard.finish)),
        "stop_sequence": None,
        "usage": reader.words.usage,
        "words": heard.joined("thinking", "text") if form is Form.STREAM else None,
    }
    failed = [line["error"] for line in lines if "error" in line]
    error = {"error": {"type": "api_error", "message": failed[0]}} if failed else {}
    if failed and form is Form.WHOLE:
        return error
    assert failed or lines[-1]["done"] is True, "the last line is no end"
    assert not any(line.get("done") or "error" in line for line in lines[:-1]), "two ends"
    return {**message, **error}


_STOPS = {"stop": "end_turn", "length": "max_tokens"}


def _blocks(words: ServerWords) -> Iterator[Json]:
    heard = words.choice()
    for kind in ("thinking", "text"):
        if said := heard.joined(kind):
            yield {"type": kind, kind: said}
    for call in heard.calls.values():
        given = json.loads(call["arguments"] or "{}")
        yield {"type": "tool_use", "id": call["id"], "name": call["name"], "input": given}


def fold(values: list[Json]) -> Json:
    """Return the lines of a stream as the one object that its server would have sent."""
    whole, said = dict(values[-1]), dict[str, Any]()
    key = "message" if "message" in whole else ""
    for value in values:
        for name, words in (value.get(key) or value).items():
            if name in ("content", "response", "thinking"):
                said[name] = said.get(name, "") + words
            elif name == "tool_calls":
                said[name] = said.get(name, []) + words
    return {**whole, "message": {"role": "assistant", **said}} if key else {**whole, **said}


def unfold(value: Json, cut: Any) -> Iterator[Json]:
    """Yield the lines of a stream that says the same."""
    message = value.get("message") or {}
    head: Json = {name: value[name] for name in ("model", "created_at") if name in value}
    for name in ("thinking", "content"):
        for piece in cut(message.get(name) or ""):
            said = {"role": "assistant", "content": "", name: piece}
            yield {**head, "message": said, "done": False}
    for entry in message.get("tool_calls") or ():
        said = {"role": "assistant", "content": "", "tool_calls": [entry]}
        yield {**head, "message": said, "done": False}
    yield {**value, "message": {"role": "assistant", "content": ""}}
