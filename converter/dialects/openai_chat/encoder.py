"""Events to replies of chat completions: frames of a stream, or one whole body."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

from converter.dialects.dialect import Encoder
from converter.dialects.openai_chat.chunks import Body, Chunker
from converter.dialects.openai_chat.errors import error_body
from converter.model.events import Event, Failure
from converter.wire import json_text
from converter.wire.sse import write_frame

_CHUNK, _WHOLE = "chat.completion.chunk", "chat.completion"

PING = b": ping\n\n"


class OpenAIStreamEncoder(Encoder):
    """Events in, frames out: none, one or more for one frame of the server's. `fields`: the names
    under which a client gets thinking.
    """

    failure = ""

    def __init__(self, fields: Sequence[str]) -> None:
        self._chunker = Chunker(fields, _CHUNK, write_frame(b"[DONE]"))

    @property
    def notes(self) -> list[str]:
        """The notes on omissions, a line each."""
        return self._chunker.notes

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames. `raw`: the server's frame, when `events` are just its own."""
        return [frame for made in self._chunker.feed(events, raw) if (frame := _frame(made))]

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [PING]

    def close(self) -> list[bytes]:
        """Return nothing: an end that the server left out (`[DONE]`, a finish) is not made up."""
        return []


def _frame(made: Body | bytes | Failure) -> bytes:
    if isinstance(made, bytes):
        return made
    return write_frame(_failed(made) if isinstance(made, Failure) else json_text.write(made))


def _failed(event: Failure) -> bytes:
    return json_text.write(error_body(event.message, event.kind, event.status))


class OpenAIWholeEncoder(Encoder):
    """Events in, one body out, at `close`: the frames of a stream, folded; an error in its place
    when the reply failed.
    """

    failure = ""

    def __init__(self, fields: Sequence[str]) -> None:
        self._chunker = Chunker(fields, _WHOLE)
        self._raw: list[bytes] = []
        self._body: Body | None = None
        self._choices: dict[int, dict[str, Any]] = {}
        self._failed: Failure | None = None

    @property
    def notes(self) -> list[str]:
        """The notes on omissions, a line each."""
        return self._chunker.notes

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return nothing yet."""
        for made in self._chunker.feed(events, raw):
            if isinstance(made, Failure):
                self._failed, self.failure = made, made.message
            elif not isinstance(made, bytes):
                self._fold(made)
            elif made:
                self._raw.append(made)
        return []

    def close(self) -> list[bytes]:
        """Return the body; as it came when nothing in it was to change or could be read."""
        if self._failed:
            return [_failed(self._failed)]
        if self._body is None:
            return self._raw
        kind = {"object": _WHOLE} if self._body.get("object") == _CHUNK else {}
        streamed = bool(kind) or self._chunker.foreign
        choices = [
            choice | {"message": _said(choice["message"], streamed)}
            for _, choice in sorted(self._choices.items())
        ]
        return [json_text.write(self._body | kind | {"choices": choices})]

    def _fold(self, body: Body) -> None:
        choices = body.pop("choices")
        self._body = (self._body or {}) | body
        for choice in choices if isinstance(choices, list) else []:
            delta = choice.pop("delta")
            whole = self._choices.setdefault(choice["index"], {"message": {}})
            _fold_beside(whole, choice)
            _fold_delta(whole["message"], delta)


class _Calls:
    """The calls of one message. Pieces of one index are one call; an entry without one is whole."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._arguments: list[list[str]] = []
        self._places: dict[object, int] = {}

    def add(self, entry: dict[str, Any]) -> None:
        """Take one piece; another id at the same index is another call."""
        index = entry.get("index")
        place = self._places.get(index) if index is not None else None
        if place is None or (entry.get("id") or "") not in ("", self._entries[place].get("id", "")):
            place = self._places[index] = len(self._entries)
            self._entries.append(entry)
            self._arguments.append([])
        function = entry.get("function")
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            self._arguments[place].append(function["arguments"])

    def entries(self, streamed: bool) -> list[dict[str, Any]]:
        """Return the whole calls; those of a stream without the index of their pieces."""
        calls = [
            entry | {"function": (entry.get("function") or {}) | {"arguments": "".join(pieces)}}
            if pieces
            else entry
            for entry, pieces in zip(self._entries, self._arguments, strict=True)
        ]
        left_out = ("index",) if streamed else ()
        return [
            {name: value for name, value in call.items() if name not in left_out} for call in calls
        ]


def _fold_beside(whole: dict[str, Any], fields: dict[str, Any], inner: bool = False) -> None:
    """Add the fields beside a delta: lists go on in the next frame, as those in `logprobs` do.
    `inner`: the fields are those of such an object.
    """
    for name, value in fields.items():
        match whole.get(name), value:
            case _, None:
                whole.setdefault(name, None)
            case list(before), list(more):
                before += more
            case _, list(first):
                whole[name] = [*first]  # it grows here
            case before, dict(more) if not inner:
                whole[name] = before if isinstance(before, dict) else {}
                _fold_beside(whole[name], more, inner=True)
            case _:
                whole[name] = value


def _fold_delta(message: dict[str, Any], delta: dict[str, object]) -> None:
    for name, value in delta.items():
        match message.get(name), value:
            case before, list(entries) if name == "tool_calls":
                calls = message[name] = before if isinstance(before, _Calls) else _Calls()
                for entry in entries:
                    calls.add(entry)
            case _ if name == "tool_calls":  # no list of calls: passed over
                message.setdefault(name, value)
            # grows in place: of thousands of thoughts, copying would cost the square
            case StringIO() as before, str(more) if name != "role":
                before.write(more)
            case _, str(first):
                message[name] = StringIO()
                message[name].write(first)
            case _:  # SGLang sends null in each frame
                _fold_beside(message, {name: value}, inner=True)


def _said(message: dict[str, Any], streamed: bool) -> dict[str, Any]:
    return {name: _value(value, streamed) for name, value in message.items()}


def _value(value: object, streamed: bool) -> object:
    if isinstance(value, StringIO):
        return value.getvalue()
    return value.entries(streamed) if isinstance(value, _Calls) else value
