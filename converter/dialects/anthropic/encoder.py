"""Events to replies of the Messages API: frames of a stream, or one whole message.

A whole message is the stream, folded as the client's own SDK folds it, so that the two cannot
disagree.
"""

import json
import math
from collections.abc import Sequence

from converter.dialects.anthropic.message_events import Message, MessageEvents
from converter.dialects.dialect import ReplyContext
from converter.events import Event, OpaqueFrame, Text, Thinking
from converter.wire import json_text
from converter.wire.partial_json import WRAPPED, complete_part, is_open
from converter.wire.sse import write_frame

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class AnthropicStreamEncoder:
    """Events in, frames out. `signature`: of every thinking block."""

    def __init__(self, signature: str, context: ReplyContext) -> None:
        self._events = MessageEvents(signature, context)

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
            out += map(_frame, self._events.feed(event))
        return out

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Count words that were written like the last ones of this kind."""
        self._events.spliced(kind, characters)

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return [PING]

    def close(self) -> list[bytes]:
        """End the stream, or say in it why it has no end."""
        return list(map(_frame, self._events.close()))


def _frame(message: Message) -> bytes:
    return write_frame(json_text.write(message), str(message["type"]))


class AnthropicWholeEncoder:
    """Events in, one message out, at `close`; an error in its place has no role."""

    def __init__(self, signature: str, context: ReplyContext) -> None:
        self._events = MessageEvents(signature, context)
        self._message: Message = {}
        self._content: list[Message] = []
        self._key = ""
        self._pieces: list[str] = []

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
                self._fold(message)
        return []

    def spliced(self, kind: type[Text] | type[Thinking], characters: int) -> None:
        """Take note of nothing: no words go around a whole message."""

    def ping(self) -> list[bytes]:
        """Return nothing: a body has no place for it."""
        return []

    def close(self) -> list[bytes]:
        """Return the message."""
        for message in self._events.close():
            self._fold(message)
        return [json_text.write(self._message)]

    def _fold(self, event: Message) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._message = message | {"content": self._content}
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._content.append(block)
            case {
                "type": "content_block_delta",
                "delta": {"type": "signature_delta", "signature": signature},
            }:
                self._content[-1]["signature"] = signature
            case {"type": "content_block_delta", "delta": dict(delta)}:
                self._key, piece = next(
                    ((name, value) for name, value in delta.items() if name != "type"), ("", "")
                )
                self._pieces.append(str(piece))
            case {"type": "content_block_stop"}:
                _fill(self._content[-1], self._key, "".join(self._pieces))
                self._pieces.clear()
            case {"type": "message_delta", "delta": dict(delta), "usage": usage}:
                self._message |= {**delta, "usage": usage}
            case {"type": "error"}:
                self._message = event


def _fill(block: Message, key: str, said: str) -> None:
    """Add what the deltas say under `key`; a block that has no such string at its start does not
    take them.
    """
    if block.get("type") == "tool_use":
        block["input"] = _input(said)
    elif said and block.get(key) == "":
        block[key] = said


def _input(said: str) -> object:
    """Return a call's input. Of one that was cut off it is what is complete, as the SDKs read a
    stream. What JSON can write and Python cannot hold (a number without end, a thousand nestings)
    is a text.
    """
    try:
        return json.loads(
            complete_part(said) if is_open(said) else said,
            parse_float=lambda number: float(number) if math.isfinite(float(number)) else number,
        )
    except (ValueError, RecursionError):
        return {WRAPPED: said}
