"""The connection to an HTTP/1 server: one event for each read, and no patience with a bad head."""

import re
from typing import Any

from mitmproxy.http import Request
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.layers.guard import (
    CHUNKS,
    ChunkedReader,
    ErrorCode,
    Http1Client,
    HttpClient,
    HttpEvent,
    ReceiveHttp,
    RequestData,
    RequestHeaders,
    RequestTrailers,
    ResponseProtocolError,
    between_chunks,
    h11,
    hand_events_to,
)

LONGEST_HEAD = 64 * 1024
"""Bytes of a reply's head, of a chunk's and of trailers. h11 reads 16 KiB, nginx and browsers up to
256; mitmproxy reads on for ever.
"""
_INTERIM = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d\b")
"""Such as 100 Continue and 103 Early Hints, but not 101, which is a reply."""
_SWITCHING = re.compile(rb"HTTP/1\.\d 101\b")
_USUAL_SIZE = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
"""A chunk's size as all servers write it, without an extension."""


class WholeReads:
    """A reader of a body that gives all the data there is, where h11's gives one HTTP chunk.

    What follows the data, the end or a fault of the framing, waits in `after` for the next call.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._is_chunked = isinstance(reader, ChunkedReader)
        self.after: Any = None

    def __call__(self, buffer: Any) -> Any:
        """Return all data, else the end, else nothing; raise h11's error for bad framing."""
        if self.after is None and (data := self.take(buffer)):
            return h11.Data(data=data)
        after, self.after = self.after, None
        if isinstance(after, Exception):
            raise after
        return after

    def take(self, buffer: Any) -> bytes:
        """Return all data that is there, which may be none, and note what comes after it."""
        pieces = self._usual(buffer)
        if pieces and not buffer:  # all of a paced reply's reads: nothing is left for h11
            return b"".join(pieces)
        try:
            while isinstance(found := self._reader(buffer), h11.Data):
                pieces.append(found.data)
                if len(pieces) == 1:  # the rest of a chunk that a read had cut
                    pieces += self._usual(buffer)
        except h11.ProtocolError as error:
            found = error
        if found is None and len(buffer) > LONGEST_HEAD:  # no data is left in it
            found = h11.RemoteProtocolError(f"more than {LONGEST_HEAD} bytes between chunks")
        self.after = h11.EndOfMessage() if isinstance(found, h11.EndOfMessage) else found
        return b"".join(pieces)

    def _usual(self, buffer: Any) -> list[bytes]:
        pending = between_chunks(self._reader) if self._is_chunked else None
        return [] if pending is None else usual_chunks(buffer, pending)

    def read_eof(self) -> Any:
        """Return the end if the connection's end is one, else raise h11's error."""
        return self._reader.read_eof()


def usual_chunks(buffer: Any, pending: bytes = b"") -> list[bytes]:
    """Take complete chunks of the usual form out of a buffer; h11 reads all others.

    `pending`: what stands before them and is left there, the end of a chunk that h11 has read. h11
    needs 2.7 microseconds for a chunk, this 0.5.
    """
    data, at, pieces = bytes(buffer), len(pending), []
    if not data.startswith(pending):
        return []
    while size := _USUAL_SIZE.match(data, at):
        begin = size.end()
        end = begin + int(size[1], 16)
        if end == begin or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[begin:end])
        at = end + 2
    if pieces:
        buffer.maybe_extract_at_most(at - len(pending))  # the last break is the pending one now
    return pieces


class ServerConnection(Http1Client):
    """mitmproxy's HTTP/1 client with our reader of bodies, and with limits for a head."""

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        """Send a part of a request; one of HTTP/2 need not name its length, one of HTTP/1 must.
        Trailers stay here: mitmproxy breaks on them, and nobody needs them (RFC 9110, 6.5).
        """
        if isinstance(event, RequestTrailers):
            return
        if isinstance(event, RequestHeaders) and not event.end_stream:
            _frame(event.request)
        if isinstance(event, RequestData) and not event.data:
            return  # HTTP/2 may have an empty frame anywhere; to HTTP/1 an empty chunk is the end
        yield from super().send(event)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        """Read a head; an interim one is passed over, one that can never be one is a fault."""
        if self.stream_id is not None and isinstance(event, events.DataReceived):
            while _INTERIM.match(bytes(self.buf)) and self.buf.maybe_extract_lines():
                pass
            upgrades = self.request is not None and "upgrade" in self.request.headers
            if fault := fault_of_head(bytes(self.buf), upgrades):
                yield commands.CloseConnection(self.conn)
                error = ErrorCode.GENERIC_SERVER_ERROR
                yield ReceiveHttp(ResponseProtocolError(self.stream_id, fault, error))
                return
        yield from super().read_headers(event)

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Read all of the body that has come as one event."""
        if not CHUNKS.lacks and not isinstance(self.body_reader, WholeReads):
            self.body_reader = WholeReads(self.body_reader)  # type: ignore[assignment]
        yield from super().read_body(event)


def _frame(request: Request) -> None:
    """Have a request say where its body ends. mitmproxy sends the bytes of one that does not behind
    its head (12.2.3), and a server takes them for the next request.
    """
    if "content-length" in request.headers or "transfer-encoding" in request.headers:
        return
    if request.raw_content is None:
        request.headers["transfer-encoding"] = "chunked"
    else:
        request.headers["content-length"] = str(len(request.raw_content))


def fault_of_head(received: bytes, upgrades: bool = False) -> str:
    """Say why what has come can never become the head of a reply; nothing if it still can.

    `upgrades`: the client has asked for another protocol. mitmproxy breaks when none has.
    """
    start = received.lstrip(b"\r\n")[:7]
    if not b"HTTP/1.".startswith(start):
        return f"Cannot parse HTTP response: it begins with {received[:40]!r}"
    if len(received) > LONGEST_HEAD and not re.search(rb"\n\r?\n", received[: LONGEST_HEAD + 4]):
        return f"Cannot parse HTTP response: its head has more than {LONGEST_HEAD} bytes"
    if _SWITCHING.match(received) and not upgrades:
        return "Cannot parse HTTP response: 101 Switching Protocols, which nobody asked for"
    return ""


def take_over(client: HttpClient) -> ServerConnection | None:
    """Have a connection to an HTTP/1 server that was just opened be one of ours; else None."""
    theirs = client.child_layer
    if type(theirs) is not Http1Client:
        return None
    theirs.context.layers.remove(theirs)
    ours = ServerConnection(theirs.context)
    ours.state = ours.read_headers
    client.child_layer = ours
    hand_events_to(client, ours.handle_event)
    return ours
