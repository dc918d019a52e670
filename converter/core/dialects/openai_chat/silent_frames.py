"""A filter of the server's frames without data, so that no client's SDK takes one for an event."""

import re

from converter.core.wire.sse import read_frame

_OBJECT = b"data: {"
"""The beginning of nearly every frame that has data."""
_ID = re.compile(rb"(?:^|[\r\n])id:")
"""Pattern of a frame that has an id."""
_FIELD = re.compile(rb"(?:^|[\r\n])(?:data|event|id|retry)\b")
"""Pattern of a frame that has any field, and so is more than comments and blank lines."""
_DROPPED = re.compile(rb"(?:data|event)\b")
"""Fields that a frame without data loses, because they would become part of the next event."""


class SilentFrames:
    """A filter for a stream's frames. A frame without data that a client could take for an event is
    sent without its `data` and `event` lines, and without the blank line at its end, so that its
    other lines become lines of the next event.

    Two kinds of clients need this. OpenAI's Python SDK 3.57 parses an event's data as JSON even if
    the event has no data: after a blank line behind `event`, `retry` or `id`, and, once a stream
    has had an id, after every blank line. The AI SDK and OpenAI's SDK for JavaScript take an empty
    `data` for an event.
    """

    def __init__(self) -> None:
        self._has_ids = False

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes to send for a frame; empty if nothing is left of it."""
        if raw.startswith(_OBJECT) or (read_frame(raw).data or b"").strip():
            self._has_ids = self._has_ids or (b"id:" in raw and bool(_ID.search(raw)))
            return raw
        if not (self._has_ids or _FIELD.search(raw)):
            return raw
        self._has_ids = self._has_ids or bool(_ID.search(raw))
        lines = [line for line in raw.splitlines() if line and not _DROPPED.match(line)]
        return b"".join(line + b"\n" for line in lines)
