"""A streamed reply as `think-addon doctor` hears it: its words, their fields, and their times."""

from dataclasses import dataclass, field

from converter.dialects.reasoning_fields import REASONING_FIELDS, words_of
from converter.wire import json_text
from converter.wire.bounds import BODY_LIMIT
from converter.wire.sse import Frame, FrameDecoder

PARTS = "thinking parts of the content"


@dataclass(slots=True)
class Heard:
    """One reply, as far as it has come. Times are seconds since the request.

    `fields`: the thinking that came under names of its own. `refused`: the server's words when
    it would not answer.
    """

    refused: str = ""
    text: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    first: float | None = None
    _frames: FrameDecoder = field(default_factory=lambda: FrameDecoder(BODY_LIMIT))

    def feed(self, chunk: bytes, at: float) -> None:
        """Take in bytes that came `at` so many seconds."""
        for frame in self._frames.feed(chunk):
            self._take(frame, at)

    def close(self, at: float) -> None:
        """The reply is over."""
        for frame in self._frames.close():
            self._take(frame, at)

    def _take(self, frame: Frame, at: float) -> None:
        value = json_text.read_or_none(frame.data or frame.raw)  # none: `[DONE]`, or a comment
        self.refused = self.refused or error_words(value)
        choices = value.get("choices") if isinstance(value, dict) else None
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._hear(choice, at)

    def _hear(self, choice: dict[str, object], at: float) -> None:
        delta = choice.get("delta", choice.get("message"))
        for name, value in (delta if isinstance(delta, dict) else {}).items():
            if name == "tool_calls":
                self.calls += _names(value)
            elif name == "content" and isinstance(value, list):
                self._hear_parts(value, at)
            elif name == "content" or name in REASONING_FIELDS:
                self._hear_words(name, words_of(value), at)

    def _hear_parts(self, parts: list[object], at: float) -> None:
        for part in _objects(parts):
            kind = "content" if part.get("type") == "text" else PARTS
            self._hear_words(kind, words_of([part]), at)

    def _hear_words(self, name: str, words: str, at: float) -> None:
        if not words:
            return
        self.first = at if self.first is None else self.first
        if name == "content":
            self.text += words
        else:
            self.fields[name] = self.fields.get(name, "") + words


def error_words(value: object) -> str:
    """Return the words of an error answer, nothing for any other value."""
    error = value.get("error", value.get("detail")) if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(message).split()) if message else ""


def _names(calls: object) -> list[str]:
    functions = [call.get("function") for call in _objects(calls)]
    return [str(call["name"]) for call in _objects(functions) if call.get("name")]


def _objects(values: object) -> list[dict[str, object]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
