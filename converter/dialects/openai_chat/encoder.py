"""Events to replies of chat completions: frames of a stream, or one whole body.

Both write a frame that the rewriter did not change as the very bytes that came, unless thinking is
wanted under another name.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, ClassVar

from converter.dialects.openai_chat.decoder import IN_PARTS, SAME_IN_EVERY_FRAME
from converter.events import (
    Block,
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    OpaqueFrame,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    Vendor,
)
from converter.wire import json_text
from converter.wire.sse import write_frame

JOINT = "\n\n"
"""Between two thoughts that share one field."""
_ORDER = {Opaque: 0, Thinking: 1, Text: 1, ToolCall: 1, Finish: 2, Usage: 3}
"""Within one frame kinds come in this order; what would break it begins another frame."""


def _vendor(head: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in head.items() if name not in SAME_IN_EVERY_FRAME}


type _Sayable = Opaque | Text | Thinking | ToolCall | Finish | Usage


@dataclass(slots=True)
class _Chunk:
    """One frame's body in the making."""

    choice: int | None = None
    last: int = -1
    inner: dict[str, object] = field(default_factory=dict)
    outer: dict[str, object] = field(default_factory=dict)
    calls: list[object] = field(default_factory=list)
    finish: str | None = None
    usage: object = None

    def takes(self, event: _Sayable) -> bool:
        order = _ORDER[type(event)]
        same_choice = isinstance(event, Usage) or self.choice in (None, event.choice)
        return same_choice and (
            order > self.last or (order == self.last and isinstance(event, ToolCall))
        )

    def hollow(self) -> bool:
        said = [*self.inner.values(), *self.outer.values(), self.calls, self.finish, self.usage]
        return all(value is None or value in ("", [], {}) for value in said)

    def body(self, head: Mapping[str, object]) -> dict[str, object]:
        delta = self.inner | {"tool_calls": self.calls} if self.calls else self.inner
        choice = {"index": self.choice, "delta": delta, **self.outer, "finish_reason": self.finish}
        body = {**head, "choices": [] if self.choice is None else [choice]}
        return body if self.usage is None else {**body, "usage": self.usage}


