"""Replies of Ollama's own endpoints, read: `/api/chat`, and `/api/generate`, whose words stand in
`response`.
"""

from collections.abc import Iterator

from converter.dialects.dialect import Decoder
from converter.dialects.error_words import (
    MisshapenError,
    as_count,
    as_words,
    server_error,
    unreadable,
)
from converter.model.events import (
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
from converter.wire import json_text
from converter.wire.sse import Frame

NAME = "ollama"
"""Name of the dialect, on data that only it can write back."""
GENERATED = "response"
"""The field of the words, in replies of `/api/generate`."""
type Fields = dict[str, object]
_SAID = {"model", "created_at", "message", GENERATED, "thinking", "done", "done_reason"}
"""Fields of the last line that are told otherwise; the rest are its counts and times."""


class OllamaDecoder(Decoder):
    """Lines in, events out; a whole reply is one line."""

    def __init__(self) -> None:
        self._begun = False
        self._calls = 0

    def feed(self, frame: Frame) -> list[Event]:
        """Return the line's events; one that cannot be read is an `OpaqueFrame`."""
        own = Own(NAME, raw=frame.raw)
        data = (frame.data or b"").strip()
        if not data:
            return [OpaqueFrame(own, frame.comment, lost=frame.oversized)]
        try:
            said = json_text.read_strictly(data)
        except json_text.UnreadableError:
            return unreadable(frame, NAME)
        if error := server_error(said):
            return [Failure(error.message, error.kind, error.status, own)]
        try:
            return list(self._read(said))
        except MisshapenError:
            return [OpaqueFrame(own, lost=True)]

    def _read(self, said: object) -> Iterator[Event]:
        if not isinstance(said, dict):
            raise MisshapenError
        if not self._begun:
            self._begun = True
            own = Own(NAME, {GENERATED: ""}) if GENERATED in said else None
            yield Start("", str(said.get("model") or ""), own)
        message = said.get("message") or {}
        if not isinstance(message, dict):
            raise MisshapenError
        if thinking := as_words(said.get("thinking") or message.get("thinking")):
            yield Thinking(thinking)
        if words := as_words(said.get(GENERATED) or message.get("content")):
            yield Text(words)
        for entry in _list(message.get("tool_calls")):
            yield self._call(entry)
        if said.get("done"):
            yield from self._end(said)

    def _call(self, entry: object) -> ToolCall:
        """Return a call, which is whole; their indices may all be 0, so they are counted here."""
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(function, dict):
            raise MisshapenError
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json_text.write(arguments).decode()
        self._calls += 1
        name = as_words(function.get("name"))
        return ToolCall(self._calls - 1, as_words(entry.get("id")), name, text)

    def _end(self, said: Fields) -> Iterator[Event]:
        word = as_words(said.get("done_reason")) or "stop"
        yield Finish("tool_calls" if self._calls and word == "stop" else word, server_word=word)
        counts = (as_count(said, name) for name in ("prompt_eval_count", "eval_count"))
        given, made = counts
        measured = {name: value for name, value in said.items() if name not in _SAID}
        if given is not None or made is not None:
            yield Usage(given or 0, made or 0, own=Own(NAME, measured))
        yield End()


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
