"""Events to replies of the Messages API: frames of a stream, or one whole message, folded as the
client's own SDK folds a stream.
"""

import json
import math

from converter.dialects.anthropic.message_events import MessageEvents
from converter.dialects.anthropic.threads import Thread
from converter.dialects.block_writer import Message
from converter.dialects.dialect import ReplyContext
from converter.dialects.event_encoders import EventStreamEncoder, EventWholeEncoder
from converter.model.events import WordKind
from converter.wire.partial_json import WRAPPED, complete_part, is_open

_NOTHING_TO_RUN: Message = {"content": [], "stop_reason": None}
"""In an error in place of a message with calls, for who reads the content and not the type."""


class FoldedMessage:
    """Events in, one message out. `message` is the one so far; an error takes its place. `thread`
    keeps it, once it is whole.
    """

    def __init__(self, thread: Thread | None = None) -> None:
        self.message: Message = {}
        self._thread = thread
        self._content: list[Message] = []
        self._pieces: dict[str, list[str]] = {}  # of the block's deltas, by their keys

    def feed(self, event: Message) -> None:
        """Add the event's content."""
        self._add(event)
        if self._thread and event["type"] == "message_stop":
            self._thread.keep(self.message)

    def _add(self, event: Message) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self.message = message | {"content": self._content}
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._content.append({**block})
            case {"type": "content_block_delta", "delta": dict(delta)}:
                for name, piece in delta.items():
                    self._pieces.setdefault(name, []).append(str(piece))
            case {"type": "content_block_stop"}:
                self._content[-1] |= _filled(self._content[-1], self._pieces)
                self._pieces.clear()
            case {"type": "message_delta", "delta": dict(delta), "usage": usage}:
                self.message |= {**delta, "usage": usage}
            case {"type": "error"}:
                called = any(block.get("type") == "tool_use" for block in self._content)
                self.message = event | (_NOTHING_TO_RUN if called else {})


def _filled(block: Message, pieces: dict[str, list[str]]) -> Message:
    """Return the words of the deltas; a block that has no such string at its start takes none."""
    words: Message = {name: "".join(said) for name, said in pieces.items() if block.get(name) == ""}
    if "partial_json" in pieces:
        words["input"] = _input("".join(pieces["partial_json"]))
    return words


def _input(written: str) -> object:
    """Return a call's input. Of one that was cut off it is what is complete, as the SDKs read a
    stream. What JSON can write and Python cannot hold (a number without end, a thousand nestings)
    is a text.
    """
    try:
        return json.loads(
            complete_part(written) if is_open(written) else written,
            parse_float=lambda number: float(number) if math.isfinite(float(number)) else number,
        )
    except (ValueError, RecursionError):
        return {WRAPPED: written}


PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class AnthropicStreamEncoder(EventStreamEncoder):
    """Events in, frames out. A reply larger than its thread's memory is not gathered to its end."""

    def __init__(self, context: ReplyContext) -> None:
        self._message = MessageEvents(context)
        thread = context.own if isinstance(context.own, Thread) else None
        self._kept, self._room = FoldedMessage(thread), thread.memory.limit if thread else -1
        super().__init__(self._message)

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:  # noqa: ARG002
        """Count words that are written like the last ones of this kind; a thread keeps them."""
        for event in self._message.spliced(kind, text):
            self._keep(event)
        return 0

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [PING]

    def framed(self, event: Message) -> bytes:
        """Return the frame of one event; a thread keeps its words."""
        self._keep(event)
        return super().framed(event)

    def _keep(self, event: Message) -> None:
        if self._room < 0:
            return
        delta = event.get("delta")
        self._room -= sum(map(len, map(str, delta.values()))) if isinstance(delta, dict) else 0
        if self._room >= 0:
            self._kept.feed(event)


class AnthropicWholeEncoder(EventWholeEncoder):
    """Events in, one message out, at `close`; an error in its place has no role."""

    def __init__(self, context: ReplyContext) -> None:
        self._whole = FoldedMessage(context.own if isinstance(context.own, Thread) else None)
        super().__init__(MessageEvents(context))

    @property
    def message(self) -> Message:
        """The message so far."""
        return self._whole.message

    def fold(self, event: Message) -> None:
        """Add the event's content; a thread keeps the message."""
        self._whole.feed(event)
