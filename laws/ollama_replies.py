"""Read replies of Ollama's API plainly (`OllamaParser`), write them as a message of the Messages
API (`as_message`) or in their other form: `fold` makes a body of a stream, `unfold` the opposite.
"""

import json
from collections.abc import Iterator
from typing import Any

from converter.core.dialects.table import Form
from laws.parsed_reply import CALLED, ParsedReply, Piece

type Json = dict[str, Any]
_COUNTS = ("prompt_eval_count", "eval_count")  # the tokens of the prompt and of the reply


class OllamaParser:
    """Parses the lines of a stream, or the one object of a whole reply, into `reply`."""

    def __init__(self) -> None:
        self.reply = ParsedReply()
        self._calls = 0  # how many calls came so far

    def feed(self, line: Json) -> None:
        """Add a line, or a whole reply, to `reply`."""
        choice, message = self.reply.choice(), line.get("message") or line
        self.reply.error = self.reply.error or "error" in line
        if thinking := message.get("thinking"):
            choice.add_thought("thinking", thinking)
        if text := message.get("content") or message.get("response"):
            choice.pieces.append(Piece("text", text))
        for entry in message.get("tool_calls") or ():
            function = entry["function"]
            choice.add_call(self._calls, entry.get("id"), function["name"], function["arguments"])
            self._calls += 1
        if line.get("done"):
            reason = line.get("done_reason") or "stop"
            choice.finish = CALLED[0] if self._calls and reason == "stop" else reason
            self.reply.done = True
            counts = {name: line[name] for name in _COUNTS if name in line}
            named = zip(("input_tokens", "output_tokens"), _COUNTS, strict=True)
            self.reply.usage |= {ours: counts[name] for ours, name in named if name in counts}


def as_data_frames(body: bytes) -> bytes:
    """Return lines of JSON as a stream of `data:` frames."""
    return b"".join(b"data: " + line + b"\n\n" for line in body.splitlines() if line.strip())


def as_lines(stream: bytes) -> bytes:
    """Return a stream of `data:` frames as lines of JSON."""
    frames = (frame.removeprefix(b"data: ") for frame in stream.split(b"\n\n"))
    return b"".join(frame + b"\n" for frame in frames if frame)


def as_message(body: bytes, form: Form) -> Json:
    """Return a reply as a message of the Messages API. All thoughts are one block, and so is all
    text; `in_order` has both as one string in the stream's order, or None for a whole reply. Raises
    AssertionError unless the last line, and no other, is `done` or an error.
    """
    lines = [json.loads(line) for line in (body.splitlines() if form is Form.STREAM else [body])]
    reader = OllamaParser()
    for line in lines:
        reader.feed(line)
    choice = reader.reply.choice()
    message = {
        "type": "message",
        "id": None,
        "model": next((line["model"] for line in lines if "model" in line), None),
        "content": list(_blocks(reader.reply)),
        "stop_reason": "tool_use" if choice.finish in CALLED else _STOPS.get(str(choice.finish)),
        "stop_sequence": None,
        "usage": reader.reply.usage,
        "in_order": choice.joined("thinking", "text") if form is Form.STREAM else None,
    }
    failed = [line["error"] for line in lines if "error" in line]
    error = {"error": {"type": "api_error", "message": failed[0]}} if failed else {}
    if failed and form is Form.WHOLE:
        return error
    assert failed or lines[-1]["done"] is True, "the last line is no end"
    assert not any(line.get("done") or "error" in line for line in lines[:-1]), "two ends"
    return {**message, **error}


_STOPS = {"stop": "end_turn", "length": "max_tokens"}  # finish -> `stop_reason` of a message


def _blocks(reply: ParsedReply) -> Iterator[Json]:
    """Yield a reply's thinking, text and calls as blocks of the Messages API."""
    choice = reply.choice()
    for kind in ("thinking", "text"):
        if text := choice.joined(kind):
            yield {"type": kind, kind: text}
    for call in choice.calls.values():
        arguments = json.loads(call["arguments"] or "{}")
        yield {"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments}


def fold(values: list[Json]) -> Json:
    """Return the one object that the server would send in place of these lines of a stream."""
    whole, joined = dict(values[-1]), dict[str, Any]()
    key = "message" if "message" in whole else ""
    for value in values:
        for name, piece in (value.get(key) or value).items():
            if name in ("content", "response", "thinking"):
                joined[name] = joined.get(name, "") + piece
            elif name == "tool_calls":
                joined[name] = joined.get(name, []) + piece
    return {**whole, "message": {"role": "assistant", **joined}} if key else {**whole, **joined}


def unfold(value: Json, cut: Any) -> Iterator[Json]:
    """Yield a whole reply as the lines of a stream. `cut` cuts a text into pieces, one a line."""
    message = value.get("message") or {}
    head: Json = {name: value[name] for name in ("model", "created_at") if name in value}
    for name in ("thinking", "content"):
        for piece in cut(message.get(name) or ""):
            fields = {"role": "assistant", "content": "", name: piece}
            yield {**head, "message": fields, "done": False}
    for entry in message.get("tool_calls") or ():
        fields = {"role": "assistant", "content": "", "tool_calls": [entry]}
        yield {**head, "message": fields, "done": False}
    yield {**value, "message": {"role": "assistant", "content": ""}}
