"""Replies of Ollama's own endpoints, read: `/api/chat`, and `/api/generate`, whose text stands in
`response`.
"""

from collections.abc import Iterator

from converter.core.calls.arguments import arguments_of
from converter.core.dialects.error_words import (
    DialectDecoder,
    as_count,
    as_text,
    id_of,
    list_of,
    object_of,
)
from converter.core.dialects.finish_words import meaning_of
from converter.core.model.events import (
    End,
    Event,
    Finish,
    Own,
    Start,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.wire.sse import Frame

NAME = "ollama"
"""Name of the dialect, on data that only it can write back."""
GENERATED = "response"
"""The field of the text, in replies of `/api/generate`."""
_READ_FIELDS = {"model", "created_at", "message", GENERATED, "thinking", "done", "done_reason"}
"""Fields of the last line that events have; the rest are its counts and times."""


class OllamaDecoder(DialectDecoder):
    """Lines in, events out; a whole reply is one line."""

    name = NAME

    def __init__(self) -> None:
        self._begun = False
        self._calls = 0

    def _read(self, parsed: object, _: Frame) -> Iterator[Event]:
        parsed = object_of(parsed)
        if not self._begun:
            self._begun = True
            generated = Own(NAME, {GENERATED: ""}) if GENERATED in parsed else None
            yield Start("", str(parsed.get("model") or ""), generated)
        message = object_of(parsed.get("message") or {})
        if thinking := as_text(parsed.get("thinking") or message.get("thinking")):
            yield Thinking(thinking)
        if text := as_text(parsed.get(GENERATED) or message.get("content")):
            yield Text(text)
        for entry in list_of(message.get("tool_calls")):
            yield self._call(entry)
        if parsed.get("done"):
            yield from self._end(parsed)

    def _call(self, entry: object) -> ToolCall:
        """Return a call, which is whole; their indices may all be 0, so they are counted here."""
        call = object_of(entry)
        function = object_of(call.get("function"))
        arguments, is_text = arguments_of(function)
        self._calls += 1
        name = as_text(function.get("name"))
        number, id_ = self._calls - 1, id_of(call.get("id"))
        return ToolCall(number, id_, name, arguments or "{}", ends=True, misshapen=is_text)

    def _end(self, parsed: dict[str, object]) -> Iterator[Event]:
        word = as_text(parsed.get("done_reason")).strip() or "stop"
        called = self._calls and meaning_of(word) == "stop"
        yield Finish("tool_calls" if called else meaning_of(word), server_word=word)
        counts = (as_count(parsed, name) for name in ("prompt_eval_count", "eval_count"))
        prompt, output = counts
        measured = {name: value for name, value in parsed.items() if name not in _READ_FIELDS}
        if prompt is not None or output is not None:
            yield Usage(prompt or 0, output or 0, own=Own(NAME, measured))
        yield End()
