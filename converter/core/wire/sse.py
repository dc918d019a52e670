"""Bytes to frames and back: server-sent events and lines of JSON, cut wherever the network cut
them.

An event ends with a blank line. Lines end with LF, CRLF or CR; only these, while `str.splitlines`
would also break at U+2028, which models write. The bytes of all frames together are the bytes fed,
so that an unchanged frame can go on as it came.
"""

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from converter.core.wire.beginnings import FIELD, SNIFFED, FirstBytes, beginning_of
from converter.core.wire.bounds import FRAME_LIMIT

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_LONGEST_BLANK_LINE = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of a stream.

    Attributes:
        data: its data lines joined by LF, None without any.
        raw: its bytes, terminator included.
        oversized: a piece of one that is too long to be read.
    """

    raw: bytes
    data: bytes | None
    comment: bool = False
    event: str = ""
    oversized: bool = False

    @property
    def is_body(self) -> bool:
        """Return True if it is a whole body, and nothing is around its data."""
        return self.data == self.raw


@dataclass(frozen=True, slots=True)
class Framing:
    """A form of streams.

    Attributes:
        cutter: makes the object that cuts a stream into frames.
        write: writes a frame from its data and the name of its event.
        begins: a beginning that no whole body has.
        ends: the ends of a frame.
        bare: a frame is its data alone, so that it looks like a whole body.
    """

    content_type: str
    cutter: "Callable[[], FrameDecoder]"
    write: Callable[[bytes, str], bytes]
    begins: re.Pattern[bytes]
    ends: tuple[bytes, ...]
    bare: bool = False

    def is_named(self, content_type: str) -> bool:
        """Return True if a reply is called a stream of this form."""
        return content_type.lower().startswith(self.content_type)


class FrameDecoder:
    """Bytes in, frames out, cut anywhere. `close` gives out a last frame without its blank line.

    `ends`: the ends of a frame, `longest` the most bytes of it, `usual` the one without a carriage
    return; `parse` reads one.
    """

    ends = _BLANK_LINE
    usual = b"\n\n"
    longest = _LONGEST_BLANK_LINE

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._oversized = False

    def held(self) -> int:
        """Return how many bytes wait for the end of their frame."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes."""
        return [*map(self.read, self.cut(chunk)), *self.overflow()]

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of the frames that `chunk` completes, for `read`, each in its turn."""
        come = chunk
        if self._buffer:
            self._buffer += chunk
            end_of_frame = self.ends.search(self._buffer, self._searched)
            come = bytes(self._buffer) if end_of_frame else b""
        begin, raws = 0, list[bytes]()
        for end in self._ends_in(come):
            raws.append(come[begin:end])
            begin = end
        if come:  # else all of it waits on in the buffer
            self._buffer[:] = come[begin:]
        self._searched = max(0, len(self._buffer) - self.longest + 1)
        return raws

    def _ends_in(self, come: bytes) -> Iterator[int]:
        """Return where the frames end. The usual end is looked for in a third of the time."""
        end = self._searched
        if b"\r" in come:
            yield from (match.end() for match in self.ends.finditer(come, end))
            return
        usual, length = self.usual, len(self.usual)
        while (end := come.find(usual, end) + length) >= length:
            yield end

    def read(self, raw: bytes) -> Frame:
        """Return the frame that was cut."""
        oversized, self._oversized = self._oversized or len(raw) > self._limit, False
        return Frame(raw, None, oversized=True) if oversized else self.parse(raw)

    def parse(self, raw: bytes) -> Frame:
        """Return the frame that these bytes are."""
        return read_frame(raw)

    def overflow(self) -> list[Frame]:
        """Return bytes beyond the limit, as a piece that cannot be read."""
        if len(self._buffer) <= self._limit:
            return []
        # the beginning of an end may be among the last bytes
        cut = len(self._buffer) - self.longest + 1
        piece = bytes(self._buffer[:cut])
        del self._buffer[:cut]
        self._searched = 0
        self._oversized = True
        return [Frame(piece, None, oversized=True)]

    def close(self) -> list[Frame]:
        """Return the rest, as a frame, because a server that dies cuts its last one short."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return [self.read(rest)] if rest else []


class MislabelledBody(FrameDecoder):
    """A body that is called an event stream, and may be a whole one: how it begins decides. A whole
    one may be of any length, and its one frame comes at `close`.
    """

    _is_whole: bool | None = None

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the bytes of the frames that `chunk` completes."""
        if self._is_whole is False:
            return super().cut(chunk)
        self._buffer += chunk
        if self._is_whole is None:
            begins = beginning_of(bytes(self._buffer[:SNIFFED]))
            self._is_whole = begins and begins in (FirstBytes.JSON, FirstBytes.PAGE)
            self._limit = sys.maxsize if self._is_whole else self._limit
        return super().cut(b"") if self._is_whole is False else []

    def parse(self, raw: bytes) -> Frame:
        """Return the frame that these bytes are."""
        return Frame(raw, raw) if self._is_whole else read_frame(raw)


class WholeBody(MislabelledBody):
    """A body that is known to be whole."""

    def __init__(self) -> None:
        super().__init__(sys.maxsize)
        self._is_whole = True


def read_frame(raw: bytes) -> Frame:
    """Return the frame with its fields; those that are never needed stay in `raw` only."""
    if raw.startswith(b"data: ") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return Frame(raw, raw[6:-2])  # the usual frame, which may be of megabytes
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
        elif name == b"error":  # llama.cpp, until 2025
            data, event = [value], "error"
    return Frame(raw, b"\n".join(data) if data else None, comment, event)


def write_frame(data: bytes, event: str = "") -> bytes:
    """Write one frame; `data` is one line."""
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
    """Bytes in, lines out, cut anywhere. `close` gives out a last line without its end."""

    ends = re.compile(rb"\n")
    longest = 1
    usual = b"\n"

    def parse(self, raw: bytes) -> Frame:
        """Return the line as a frame; one of blanks has no data."""
        line = raw.strip()
        return Frame(raw, line or None, comment=not line)


NDJSON = Framing(
    "application/x-ndjson",
    LineDecoder,
    lambda data, _event: data + b"\n",
    re.compile(rb"\s*\{[^\n]*\}\r?\n\s*\{"),  # one JSON value has no such place
    (b"\n",),
    bare=True,
)
"""A JSON object on each line."""
