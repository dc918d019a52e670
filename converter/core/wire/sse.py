"""Bytes to frames and back: server-sent events and lines of JSON. The bytes may come in chunks that
end anywhere.

A server-sent event ends with a blank line. Its lines end with LF, CRLF or CR. `str.splitlines` is
not used, because it also splits at U+2028, which models write. The `raw` bytes of all frames
together are the bytes that came in, so that an unchanged frame can be sent on as it came.
"""

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from converter.core.wire.beginnings import FIELD, SNIFFED, FirstBytes, beginning_of
from converter.core.wire.bounds import FRAME_LIMIT

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
"""The pattern of the line end and blank line that end a server-sent event."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of a stream."""

    raw: bytes
    """The bytes of the frame, with the blank line or line end behind it."""
    data: bytes | None
    """The values of the event's `data:` lines, joined by LF; `None` if the event has no such line.
    In JSON lines: the line without blanks around it; `None` for a blank line.
    """
    comment: bool = False
    """True if the frame consists of comments."""
    event: str = ""
    """The value of the event's `event:` line; empty if the event has none."""
    oversized: bool = False
    """True for bytes of a frame that is too long to be read. Such a frame has no `data`."""

    @property
    def is_body(self) -> bool:
        """True if the frame is a whole body, which has no bytes beside its data."""
        return self.data == self.raw


@dataclass(frozen=True, slots=True)
class Framing:
    """A format of streams: server-sent events or JSON lines."""

    content_type: str
    """The content type of a stream of this format."""
    cutter: "Callable[[], FrameDecoder]"
    """Returns a new decoder for a stream of this format."""
    write: Callable[[bytes, str], bytes]
    """Returns the bytes of a frame from its data and the name of its event."""
    begins: re.Pattern[bytes]
    """The pattern of the beginning of a stream. It does not match any whole body."""
    ends: tuple[bytes, ...]
    """The bytes with which a frame may end."""
    bare: bool = False
    """True if a frame has only its data, so that a stream with one frame looks like a whole body.
    """

    def is_named(self, content_type: str) -> bool:
        """Return True if `content_type`, the value of a header, names this format."""
        return content_type.lower().startswith(self.content_type)


class FrameDecoder:
    """A decoder of bytes into frames. A chunk may end anywhere in a frame. `close` returns the last
    frame if its blank line is missing.
    """

    ends = _BLANK_LINE
    """The pattern of the bytes that end a frame."""
    usual = b"\n\n"
    """The bytes that end a frame if the stream has no CR."""
    longest = 4
    """The most bytes that may end a frame."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._oversized = False

    def held(self) -> int:
        """Return how many bytes are held, because the end of their frame has not come."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes."""
        return [*map(self.read, self.cut(chunk)), *self.overflow()]

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of each frame that `chunk` completes. The caller passes them to `read`,
        frame by frame in this order.
        """
        come = chunk
        if self._buffer:
            self._buffer += chunk
            end_of_frame = self.ends.search(self._buffer, self._searched)
            come = bytes(self._buffer) if end_of_frame else b""
        begin, raws = 0, list[bytes]()
        for end in self._ends_in(come):
            raws.append(come[begin:end])
            begin = end
        if come:  # if no frame has ended, `_buffer` already has the chunk
            self._buffer[:] = come[begin:]
        self._searched = max(0, len(self._buffer) - self.longest + 1)
        return raws

    def _ends_in(self, come: bytes) -> Iterator[int]:
        """Yield the offset behind each end of a frame in `come`, the held bytes and the chunk."""
        # `bytes.find` for the usual end takes a third of the time that the pattern takes.
        end = self._searched
        if b"\r" in come:
            yield from (match.end() for match in self.ends.finditer(come, end))
            return
        usual, length = self.usual, len(self.usual)
        while (end := come.find(usual, end) + length) >= length:
            yield end

    def read(self, raw: bytes) -> Frame:
        """Return the frame for `raw`, which `cut` has returned. The frame is oversized if it is
        longer than the limit, or if `overflow` has returned its beginning.
        """
        oversized, self._oversized = self._oversized or len(raw) > self._limit, False
        return Frame(raw, None, oversized=True) if oversized else self.parse(raw)

    def parse(self, raw: bytes) -> Frame:
        """Return the frame for these bytes, even if they are more than the limit."""
        return read_frame(raw)

    def overflow(self) -> list[Frame]:
        """Return the held bytes as an oversized frame if they are more than the limit; else an
        empty list.
        """
        if len(self._buffer) <= self._limit:
            return []
        # The last bytes stay in the buffer, because the frame's end may begin with them.
        cut = len(self._buffer) - self.longest + 1
        piece = bytes(self._buffer[:cut])
        del self._buffer[:cut]
        self._searched = 0
        self._oversized = True
        return [Frame(piece, None, oversized=True)]

    def close(self) -> list[Frame]:
        """Return the held bytes as a frame, because a server that fails does not end its last
        frame; an empty list if no bytes are held.
        """
        rest = bytes(self._buffer)
        self._buffer.clear()
        return [self.read(rest)] if rest else []


class MislabelledBody(FrameDecoder):
    """A decoder of a body whose content type says that it is an event stream, perhaps wrongly.

    If the body begins like JSON or HTML, it is read as a whole body: it may have any length, and
    `close` returns all of it as one frame. Else it is read as an event stream.
    """

    _is_whole: bool | None = None
    """True for a whole body, False for an event stream; `None` while too few bytes have come."""

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of each frame that `chunk` completes; an empty list for a whole body,
        and while it is not certain whether this is a whole body.
        """
        if self._is_whole is False:
            return super().cut(chunk)
        self._buffer += chunk
        if self._is_whole is None:
            begins = beginning_of(bytes(self._buffer[:SNIFFED]))
            self._is_whole = begins and begins in (FirstBytes.JSON, FirstBytes.PAGE)
            self._limit = sys.maxsize if self._is_whole else self._limit
        return super().cut(b"") if self._is_whole is False else []

    def parse(self, raw: bytes) -> Frame:
        """Return the frame for these bytes, which are a whole body or an event."""
        return Frame(raw, raw) if self._is_whole else read_frame(raw)


