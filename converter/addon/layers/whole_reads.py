"""`WholeReads`: the reader of HTTP/1 bodies for both lanes. It returns all data of one read of the
socket as one piece, where h11's reader returns one HTTP chunk.
"""

import re
from typing import Any

from converter.addon.bounds import LONGEST_HEAD
from converter.addon.layers.guard import ChunkedReader, h11, unread_line_break

_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
"""Matches the size line of an HTTP chunk as servers usually write it: without an extension."""


class WholeReads:
    """Reads a body by h11's reader, which mitmproxy uses too. h11's reader returns one HTTP chunk
    at each call; this reader returns the data of all chunks in the buffer.

    Attributes:
        after: what follows the data that was returned last: h11's event of the body's end, or its
            error for a fault of the framing; `None`: neither. The next call returns the event or
            raises the error.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._is_chunked = isinstance(reader, ChunkedReader)
        self.after: Any = None

    def __call__(self, buffer: Any) -> Any:
        """Return all data in the buffer as one event of h11's. If the buffer has no data, return
        the event of the body's end, or `None` if the body has not ended. Raises h11's error for bad
        framing.
        """
        if self.after is None and (data := self.take(buffer)):
            return h11.Data(data=data)
        after, self.after = self.after, None
        if isinstance(after, Exception):
            raise after
        return after

    def take(self, buffer: Any) -> bytes:
        """Remove all data of the body from the buffer and return it, perhaps none. Set `after` to
        what follows the data: the body's end, an error, or `None`.
        """
        pieces = self._take_complete_chunks(buffer)
        if pieces and not buffer:  # the usual read has only complete chunks: no work for h11
            return b"".join(pieces)
        try:
            while isinstance(event := self._reader(buffer), h11.Data):
                pieces.append(event.data)
                # h11 has read the rest of a chunk: complete chunks may follow it in the buffer
                if len(pieces) == 1:
                    pieces += self._take_complete_chunks(buffer)
        except h11.ProtocolError as error:
            event = error
        # Without an event, the buffer has only framing (a size line, trailers) that is not complete
        # yet. More of it than `LONGEST_HEAD` bytes could fill the memory: report a fault.
        if event is None and len(buffer) > LONGEST_HEAD:
            event = h11.RemoteProtocolError(f"more than {LONGEST_HEAD} bytes between chunks")
        self.after = h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event
        return b"".join(pieces)

    def _take_complete_chunks(self, buffer: Any) -> list[bytes]:
        """Remove the complete chunks at the buffer's beginning and return their data. Return none
        if the body is not sent in HTTP chunks, or h11's reader is in the middle of a chunk.
        """
        pending = unread_line_break(self._reader) if self._is_chunked else None
        return [] if pending is None else take_complete_chunks(buffer, pending)

    def read_eof(self) -> Any:
        """Handle the end of the connection: return h11's event of the body's end if the body ends
        with the connection; else raise h11's error for a body that was cut off.
        """
        return self._reader.read_eof()


def take_complete_chunks(buffer: Any, pending: bytes = b"") -> list[bytes]:
    """Remove the complete chunks at the beginning of `buffer`, and return their data. For example
    `5⏎hello⏎` gives `hello` (⏎: CR and LF). A chunk with an extension, the last chunk and an
    incomplete chunk are left to h11, which takes 2.7 microseconds for a chunk; this function takes
    0.5.

    `pending`: the bytes that h11 expects at the buffer's beginning: the rest of the line break
    after the chunk that h11 has read (CR and LF, only LF, or nothing). h11 does not notice that
    this function removes chunks, and expects the same bytes afterwards. So these bytes of the last
    chunk's own line break stay in the buffer.
    """
    data, at, pieces = bytes(buffer), len(pending), []
    if not data.startswith(pending):
        return []
    while size := _SIZE_LINE.match(data, at):
        begin = size.end()
        end = begin + int(size[1], 16)
        if end == begin or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[begin:end])
        at = end + 2
    if pieces:
        # h11 still expects the bytes `pending`: those of the last chunk's line break stay in the
        # buffer
        buffer.maybe_extract_at_most(at - len(pending))
    return pieces
