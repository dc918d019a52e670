"""Cuts a stream's bytes into values of the class `Frame` (`FrameDecoder` for server-sent events,
`LineDecoder` for lines of JSON), and writes frames. The bytes may come in chunks that end anywhere.

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
"""The pattern of the bytes that end a server-sent event: the end of its last line, and a blank
line.
"""


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of a stream (a server-sent event or a line of JSON), or a whole body."""

    raw: bytes
    """The bytes of the frame as they came, with the blank line or the line end behind it."""
    data: bytes | None
    """In server-sent events: the values of the `data:` lines, joined by LF; `None` without such a
    line. In lines of JSON: the line without the blanks around it; `None` for a blank line. Of a
    whole body: all its bytes.
    """
    comment: bool = False
    """True if the frame has nothing but comments (lines that begin with `:`) or empty lines, and so
    no data. In lines of JSON: True for a blank line.
    """
    event: str = ""
    """The value of the server-sent event's `event:` line; empty if it has none. `error` for a line
    `error: {...}`, in which llama.cpp sent errors.
    """
    oversized: bool = False
    """True if these are bytes of a frame that is too long to be read. `data` is then `None`."""

    @property
    def is_body(self) -> bool:
        """True if the frame is a whole body, whose bytes are its data. Also True for a stream's
        last line of JSON, if it has no line end.
        """
        return self.data == self.raw


@dataclass(frozen=True, slots=True)
class Framing:
    """A format of streams: how frames are cut, recognised and written. There are two, `SSE` and
    `NDJSON`.
    """

    content_type: str
    """The content type of a stream of this format."""
    cutter: "Callable[[], FrameDecoder]"
    """Makes a new decoder for a stream of this format."""
    write: Callable[[bytes, str], bytes]
    """Returns the bytes of a frame, for its data and the name of its event (empty for none)."""
    begins: re.Pattern[bytes]
    """The pattern of the beginning of a stream of this format. It matches no whole body."""
    ends: tuple[bytes, ...]
    """The bytes with which a frame of this format may end."""
    bare: bool = False
    """True for lines of JSON: a frame has no bytes around its data (as `data:` in server-sent
    events), so that a stream with only one frame looks like a whole body.
    """

    def is_named(self, content_type: str) -> bool:
        """Return True if `content_type`, the value of this header, names this format."""
        return content_type.lower().startswith(self.content_type)


