"""`SilentFrames` shortens the frames of chat completions that have no data, so that clients do not
take them for events and fail.
"""

import re

from converter.core.wire.sse import read_frame

_DATA_BEGINNING = b"data: {"
"""The beginning of nearly every frame with data. Such a frame is passed on without being parsed."""
_HAS_ID = re.compile(rb"(?:^|[\r\n])id:")
"""Pattern of a frame that has an id."""
_HAS_FIELD = re.compile(rb"(?:^|[\r\n])(?:data|event|id|retry)\b")
"""Pattern of a frame that has any field, and so is more than comments and blank lines."""
_DROPPED_LINE = re.compile(rb"(?:data|event)\b")
"""Pattern of the lines that a frame without data loses, because they would change the next event.
"""


class SilentFrames:
    """A filter for a stream's frames. A frame without data that a client could take for an event is
    sent without its `data` and `event` lines, and without the blank line at its end, so that its
    other lines become lines of the next event. Any other frame is sent as it came.

    The filter is for clients that parse each event's data as JSON, and fail if there is none:

    - OpenAI's Python SDK 3.57 takes a frame for an event if it has a line `event`, `retry` or `id`;
      once the stream has had an id, it takes every frame for one, even a comment.
    - The AI SDK and OpenAI's SDK for JavaScript take a frame with an empty `data` for an event.
    """

    def __init__(self) -> None:
        self._has_ids = False

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes to send for a frame; empty if nothing is left of it."""
        if raw.startswith(_DATA_BEGINNING) or (read_frame(raw).data or b"").strip():
            self._has_ids = self._has_ids or (b"id:" in raw and bool(_HAS_ID.search(raw)))
            return raw
        if not (self._has_ids or _HAS_FIELD.search(raw)):
            return raw
        self._has_ids = self._has_ids or bool(_HAS_ID.search(raw))
        lines = [line for line in raw.splitlines() if line and not _DROPPED_LINE.match(line)]
        return b"".join(line + b"\n" for line in lines)
