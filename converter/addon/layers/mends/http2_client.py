"""The connection of an HTTP/2 client, with or without TLS: no stream waits for another, and who
reads slowly is waited for.

mitmproxy takes all that a server sends, whatever the client's windows are, and holds what does not
fit (12.2.3). Over HTTP/1 a reply comes only as fast as its client reads, because the sockets fill
up. Here it is the same: while something of a stream waits, its server is read no further. It can go
when mitmproxy counts a client's windows, and opens a connection for each stream.
"""

from asyncio import ReadTransport, Semaphore
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator, NextLayer

from converter.addon.layers.guard import (
    MENDS,
    ErrorCode,
    Http2Server,
    ReceiveHttp,
    ResponseData,
    ResponseEndOfMessage,
    ResponseProtocolError,
)
from converter.core.wire.bounds import BODY_LIMIT

PREFACE = b"PRI * HTTP/2.0"
"""The first words of a client that speaks HTTP/2 by prior knowledge (RFC 9113, 3.4)."""
HTTP_2 = b"h2"
MOST_STREAMS = 100
"""Streams that a client may have open, as h2 tells it. mitmproxy opens five connections to a server
for one client, which is enough for a browser, and lets the sixth reply wait until one has ended.
"""
UNTAKEN = f"reply too long: more than {BODY_LIMIT >> 20} megabytes that the client did not take"

type ReadsOf = Callable[[int], ReadTransport | None]


def note_prior_knowledge(nextlayer: NextLayer) -> None:
    """Have a client that speaks HTTP/2 without TLS be one of HTTP/2: mitmproxy goes by what TLS has
    negotiated, and kills the others.
    """
    client = nextlayer.context.client
    if client.alpn is None and nextlayer.data_client().startswith(PREFACE):
        client.alpn = HTTP_2


def let_all_streams_in(handler: Any) -> None:
    """Have all streams of a client get a connection to their server at once. `handler`: what moves
    the client's bytes, if that is not left to mitmproxy.
    """
    if handler and not MENDS.lacks:
        handler.max_conns = defaultdict(lambda: Semaphore(MOST_STREAMS))


class ClientConnection(Http2Server):
    """mitmproxy's, with the above. `reads_of`: the socket of a stream's server, if it serves no
    other stream.
    """

    def __init__(self, context: Context, reads_of: ReadsOf) -> None:
        super().__init__(context)
        self._reads_of = reads_of
        self.stopped: dict[int, ReadTransport] = {}
        self._untaken: dict[int, int] = {}

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        yield from super()._handle_event(event)
        if isinstance(event, ResponseData):
            if self._holds(event.stream_id):
                yield from self._wait(event)
        elif isinstance(event, ResponseEndOfMessage):
            self._forget_closed()
        elif isinstance(event, events.DataReceived):
            self._go_on()

    def _holds(self, stream_id: int) -> bool:
        return bool(self.h2_conn.stream_buffers.get(stream_id))

    def _wait(self, event: ResponseData) -> CommandGenerator[None]:
        """Read the server of a stream no further; one that serves other streams is read on, up to a
        limit.
        """
        stream_id = event.stream_id
        if reads := self.stopped.get(stream_id) or self._reads_of(stream_id):
            self.stopped[stream_id] = reads
            reads.pause_reading()  # again for each read: asyncio's own reader may have gone on
            return
        self._untaken[stream_id] = self._untaken.get(stream_id, 0) + len(event.data)
        if self._untaken[stream_id] > BODY_LIMIT:
            held = self.h2_conn.stream_buffers[stream_id]
            self._untaken[stream_id] = sum(len(piece.data) for piece in held)
        if self._untaken[stream_id] > BODY_LIMIT:
            code = ErrorCode.RESPONSE_TOO_LARGE
            yield ReceiveHttp(ResponseProtocolError(stream_id, UNTAKEN, code))

    def _go_on(self) -> None:
        """Read on where the client has taken all."""
        for stream_id in [one for one in self.stopped if not self._holds(one)]:
            self.stopped.pop(stream_id).resume_reading()
        for stream_id in [one for one in self._untaken if not self._holds(one)]:
            del self._untaken[stream_id]

    def _forget_closed(self) -> None:
        """Forget streams that are over, because mitmproxy keeps each for as long as the client
        stays.
        """
        for stream_id in [one for one in self.streams if self.is_closed(one)]:
            del self.streams[stream_id]


def is_stopped(client: object, stream_id: int) -> bool:
    """Tell whether a stream's server is read no further until the client has taken more."""
    return isinstance(client, ClientConnection) and stream_id in client.stopped
