"""Encoders of the dialects whose streams are events with a type: frames of a stream, or one whole
reply, which is the stream, folded, so that the two cannot disagree.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from converter.dialects.dialect import Encoder
from converter.model.events import Event, Opaque, OpaqueFrame, Usage
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


_SILENT = {
    "role",
    "logprobs",
    "stop_reason",
    "matched_stop",
    "token_ids",
    "annotations",
    "native_finish_reason",
}
"""Fields of chat completions that other dialects say otherwise, or that nobody reads."""


def left_out(event: Opaque) -> set[str]:
    """Return the names of fields that say something and have no place in another dialect.

    The frame's own fields beside its choices (timings, provider, ...) are not among them, because
    they are about the reply, not of it.
    """
    silent = {*_SILENT, *event.told}
    return {
        name
        for name, value in {**event.outer, **event.inner}.items()
        if name not in silent and value
    }


def thinking_tokens(usage: Usage, thought: int, said: int) -> int:
    """Return the server's count, else the share of the characters, because a server that does not
    take the thinking out itself does not count it.
    """
    if usage.thinking or not thought:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thought / (thought + said))