class FrameDecoder:
    """Cuts bytes into server-sent events, and returns each as a `Frame`. A chunk may end anywhere
    in a frame. A last frame without a blank line is returned by `close`.

    `limit`: the most bytes of a frame that is read. A longer one is not held until its end: its
    bytes are returned in pieces, as oversized frames.
    """

    ends = _BLANK_LINE
    """The pattern of the bytes that end a frame."""
    usual = b"\n\n"
    """The bytes that end a frame in a stream whose lines end with LF, as nearly all do."""
    longest = 4
    """The number of bytes of the longest end that a frame may have: CRLF CRLF."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._oversized = False

    def held(self) -> int:
        """Return how many bytes are held, because the end of their frame has not come."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes, and behind them the held bytes of a frame that
        is too long (`overflow`).
        """
        return [*map(self.read, self.cut(chunk)), *self.overflow()]

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of each frame that `chunk` completes. To get such bytes as a `Frame`,
        the caller passes them to `read`, in this order.
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
        # `come` is empty if `_buffer` held bytes and no frame has ended. Then the chunk is already
        # in `_buffer`.
        if come:
            self._buffer[:] = come[begin:]
        self._searched = max(0, len(self._buffer) - self.longest + 1)
        return raws

    def _ends_in(self, come: bytes) -> Iterator[int]:
        """Yield the offsets in `come` (the held bytes and the chunk) at which a frame has ended."""
        # Without a CR, all frames end with the bytes of `usual`: LF LF, or LF in lines of JSON. To
        # find them by `bytes.find` takes a third of the time that the pattern takes.
        end = self._searched
        if b"\r" in come:
            yield from (match.end() for match in self.ends.finditer(come, end))
            return
        usual, length = self.usual, len(self.usual)
        while (end := come.find(usual, end) + length) >= length:
            yield end

    def read(self, raw: bytes) -> Frame:
        """Return the frame for `raw`, the bytes of a frame that `cut` has returned. It is marked as
        oversized if it is longer than the limit, or if `overflow` has already returned its
        beginning.
        """
        oversized, self._oversized = self._oversized or len(raw) > self._limit, False
        return Frame(raw, None, oversized=True) if oversized else self.parse(raw)

    def parse(self, raw: bytes) -> Frame:
        """Return the frame for these bytes. Their number is not compared with the limit."""
        return read_frame(raw)

    def overflow(self) -> list[Frame]:
        """Return the held bytes as one oversized frame if they are more than the limit, so that
        they take no more memory. The last `longest - 1` bytes stay held, because the frame's end
        may begin in them. Return an empty list if the held bytes are not more than the limit.
        """
        if len(self._buffer) <= self._limit:
            return []
        # An end of several bytes (`longest`) may have begun in the last bytes: they stay held.
        cut = len(self._buffer) - self.longest + 1
        piece = bytes(self._buffer[:cut])
        del self._buffer[:cut]
        self._searched = 0
        self._oversized = True
        return [Frame(piece, None, oversized=True)]

    def close(self) -> list[Frame]:
        """Return the held bytes as the last frame: a server that fails does not end its last frame.
        Return an empty list if no bytes are held.
        """
        rest = bytes(self._buffer)
        self._buffer.clear()
        return [self.read(rest)] if rest else []


class MislabelledBody(FrameDecoder):
    """A decoder of a body that should be a stream of server-sent events, but may be a whole body.

    If the body begins like JSON or HTML, it is read as a whole body: it may have any length, and
    `close` returns all of it as one frame. Else it is read as server-sent events.
    """

    _is_whole: bool | None = None
    """True for a whole body, False for a stream; `None` while too few bytes have come to tell."""

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of each frame that `chunk` completes. Return an empty list for a whole
        body, and while it is not certain whether this is one.
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
        """Return the frame for these bytes, which are a whole body or a server-sent event."""
        return Frame(raw, raw) if self._is_whole else read_frame(raw)


class WholeBody(MislabelledBody):
    """A decoder of a whole body: `close` returns the body as one frame."""

    def __init__(self) -> None:
        super().__init__(sys.maxsize)
        self._is_whole = True


def read_frame(raw: bytes) -> Frame:
    """Return the frame for the bytes of a server-sent event. Its lines with `id:` and `retry:` have
    no field in the frame; they are only in `raw`.
    """
    # Nearly every frame is one line of data. It is not split into lines, because it may have
    # megabytes.
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
        elif name == b"error":  # until 2025, llama.cpp sent errors as `error: {...}`
            data, event = [value], "error"
    return Frame(raw, b"\n".join(data) if data else None, comment, event)


def write_frame(data: bytes, event: str = "") -> bytes:
    """Return the bytes of a server-sent event. `data` must be one line. `event`: the name of the
    event; empty for none.
    """
    head = b"event: " + event.encode() + b"\n" if event else b""
    return head + b"data: " + data + b"\n\n"


SSE = Framing(
    "text/event-stream",
    MislabelledBody,
    write_frame,
    FIELD,
    (b"\n\n", b"\n\r\n", b"\r\r"),
)
"""The format of server-sent events: `data: {...}` and a blank line."""


class LineDecoder(FrameDecoder):
    """Cuts bytes into lines of JSON, and returns each as a `Frame`. A chunk may end anywhere in a
    line. A last line without a line end is returned by `close`.
    """

    ends = re.compile(rb"\n")
    """The pattern of a line end."""
    longest = 1
    """The number of bytes of a line end: LF. A CR before it counts as a blank of the line."""
    usual = b"\n"
    """The bytes of a line end."""

    def parse(self, raw: bytes) -> Frame:
        """Return the frame for a line. A blank line becomes a frame that is a `comment`."""
        line = raw.strip()
        return Frame(raw, line or None, comment=not line)


NDJSON = Framing(
    "application/x-ndjson",
    LineDecoder,
    lambda data, _event: data + b"\n",
    # Two objects with a line end between them: in a whole body of JSON, a comma would be there too.
    re.compile(rb"\s*\{[^\n]*\}\r?\n\s*\{"),
    (b"\n",),
    bare=True,
)
"""The format of lines of JSON (NDJSON): an object on each line."""
