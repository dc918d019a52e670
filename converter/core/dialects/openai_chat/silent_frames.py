"""Frames without data, in a form that no client takes for an event."""

import re

from converter.core.wire.sse import read_frame

_OBJECT = b"data: {"
"""The beginning of nearly every frame, which then has data."""
_ID = re.compile(rb"(?:^|[\r\n])id:")
_FIELD = re.compile(rb"(?:^|[\r\n])(?:data|event|id|retry)\b")
_DROPPED = re.compile(rb"(?:data|event)\b")
"""Fields that another event must not get."""


class SilentFrames:
    """The server's frames as they go on; those without data in a form that no client takes for an
    event: as lines of the next one.

    OpenAI's Python SDK 3.57 ends an event at a blank line behind a name, a time to wait or an id,
    and at every blank line of a stream that has had an id, and reads JSON where there is no data.
    An empty `data` is one to the AI SDK and to OpenAI's SDK for JavaScript as well.
    """

    def __init__(self) -> None:
        self._has_ids = False

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes that go out for a frame; nothing for an empty one."""
        if raw.startswith(_OBJECT) or (read_frame(raw).data or b"").strip():
            self._has_ids = self._has_ids or (b"id:" in raw and bool(_ID.search(raw)))
            return raw
        if not (self._has_ids or _FIELD.search(raw)):
            return raw
        self._has_ids = self._has_ids or bool(_ID.search(raw))
        lines = [line for line in raw.splitlines() if line and not _DROPPED.match(line)]
        return b"".join(line + b"\n" for line in lines)
