"""A server's words, read from its bytes in the plainest way: the laws compare them with what a
client gets.

It shares nothing with the decoders but the names under which servers send thinking.
"""

import json
import re
from collections.abc import Iterator, Mapping

from converter.core.dialects.reasoning_fields import REASONING_FIELDS, THINKING, thinking_in
from converter.core.dialects.table import ANTHROPIC, OLLAMA, RESPONSES, Dialect, Form
from converter.core.dialects.wire_form import Mapped
from laws.heard import Heard, Json, Piece, ServerWords
from laws.ollama_words import OllamaWords, as_events
from laws.response_words import ResponseWords
from laws.text_words import as_chat, is_text

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_OUTER = ("index", "delta", "message", "finish_reason")
_WRONG_SHAPE = (AttributeError, TypeError, KeyError, ValueError)
"""Raised by a reader at a shape that the dialect does not have."""
_NOT_WORDS = ("content", "refusal", "tool_calls", "function_call")


def frames(body: bytes) -> Iterator[bytes]:
    """Cut a stream after each blank line; a last frame may lack its own."""
    begin = 0
    for end in _BLANK_LINE.finditer(body):
        yield body[begin : end.end()]
        begin = end.end()
    if body[begin:]:
        yield body[begin:]


def value_of(frame: bytes) -> Json | None:
    """Return the JSON object in a frame's data; None when it has none."""
    lines = [
        line
        for line in frame.removeprefix(b"\xef\xbb\xbf").splitlines()
        if line.startswith(b"data:")
    ]
    try:
        value = json.loads(
            b"\n".join(line.removeprefix(b"data:") for line in lines).decode(errors="replace")
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def listen(
    body: bytes, form: Form, dialect: Dialect, mapped: Mapping[str, Mapped] | None = None
) -> ServerWords:
    """Return what the server said. `mapped`: the user's own rows of fields."""
    body = as_events(body) if dialect is OLLAMA and form is Form.STREAM else body
    reader = _READERS[dialect]() if dialect in _READERS else _OpenAI(mapped or {}, form)
    for frame in frames(body) if form is Form.STREAM else [b"data:" + b" ".join(body.splitlines())]:
        value = value_of(frame)
        if value is not None:
            _feed(reader, value)
        elif b"[DONE]" in [line.removeprefix(b"data:").strip() for line in frame.splitlines()]:
            reader.words.done = True
        elif frame.strip() and all(
            line.startswith(b":") for line in frame.split(b"\n") if line.strip()
        ):
            reader.words.comments += 1
        else:
            reader.words.unread += bool(frame.strip())
    return reader.words


def _feed(reader: "_OpenAI | _Anthropic | ResponseWords | OllamaWords", value: Json) -> None:
    try:
        reader.feed(value)
    except _WRONG_SHAPE:
        reader.words.unread += 1


class _OpenAI:
    def __init__(self, mapped: Mapping[str, Mapped], form: Form) -> None:
        self._form = form
        rows = {**REASONING_FIELDS, **mapped}
        self._thinking = [name for name, row in rows.items() if row == THINKING]
        self.words = ServerWords()

    def feed(self, body: Json) -> None:
        if is_text(body):
            body = as_chat(body, self._form)
            for choice in body["choices"]:  # a text is nobody's, and a chat's reply the assistant's
                self.words.choice(choice["index"]).others.setdefault("role", ["assistant"])
        self.words.error = self.words.error or bool(body.get("error"))
        self.words.usage = body.get("usage") or self.words.usage
        for name, value in body.items():
            if name not in (
                "choices",
                "usage",
                "error",
            ) and value not in self.words.heads.setdefault(name, []):
                self.words.heads[name].append(value)
        for position, choice in enumerate(body.get("choices") or []):
            index = choice.get("index")
            heard = self.words.choice(position if index is None else index)
            self._said(heard, choice.get("message") or choice.get("delta") or {})
            heard.finish = choice.get("finish_reason") or heard.finish
            ended = choice.get("finish_reason", "") is not None  # null: Ollama's JSON in a circle
            self.words.done = self.words.done or ("message" in choice and ended)
            _note(heard, {name: value for name, value in choice.items() if name not in _OUTER})

    def _said(self, heard: Heard, said: Json) -> None:
        for name in self._thinking:
            if words := thinking_in(said.get(name)):
                heard.add_thought(name, words)
        self._content(heard, said)
        for position, entry in enumerate(said.get("tool_calls") or []):
            function = entry.get("function") or entry.get("custom") or {}
            index = position if entry.get("index") is None else entry["index"]
            given = function.get("arguments") or function.get("input")
            heard.add_call(index, entry.get("id"), function.get("name"), given)
        if legacy := said.get("function_call"):
            heard.add_call(0, "", legacy.get("name"), legacy.get("arguments"))
        _note(
            heard,
            {
                name: value
                for name, value in said.items()
                if name not in (*self._thinking, *_NOT_WORDS)
            },
        )

    def _content(self, heard: Heard, said: Json) -> None:
        content = said.get("content")
        if isinstance(content, str) and content:
            heard.pieces.append(Piece("text", content))
        for part in content if isinstance(content, list) else []:
            if part.get("type") == "thinking":
                heard.add_thought("content", thinking_in([part]))
            else:
                heard.pieces.append(Piece("raw", str(part.get("text") or "")))
        if refusal := said.get("refusal"):
            heard.pieces.append(Piece("raw", refusal))


def _note(heard: Heard, others: Json) -> None:
    for name, value in others.items():
        if value not in (None, "", [], {}):
            heard.others.setdefault(name, []).append(value)


class _Anthropic:
    def __init__(self) -> None:
        self.words = ServerWords()

    def feed(self, event: Json) -> None:
        heard, index, kind = self.words.choice(), event.get("index", 0), event.get("type")
        match kind:
            case "message":
                for number, block in enumerate(event.get("content") or []):
                    self._block(heard, number, block)
                self._end(heard, event, event.get("usage"))
                self.words.done = True
            case "message_start":
                self.words.usage |= event["message"].get("usage") or {}
            case "content_block_start":
                self._block(heard, index, event["content_block"])
            case "content_block_delta":
                self._delta(heard, index, event["delta"])
            case "message_delta":
                self._end(heard, event.get("delta") or {}, event.get("usage"))
            case "message_stop":
                self.words.done = True
            case _:
                self.words.error = self.words.error or "error" in event

    def _block(self, heard: Heard, index: int, block: Json) -> None:
        match block.get("type"):
            case "text" if block.get("text"):
                heard.pieces.append(Piece("text", block["text"]))
            case "thinking" if block.get("thinking"):
                heard.add_thought("thinking", block["thinking"], index)
            case "tool_use":
                heard.add_call(index, block.get("id"), block.get("name"), block.get("input"))

    def _delta(self, heard: Heard, index: int, delta: Json) -> None:
        match delta.get("type"):
            case "text_delta" if delta["text"]:
                heard.pieces.append(Piece("text", delta["text"]))
            case "thinking_delta" if delta["thinking"]:
                heard.add_thought("thinking", delta["thinking"], index)
            case "input_json_delta":
                heard.add_call(index, "", "", delta.get("partial_json"))

    def _end(self, heard: Heard, delta: Json, usage: Json | None) -> None:
        heard.finish = delta.get("stop_reason") or heard.finish
        self.words.usage |= usage or {}


_READERS: Mapping[Dialect, type[_Anthropic | ResponseWords | OllamaWords]] = {
    ANTHROPIC: _Anthropic,
    RESPONSES: ResponseWords,
    OLLAMA: OllamaWords,
}
