"""Events to replies of the Messages API: frames of a stream, or one whole message.

A whole message is the stream, folded as the client's own SDK folds it, so that the two cannot
disagree.
"""

from collections.abc import Sequence

from converter.dialects.anthropic.folded_message import FoldedMessage
from converter.dialects.anthropic.message_events import Message, MessageEvents
from converter.dialects.anthropic.threads import Thread, ThreadKeeper
from converter.dialects.dialect import ReplyContext
from converter.events import Event, OpaqueFrame, Text, Thinking
from converter.wire import json_text
from converter.wire.sse import write_frame

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class AnthropicStreamEncoder:
    """Events in, frames out. `signature`: of every thinking block."""

    def __init__(self, signature: str, context: ReplyContext) -> None:
        self._events = MessageEvents(signature, context)
        self._keeper = ThreadKeeper(context.own) if isinstance(context.own, Thread) else None

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended or left out, a line each."""
        return self._events.notes

    @property
    def failure(self) -> str:
        """The reason of an error that the client got, or empty."""
        return self._events.failure

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:  # noqa: ARG002
        """Return the frames. Comments (pings) pass; `raw` is not of this dialect."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, OpaqueFrame) and event.comment:
                out.append(event.own.raw.rstrip(b"\r\n") + b"\n\n")
            out += map(self._frame, self._events.feed(event))
        return out

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Count words that were written like the last ones of this kind."""
        self._events.spliced(kind, characters)

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [PING]

    def close(self) -> list[bytes]:
        """End the stream, or say in it why it has no end."""
        return list(map(self._frame, self._events.close()))

    def _frame(self, event: Message) -> bytes:
        if self._keeper:
            self._keeper.feed(event)
        return write_frame(json_text.write(event), str(event["type"]))


class AnthropicWholeEncoder:
    """Events in, one message out, at `close`; an error in its place has no role."""

    def __init__(self, signature: str, context: ReplyContext) -> None:
        self._events = MessageEvents(signature, context)
        self._folded = FoldedMessage()
        self._thread = context.own if isinstance(context.own, Thread) else None

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended or left out, a line each."""
        return self._events.notes

    @property
    def failure(self) -> str:
        """The reason of an error that the client got, or empty."""
        return self._events.failure

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:  # noqa: ARG002
        """Return nothing yet."""
        for event in events:
            for message in self._events.feed(event):
                self._folded.feed(message)
        return []

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Take note of nothing: no words go around a whole message."""

    def ping(self) -> list[bytes]:
        """Return nothing: a body has no place for it."""
        return []

    def close(self) -> list[bytes]:
        """Return the message."""
        for message in self._events.close():
            self._folded.feed(message)
        if self._thread and not self.failure:
            self._thread.keep(self._folded.message)
        return [json_text.write(self._folded.message)]
