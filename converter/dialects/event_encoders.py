"""Encoders of the dialects whose streams are events with a type: frames of a stream, or one whole
reply, which is the stream, folded, so that the two cannot disagree.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from converter.dialects.block_writer import BlockWriter, Message
from converter.dialects.dialect import Encoder
from converter.model.events import Event, OpaqueFrame
from converter.wire import json_text
from converter.wire.sse import write_frame


class _EventEncoder(Encoder):
    def __init__(self, events: BlockWriter) -> None:
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
    """Events in, one reply out, at `close`, as a client puts it together: a dialect folds the
    stream's events into `message`.
    """

    message: Message

    @abstractmethod
    def fold(self, event: Message) -> None:
        """Add the event's content."""

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
        return [json_text.write(self.message)]

    def _fold(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.fold(message)
