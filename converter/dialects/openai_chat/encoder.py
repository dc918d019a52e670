"""Events to replies of chat completions: frames of a stream, or one whole body."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from converter.dialects.openai_chat.chunks import Body, Chunker
from converter.model.events import Event
from converter.wire import json_text
from converter.wire.json_text import as_object
from converter.wire.sse import write_frame

_CHUNK, _WHOLE = "chat.completion.chunk", "chat.completion"

PING = b": ping\n\n"


class OpenAIEncoder(Chunker):
    """Events in, frames out: none, one or more for one frame of the server's; or one body, at
    `close`: the frames of a stream, folded; an error in its place when the reply failed. `fields`:
    the names under which a client gets thinking.
    """

    def __init__(self, fields: Sequence[str], whole: bool = False) -> None:
        kind = (_WHOLE, b"") if whole else (_CHUNK, write_frame(b"[DONE]"))
        super().__init__(fields, *kind)
        self._whole = whole
        self._raw: list[bytes] = []
        self._body: Body = {}
        self._choices: dict[int, tuple[_Pieces, _Pieces]] = {}
        self._error: Body = {}

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames. `raw`: the server's frame, when `events` are just its own."""
        made = [each for each in self.frames(events, raw) if each]
        if not self._whole:
            return [
                each if isinstance(each, bytes) else write_frame(json_text.write(each))
                for each in made
            ]
        for each in made:
            if isinstance(each, bytes):
                self._raw.append(each)
            elif "choices" in each:
                self._fold(each)
            else:
                self._error, self.failure = each, str(as_object(each["error"])["message"])
        return []

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [] if self._whole else [PING]

    def close(self) -> list[bytes]:
        """Return the body; as it came when nothing in it was to change or could be read. Of a
        stream nothing: an end that the server left out (`[DONE]`, a finish) is not made up.
        """
        if self._error:
            return [json_text.write(self._error)]
        if not (self._body or self._choices):
            return self._raw
        kind = {"object": _WHOLE} if self._body.get("object") == _CHUNK else {}
        streamed = bool(kind) or self.foreign
        choices = [
            {"message": _message(said, streamed)}
            | {name: _folded(pieces, dict) for name, pieces in beside.items()}
            for _, (said, beside) in sorted(self._choices.items())
        ]
        return [json_text.write(self._body | kind | {"choices": choices})]

    def _fold(self, body: Body) -> None:
        choices = body.pop("choices")
        self._body |= body
        for choice in choices if isinstance(choices, list) else []:
            said, beside = self._choices.setdefault(choice["index"], ({}, {}))
            for name, value in choice.pop("delta").items():
                said.setdefault(name, []).append(value)
            for name, value in choice.items():
                beside.setdefault(name, []).append(value)


type _Pieces = dict[str, list[Any]]
"""The values of each field, in the order of their frames."""


def _message(said: _Pieces, streamed: bool) -> Body:
    return {
        name: _calls(lists, streamed)
        if name == "tool_calls" and (lists := [each for each in pieces if isinstance(each, list)])
        else _folded(pieces, list if name == "role" else str)
        for name, pieces in said.items()
    }


def _folded(pieces: list[Any], kind: type) -> Any:
    """Return the value of a field: lists go on in the next frame, and so does what is of this kind;
    of all else the last one counts. SGLang sends null in each frame.
    """
    said = [value for value in pieces if value is not None]
    last: Any = said[-1] if said else None
    alike: list[Any] = [value for value in said if type(value) is type(last)]
    if isinstance(last, list):
        return list(chain.from_iterable(alike))
    if type(last) is not kind:
        return last
    if kind is str:
        return "".join(alike)
    names = dict.fromkeys(chain.from_iterable(alike))  # such as those of `logprobs`
    return {name: _folded([value.get(name) for value in alike], list) for name in names}


def _calls(lists: list[list[Body]], streamed: bool) -> list[Body]:
    """Return the whole calls. Pieces of one index are one call; an entry without one is whole."""
    calls: dict[object, list[Body]] = {}
    for place, entry in enumerate(chain.from_iterable(lists)):
        calls.setdefault(entry.get("index", f"whole {place}"), []).append(entry)
    return [_call(pieces, streamed) for pieces in calls.values()]


def _call(pieces: list[Body], streamed: bool) -> Body:
    """Return a call; that of a stream without the index of its pieces."""
    functions = [as_object(piece.get("function")) for piece in pieces]
    words = [said for each in functions if isinstance(said := each.get("arguments"), str)]
    call = pieces[0] | ({"function": functions[0] | {"arguments": "".join(words)}} if words else {})
    return {name: value for name, value in call.items() if name != "index" or not streamed}
