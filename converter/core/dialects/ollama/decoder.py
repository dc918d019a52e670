"""Turns an Ollama server's replies into events (`OllamaDecoder`). A reply of `/api/chat` has its
text in the field `message`, a reply of `/api/generate` in the field `response`.
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
"""Name of the dialect. Events have it in their `own`, with data that only its encoder can write."""
GENERATED = "response"
"""The field with the text, in replies of `/api/generate`."""
_READ_FIELDS = {"model", "created_at", "message", GENERATED, "thinking", "done", "done_reason"}
"""Fields of a reply's last line that are read into events. All its other fields are counts and
durations, which `Usage.own` keeps.
"""


class OllamaDecoder(DialectDecoder):
    """Takes lines and returns events; a whole reply is one line."""

    name = NAME
    """Name of the dialect, in the `own` of its events."""

    def __init__(self) -> None:
        self._begun = False
        self._call_count = 0

    def _read(self, parsed: object, _: Frame) -> Iterator[Event]:
        """Yield the events for the JSON of a line, or of a whole reply."""
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
            call = object_of(entry)
            function = object_of(call.get("function"))
            arguments, is_text = arguments_of(function)
            # Calls are numbered in the order in which they come, because Ollama may give each of
            # them the index 0. Ollama sends each call whole.
            index, self._call_count = self._call_count, self._call_count + 1
            name, id_ = as_text(function.get("name")), id_of(call.get("id"))
            yield ToolCall(index, id_, name, arguments or "{}", ends=True, misshapen=is_text)
        if not parsed.get("done"):
            return
        word = as_text(parsed.get("done_reason")).strip() or "stop"
        called = self._call_count and meaning_of(word) == "stop"
        yield Finish("tool_calls" if called else meaning_of(word), server_word=word)
        prompt, output = (as_count(parsed, name) for name in ("prompt_eval_count", "eval_count"))
        measured = {name: value for name, value in parsed.items() if name not in _READ_FIELDS}
        if prompt is not None or output is not None:
            yield Usage(prompt or 0, output or 0, own=Own(NAME, measured))
        yield End()
