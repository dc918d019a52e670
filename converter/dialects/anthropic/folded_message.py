"""A stream of the Messages API, folded into the message that it says, as clients' SDKs fold it."""

import json
import math

from converter.wire.partial_json import WRAPPED, complete_part, is_open

type Message = dict[str, object]
_NOTHING_TO_RUN: Message = {"content": [], "stop_reason": None}
"""In an error in place of a message with calls, for who reads the content and not the type."""


class FoldedMessage:
    """Events in, one message out. `message` is the one so far; an error takes its place."""

    def __init__(self) -> None:
        self.message: Message = {}
        self._content: list[Message] = []
        self._key = ""
        self._pieces: list[str] = []

    def feed(self, event: Message) -> None:
        """Add the event's content."""
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self.message = message | {"content": self._content}
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._content.append({**block})
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
                self.message |= {**delta, "usage": usage}
            case {"type": "error"}:
                called = any(block.get("type") == "tool_use" for block in self._content)
                self.message = event | (_NOTHING_TO_RUN if called else {})


def _fill(block: Message, key: str, words: str) -> None:
    """Add the deltas' words under `key`; a block that has no such string at its start does not
    take them.
    """
    if block.get("type") == "tool_use":
        block["input"] = _input(words)
    elif words and block.get(key) == "":
        block[key] = words


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
