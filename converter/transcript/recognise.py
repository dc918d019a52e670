"""What a reply is, told by its bytes: its dialect, and whether it is a stream. Its content type
helps where they do not say.
"""

import re

from converter.dialects.table import Dialect, Form, recognise
from converter.wire import json_text
from converter.wire.sse import Frame

EVENT_STREAM = "text/event-stream"
_STREAM = re.compile(rb"(?:data|event|id|retry)?:")
_LONGEST_NAME = len(b"event:")


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
    return recognise(value_of(frame.data))


def value_of(data: bytes) -> object:
    """Return what the bytes say as JSON, None when they are none."""
    try:
        return json_text.read(data)
    except json_text.UnreadableError:
        return None


def is_request(said: object) -> bool:
    """Tell a request from a reply."""
    return (
        isinstance(said, dict) and isinstance(said.get("messages"), list) and "choices" not in said
    )
