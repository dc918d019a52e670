"""Events to replies of the Messages API: frames of a stream, or one whole message, folded as the
client's own SDK folds a stream.
"""

from converter.dialects.anthropic.folded_message import FoldedMessage
from converter.dialects.anthropic.message_events import MessageEvents
from converter.dialects.anthropic.threads import Thread, ThreadKeeper
from converter.dialects.dialect import ReplyContext
from converter.dialects.event_encoders import EventStreamEncoder, EventWholeEncoder, Message
from converter.model.events import WordKind

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class AnthropicStreamEncoder(EventStreamEncoder):
    """Events in, frames out."""

    def __init__(self, context: ReplyContext) -> None:
        self._message = MessageEvents(context)
        self._keeper = ThreadKeeper(context.own) if isinstance(context.own, Thread) else None
        super().__init__(self._message)

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:  # noqa: ARG002
        """Count words that are written like the last ones of this kind; a thread keeps them."""
        for event in self._message.spliced(kind, text):
            if self._keeper:
                self._keeper.feed(event)
        return 0

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [PING]

    def framed(self, event: Message) -> bytes:
        """Return the frame of one event; a thread keeps its words."""
        if self._keeper:
            self._keeper.feed(event)
        return super().framed(event)


class AnthropicWholeEncoder(EventWholeEncoder):
    """Events in, one message out, at `close`; an error in its place has no role."""

    def __init__(self, context: ReplyContext) -> None:
        self._whole = FoldedMessage()
        self._thread = context.own if isinstance(context.own, Thread) else None
        super().__init__(MessageEvents(context), self._whole)

    def close(self) -> list[bytes]:
        """Return the message; its thread keeps it."""
        out = super().close()
        if self._thread and not self.failure:
            self._thread.keep(self._whole.message)
        return out
