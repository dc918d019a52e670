"""Encoders of the dialects whose streams are events with a type: frames of a stream, or one whole
reply, which is the stream, folded, so that the two cannot disagree.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from converter.dialects.dialect import Encoder
from converter.model.events import Event, OpaqueFrame
from converter.wire import json_text
from converter.wire.sse import write_frame

type Message = dict[str, object]


class _ReplyEvents(Protocol):
    """The machine of a dialect: neutral events in, the stream's own events out, as values."""

    failure: str

    @property
    def notes(self) -> list[str]: ...
    def feed(self, event: Event) -> Iterator[Message]: ...
    def close(self) -> Iterator[Message]: ...


class _FoldedReply(Protocol):
    """The reply that a dialect's events say, as a client puts it together."""

    @property
    def message(self) -> Message: ...
    def feed(self, event: Message) -> None: ...


class _EventEncoder(Encoder):
    def __init__(self, events: _ReplyEvents) -> None:
        self._events = events

    @property
    def notes(self) -> list[str]:
        return self._events.notes

    @property
    def failure(self) -> str:
        return self._events.failure

    def ping(self) -> list[bytes]:
        return []  # a whole body has no place for it


class EventStreamEncoder(_EventEncoder):
    """Events in, frames out."""

    def feed(
        self,
        events: Sequence[Event],
        raw: bytes | None = None,  # noqa: ARG002
    ) -> list[bytes]:
        """Return the frames; `raw` is not of this dialect. A comment is a server's ping."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, OpaqueFrame) and event.comment:
                out += self.commented(event.own.raw)
            out += map(self.framed, self._events.feed(event))
        return out

    def framed(self, event: Message) -> bytes:
        """Return the frame of one event."""
        return write_frame(json_text.write(event), str(event["type"]))

    def commented(self, raw: bytes) -> list[bytes]:
        """Return a comment's frames."""
        return [raw.rstrip(b"\r\n") + b"\n\n"]

    def close(self) -> list[bytes]:
        """End the stream, or say in it why it has no end."""
        return list(map(self.framed, self._events.close()))


class EventWholeEncoder(_EventEncoder):
    """Events in, one reply out, at `close`."""

    def __init__(self, events: _ReplyEvents, folded: _FoldedReply) -> None:
        super().__init__(events)
        self._folded = folded

    def feed(
        self,
        events: Sequence[Event],
        raw: bytes | None = None,  # noqa: ARG002
    ) -> list[bytes]:
        """Return nothing yet."""
        for event in events:
            self._fold(self._events.feed(event))
        return []

    def close(self) -> list[bytes]:
        """Return the reply."""
        self._fold(self._events.close())
        return [json_text.write(self._folded.message)]

    def _fold(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._folded.feed(message)