class _Chunker:
    """Events in, bodies of frames out; a frame that goes on as it came is its bytes."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted
        self._head: Mapping[str, object] = {}
        self._after_thought: set[int] = set()
        self._sent: dict[int, set[str]] = {}  # names of thinking that the frame has by itself
        self._added: defaultdict[int, set[str]] = defaultdict(
            set
        )  # names of thinking that the server may only begin to use
        self._news = False  # the head says something that no frame has told yet

    def feed(
        self, events: Sequence[Event], raw: bytes | None
    ) -> Iterator[dict[str, object] | bytes]:
        native = [event for event in events if isinstance(event, Thinking) and event.names]
        self._sent = {}
        for event in native:
            self._sent.setdefault(event.choice, set()).update(event.names)
        if raw is not None and all(self._fields(event) == _as_sent(event) for event in native):
            self._note(events)
            yield raw
        else:
            yield from self._bodies(events)

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Start):
                self._head = event.head
            elif isinstance(event, ThinkingEnd):
                self._after_thought.add(event.choice)

    def _bodies(self, events: Sequence[Event]) -> Iterator[dict[str, object] | bytes]:
        chunk = _Chunk()
        for event in events:
            if isinstance(event, Start):
                self._news = bool(_vendor(event.head)) and _vendor(event.head) != _vendor(
                    self._head
                )
                self._head = event.head
            elif isinstance(event, ThinkingEnd):
                self._after_thought.add(event.choice)
            elif isinstance(event, Block | Vendor):
                pass  # a block has no place in this dialect; a vendor's field rides in `Opaque`
            elif isinstance(event, OpaqueFrame | End | Failure):
                yield from self._finished(chunk)
                chunk = _Chunk()
                if event.raw:
                    yield event.raw
            else:
                if not chunk.takes(event):
                    yield from self._finished(chunk)
                    chunk = _Chunk()
                self._add(chunk, event)
        yield from self._finished(chunk)

    def _finished(self, chunk: _Chunk) -> Iterator[dict[str, object]]:
        if self._news or not chunk.hollow():
            self._news = False
            yield chunk.body(self._head)

    def _add(self, chunk: _Chunk, event: _Sayable) -> None:
        chunk.last = _ORDER[type(event)]
        if isinstance(event, Usage):
            chunk.usage = event.entry
            return
        chunk.choice = event.choice
        match event:
            case Opaque():
                chunk.inner, chunk.outer = dict(event.inner), dict(event.outer)
            case Thinking():
                chunk.inner |= self._fields(event)
                self._after_thought.discard(event.choice)
                self._added[event.choice] |= set(self._missing(event))
            case Text():
                chunk.inner |= {event.field: event.text} if event.field != IN_PARTS else {}
            case ToolCall():
                if event.field == "tool_calls":
                    chunk.calls.append(event.entry or _entry(event))
                else:
                    chunk.inner[event.field] = event.entry
            case Finish():
                chunk.finish = event.reason

    def _fields(self, event: Thinking) -> dict[str, object]:
        """The server's own fields and those it lacks; the names asked for when the thought stood in
        tags.

        A name that was added before gets nothing but what is new, though the server itself say the
        rest under it now.
        """
        if not event.names:
            joint = JOINT if event.choice in self._after_thought else ""
            return dict.fromkeys(self._wanted, joint + event.text)
        added = self._added[event.choice]
        sent = {
            name: event.text if name in added and isinstance(value, str) else value
            for name, value in _as_sent(event).items()
        }
        return sent | dict.fromkeys(self._missing(event), event.text)

    def _missing(self, event: Thinking) -> list[str]:
        return [
            name
            for name in self._wanted
            if event.text and name not in self._sent.get(event.choice, self._wanted)
        ]


def _as_sent(event: Thinking) -> dict[str, object]:
    return (
        dict(event.sent)
        if event.sent
        else {name: event.text for name in event.names if name != IN_PARTS}
    )


def _entry(event: ToolCall) -> dict[str, object]:
    named = {"id": event.id, "type": "function"} if event.id else {}
    function = (
        {"name": event.name, "arguments": event.arguments}
        if event.name
        else {"arguments": event.arguments}
    )
    return {"index": event.index, **named, "function": function}


class OpenAIStreamEncoder:
    """Events in, frames out: none, one or more for one frame of the server's."""

    failure = ""
    notes: ClassVar[list[str]] = []

    def __init__(self, fields: Sequence[str]) -> None:
        self._chunker = _Chunker(fields)

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames. `raw`: the server's frame, when `events` are just what it says."""
        bodies = self._chunker.feed(events, raw)
        return [
            body if isinstance(body, bytes) else write_frame(json_text.write(body))
            for body in bodies
        ]

    def close(self) -> list[bytes]:
        """Return nothing: an end that the server left out (`[DONE]`, a finish) is not made up."""
        return []


class OpenAIWholeEncoder:
    """Events in, one body out, at `close`: the frames of a stream, folded."""

    failure = ""
    notes: ClassVar[list[str]] = []

    def __init__(self, fields: Sequence[str]) -> None:
        self._chunker = _Chunker(fields)
        self._raw: list[bytes] = []
        self._body: dict[str, object] | None = None
        self._choices: dict[int, dict[str, Any]] = {}

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return nothing yet."""
        for body in self._chunker.feed(events, raw):
            if isinstance(body, bytes):
                self._raw.append(body)
            else:
                self._fold(body)
        return []

    def close(self) -> list[bytes]:
        """Return the body; as it came when nothing in it was to change or could be read."""
        if self._body is None:
            return self._raw
        choices = [
            choice | {"message": _said(choice["message"])}
            for _, choice in sorted(self._choices.items())
        ]
        return [json_text.write(self._body | {"choices": choices})]

    def _fold(self, body: dict[str, object]) -> None:
        choices = body.pop("choices")
        self._body = (self._body or {}) | body
        for choice in choices if isinstance(choices, list) else []:
            delta = choice.pop("delta")
            whole = self._choices.setdefault(choice["index"], {"message": {}})
            whole |= {
                name: value
                for name, value in choice.items()
                if value is not None or name not in whole
            }
            _fold_delta(whole["message"], delta)


def _fold_delta(message: dict[str, Any], delta: dict[str, object]) -> None:
    for name, value in delta.items():
        match message.get(name), value:
            case StringIO() as before, str(
                more
            ):  # grows in place: of thousands of thoughts, copying would cost the square
                before.write(more)
            case _, str(first):
                message[name] = StringIO()
                message[name].write(first)
            case list(before), list(more):
                message[name] = before + more
            case _:
                message[name] = value


def _said(message: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.getvalue() if isinstance(value, StringIO) else value
        for name, value in message.items()
    }
