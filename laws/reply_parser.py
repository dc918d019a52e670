"""Parse replies of all dialects plainly: `parse_reply` parses one, `frames` divides a stream. The
parsers of Responses and Ollama are in `response_parser` and `ollama_replies`. The addon's own
decoders share only the code that reads the value of a reasoning field.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from converter.core.dialects.reasoning_fields import REASONING_FIELDS, THINKING, thinking_in
from converter.core.dialects.table import ANTHROPIC, OLLAMA, RESPONSES, Dialect, Form
from converter.core.dialects.wire_form import Mapped
from laws.ollama_replies import OllamaParser, as_data_frames
from laws.parsed_reply import Json, ParsedChoice, ParsedReply, Piece
from laws.response_parser import ResponseParser
from laws.text_completions import as_chat, is_text

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
"""The pattern of the end of a frame: two line ends, which may differ: `\\n\\r\\n`, not `\\r\\n`."""
_CHOICE_FIELDS = ("index", "delta", "message", "finish_reason")  # a choice's fields that are read
_WRONG_SHAPE = (AttributeError, TypeError, KeyError, ValueError)
"""The errors that a reader raises for JSON that has not the shape of its dialect."""
_MESSAGE_FIELDS = ("content", "refusal", "tool_calls", "function_call")  # fields that are read


def frames(body: bytes) -> Iterator[bytes]:
    """Yield the frames of a stream, each with its blank line, which the last one may lack."""
    begin = 0
    for end in _BLANK_LINE.finditer(body):
        yield body[begin : end.end()]
        begin = end.end()
    if body[begin:]:
        yield body[begin:]


def value_of(frame: bytes) -> Json | None:
    """Return the JSON object in a frame's `data:` lines; None if they hold no object."""
    lines = frame.removeprefix(b"\xef\xbb\xbf").splitlines()
    data = b"\n".join(line.removeprefix(b"data:") for line in lines if line.startswith(b"data:"))
    try:
        value = json.loads(data.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_reply(
    body: bytes, form: Form, dialect: Dialect, mapped: Mapping[str, Mapped] | None = None
) -> ParsedReply:
    """Parse a reply of any dialect. `mapped`: the option `think_map`, for chat completions only."""
    body = as_data_frames(body) if dialect is OLLAMA and form is Form.STREAM else body
    reader = _PARSERS[dialect]() if dialect in _PARSERS else _OpenAIParser(mapped or {}, form)
    for frame in frames(body) if form is Form.STREAM else [b"data:" + b" ".join(body.splitlines())]:
        value = value_of(frame)
        if value is not None:
            try:
                reader.feed(value)
            except _WRONG_SHAPE:
                reader.reply.unread += 1
        elif b"[DONE]" in [line.removeprefix(b"data:").strip() for line in frame.splitlines()]:
            reader.reply.done = True
        elif frame.strip() and all(
            line.startswith(b":") for line in frame.split(b"\n") if line.strip()
        ):
            reader.reply.comments += 1
        else:
            reader.reply.unread += bool(frame.strip())
    return reader.reply


class _OpenAIParser:
    """Parses the frames of chat completions, or a whole completion, into `reply`."""

    def __init__(self, mapped: Mapping[str, Mapped], form: Form) -> None:
        self._form = form
        rows = {**REASONING_FIELDS, **mapped}
        self._thinking = [name for name, row in rows.items() if row == THINKING]
        self.reply = ParsedReply()

    def feed(self, body: Json) -> None:
        if is_text(body):
            body = as_chat(body, self._form)
            for choice in body["choices"]:  # the addon adds this role
                self.reply.choice(choice["index"]).others.setdefault("role", ["assistant"])
        self.reply.error = self.reply.error or bool(body.get("error"))
        self.reply.usage = body.get("usage") or self.reply.usage
        for name, value in body.items():
            if name not in ("choices", "usage", "error"):
                values = self.reply.frame_fields.setdefault(name, [])
                values += [] if value in values else [value]
        for position, sent in enumerate(body.get("choices") or []):
            index = sent.get("index")
            choice = self.reply.choice(position if index is None else index)
            self._add_message(choice, sent.get("message") or sent.get("delta") or {})
            choice.finish = sent.get("finish_reason") or choice.finish
            # Ollama 0.5.4 sends null as the finish of a reply that it stopped in a loop
            ended = sent.get("finish_reason", "") is not None
            self.reply.done = self.reply.done or ("message" in sent and ended)
            _add_other_fields(choice, sent, _CHOICE_FIELDS)

    def _add_message(self, choice: ParsedChoice, message: Json) -> None:
        for name in self._thinking:
            if thinking := thinking_in(message.get(name)):
                choice.add_thought(name, thinking)
        self._add_content(choice, message)
        for position, entry in enumerate(message.get("tool_calls") or []):
            function = entry.get("function") or entry.get("custom") or {}
            index = position if entry.get("index") is None else entry["index"]
            arguments = function.get("arguments") or function.get("input")
            choice.add_call(index, entry.get("id"), function.get("name"), arguments)
        if legacy := message.get("function_call"):
            choice.add_call(0, "", legacy.get("name"), legacy.get("arguments"))
        _add_other_fields(choice, message, (*self._thinking, *_MESSAGE_FIELDS))

    def _add_content(self, choice: ParsedChoice, message: Json) -> None:
        content = message.get("content")
        if isinstance(content, str) and content:
            choice.pieces.append(Piece("text", content))
        for part in content if isinstance(content, list) else []:
            if part.get("type") == "thinking":
                choice.add_thought("content", thinking_in([part]))
            else:
                choice.pieces.append(Piece("raw", str(part.get("text") or "")))
        if refusal := message.get("refusal"):
            choice.pieces.append(Piece("raw", refusal))


def _add_other_fields(choice: ParsedChoice, fields: Json, read: Sequence[str]) -> None:
    """Add to `choice.others` the values of `fields` that are not empty and not named in `read`."""
    for name, value in fields.items():
        if name not in read and value not in (None, "", [], {}):
            choice.others.setdefault(name, []).append(value)


class _AnthropicParser:
    """Parses the events of a Messages stream, or a whole message, into `reply`."""

    def __init__(self) -> None:
        self.reply = ParsedReply()

    def feed(self, event: Json) -> None:
        choice, index, kind = self.reply.choice(), event.get("index", 0), event.get("type")
        match kind:
            case "message":
                for number, block in enumerate(event.get("content") or []):
                    self._add_block(choice, number, block)
                self._add_end(choice, event, event.get("usage"))
                self.reply.done = True
            case "message_start":
                self.reply.usage |= event["message"].get("usage") or {}
            case "content_block_start":
                self._add_block(choice, index, event["content_block"])
            case "content_block_delta":
                self._add_delta(choice, index, event["delta"])
            case "message_delta":
                self._add_end(choice, event.get("delta") or {}, event.get("usage"))
            case "message_stop":
                self.reply.done = True
            case _:
                self.reply.error = self.reply.error or "error" in event

    def _add_block(self, choice: ParsedChoice, index: int, block: Json) -> None:
        match block.get("type"):
            case "text" if block.get("text"):
                choice.pieces.append(Piece("text", block["text"]))
            case "thinking" if block.get("thinking"):
                choice.add_thought("thinking", block["thinking"], index)
            case "tool_use":
                choice.add_call(index, block.get("id"), block.get("name"), block.get("input"))

    def _add_delta(self, choice: ParsedChoice, index: int, delta: Json) -> None:
        match delta.get("type"):
            case "text_delta" if delta["text"]:
                choice.pieces.append(Piece("text", delta["text"]))
            case "thinking_delta" if delta["thinking"]:
                choice.add_thought("thinking", delta["thinking"], index)
            case "input_json_delta":
                choice.add_call(index, "", "", delta.get("partial_json"))

    def _add_end(self, choice: ParsedChoice, delta: Json, usage: Json | None) -> None:
        choice.finish = delta.get("stop_reason") or choice.finish
        self.reply.usage |= usage or {}


_PARSERS: Mapping[Dialect, type[_AnthropicParser | ResponseParser | OllamaParser]] = {
    ANTHROPIC: _AnthropicParser,
    RESPONSES: ResponseParser,
    OLLAMA: OllamaParser,
}