class WholeBody(MislabelledBody):
    """A decoder of a whole body: `close` returns the body as one frame."""

    def __init__(self) -> None:
        super().__init__(sys.maxsize)
        self._is_whole = True


def read_frame(raw: bytes) -> Frame:
    """Return the frame for the bytes of a server-sent event. Lines with `id:` and `retry:` are only
    in its `raw`.
    """
    # The usual frame, one line of data. It is not split, because it may have megabytes.
    if raw.startswith(b"data: ") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return Frame(raw, raw[6:-2])
    data: list[bytes] = []
    event = ""
    comment = True
    for line in raw.removeprefix(codecs.BOM_UTF8).splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        comment = comment and not name
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode(errors="replace")
        elif name == b"error":  # llama.cpp until 2025 sent errors in a field of this name
            data, event = [value], "error"
    return Frame(raw, b"\n".join(data) if data else None, comment, event)


def write_frame(data: bytes, event: str = "") -> bytes:
    """Return the bytes of a server-sent event. `data` must be one line."""
    head = b"event: " + event.encode() + b"\n" if event else b""
    return head + b"data: " + data + b"\n\n"


SSE = Framing(
    "text/event-stream",
    MislabelledBody,
    write_frame,
    FIELD,
    (b"\n\n", b"\n\r\n", b"\r\r"),
)
"""Server-sent events."""


class LineDecoder(FrameDecoder):
    """A decoder of bytes into lines. A chunk may end anywhere in a line. `close` returns a last
    line even if its line end is missing.
    """

    ends = re.compile(rb"\n")
    """The pattern of a line end."""
    longest = 1
    """A line end has one byte; a CR before it is a blank of the line."""
    usual = b"\n"
    """The bytes of a line end."""

    def parse(self, raw: bytes) -> Frame:
        """Return the frame for a line. A line that consists of blanks is a comment."""
        line = raw.strip()
        return Frame(raw, line or None, comment=not line)


NDJSON = Framing(
    "application/x-ndjson",
    LineDecoder,
    lambda data, _event: data + b"\n",
    re.compile(rb"\s*\{[^\n]*\}\r?\n\s*\{"),  # JSON has a comma between objects, JSON lines none
    (b"\n",),
    bare=True,
)
"""JSON lines: an object on each line."""
