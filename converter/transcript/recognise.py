"""What a reply is, told by its bytes: its dialect, and whether it is a stream. Its content type
helps where they do not say.
"""

import re

from converter.rewriter import Dialect, Form
from converter.wire import json_text
from converter.wire.sse import Frame

EVENT_STREAM = "text/event-stream"
_STREAM = re.compile(rb"(?:data|event|id|retry)?:")
_LONGEST_NAME = len(b"event:")
_ANTHROPIC = frozenset(
    (
        "message",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    )
)
"""Types of the Messages API's replies and events; a ping tells nothing, being of no weight."""


def form_of(beginning: bytes, content_type: str = "", *, last: bool = False) -> Form | None:
    """Tell a stream from a whole reply; None while too little has come. `last`: nothing more will."""
    seen = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _STREAM.match(seen):
        return Form.STREAM
    if seen[:1] in (b"{", b"["):
        return Form.WHOLE
    if len(seen) < _LONGEST_NAME and not last:
        return None
    return Form.STREAM if content_type.lower().startswith(EVENT_STREAM) else Form.WHOLE


def dialect_of(frame: Frame) -> Dialect | None:
    """Tell a dialect by a frame, or by a whole reply as one; None for a frame that could be of
    either.
    """
    if frame.data is None:
        return None
    return dialect_of_value(value_of(frame.data))


def value_of(data: bytes) -> object:
    """Return what the bytes say as JSON, None when they are none."""
    try:
        return json_text.read(data)
    except json_text.UnreadableError:
        return None


def dialect_of_value(said: object) -> Dialect | None:
    """Tell a dialect by what a frame or reply says."""
    if not isinstance(said, dict):
        return None
    if "choices" in said or str(said.get("object")).startswith("chat.completion"):
        return Dialect.OPENAI
    if (
        "error" in said and "type" not in said
    ):  # an error object of either; some servers of Messages leave the type out
        return Dialect.OPENAI
    kind = said.get("type")
    return Dialect.ANTHROPIC if isinstance(kind, str) and kind in _ANTHROPIC else None


def is_request(said: object) -> bool:
    """Tell a request from a reply."""
    return (
        isinstance(said, dict) and isinstance(said.get("messages"), list) and "choices" not in said
    )
