"""The splice: a read of a streaming reply, carried from one socket to the other at once.

mitmproxy reads through asyncio's streams: bytes wait in a buffer, a task is woken in the loop's
next turn, takes two locks, makes an event, passes it through eleven generators and drains all
writers. That is more than half of a paced token's cost. Here the protocol of the server's
connection is ours while a reply streams, and does the layers' work at once.

The layers keep each read that has to wait, and a reply's end. A read has to wait while a task is
still at an earlier read, an exchange is paused, a client has not taken all its bytes, or the read
is so long that other streams must have their turn. So back pressure, order and ends stay
mitmproxy's. Both lanes read with one `WholeReads` from one buffer, so a stream may change lanes at
any read.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from mitmproxy.connection import Connection
from mitmproxy.proxy.events import DataReceived
from mitmproxy.proxy.layer import Layer

from converter.addon.layer_contract import Stream, StreamFunction
from converter.addon.layers.guard import (
    SPEED,
    Http1Server,
    HttpLayer,
    create_task,
    is_outermost,
    is_paused,
    waits_for_data,
)
from converter.addon.layers.mends.http1_server import ServerConnection
from converter.addon.layers.stream_turns import LONG_READ, is_stream_function, may_leave
from converter.addon.layers.whole_reads import WholeReads


@dataclass(slots=True, eq=False)
class Carrier:
    """Takes each read of one reply's body, and returns the bytes for the client.

    Attributes:
        stream: the exchange.
        server: the server's connection.
        function: the stream function; `None` for a body that passes unchanged.
        chunked: the client's body is framed in chunks.
        keeps: mitmproxy keeps the client's bytes.
        goes_on: the body's end was not among the last data.
    """

    stream: Stream
    server: ServerConnection
    function: StreamFunction | None
    chunked: bool
    keeps: bool
    goes_on: bool = True

    def is_open(self) -> bool:
        """Return True if the reply streams now and the next call of its function is short.
        Otherwise no byte may be taken.
        """
        if self.function and self.function.is_long:
            return False
        return self.stream.streams and not is_paused(cast(Layer, self.stream))

    def take(self, data: bytes) -> bytes:
        """Return the bytes that the client is to be sent for a read, perhaps none."""
        server = self.server
        server.buf += data
        reader: WholeReads = server.body_reader  # type: ignore[assignment]
        body = reader.take(server.buf)
        self.goes_on = reader.after is None
        out = b"".join(self.function(body)) if body and self.function else body
        if not out:
            return b""
        self.stream.has_spoken()
        if self.keeps:
            self.stream.response_body_buf += out
        return b"%x\r\n%s\r\n" % (len(out), out) if self.chunked else out


_PASSED_ON = ("eof_received", "connection_lost", "pause_writing", "resume_writing")
"""Methods of the protocol that stay asyncio's own."""


class Splice(asyncio.Protocol):
    """The protocol of a server's connection.

    Attributes:
        theirs: the protocol that it replaces.
    """

    def __init__(self, handler: Any, server: Connection, carrier: Carrier) -> None:
        self._handler = handler
        self._server = server
        self._carrier = carrier
        self._reader = handler.transports[server].reader
        self._transport = handler.transports[server].writer.transport
        self._client = handler.transports[handler.client].writer.transport
        self.theirs = self._transport.get_protocol()

    def begin(self) -> None:
        """Replace the connection's protocol."""
        if isinstance(self.theirs, Splice):  # an earlier reply ended in the layers
            self.theirs = self.theirs.theirs
        for name in _PASSED_ON:
            setattr(self, name, getattr(self.theirs, name))
        self._transport.set_protocol(self)
        _read_at_once(self._transport, LONG_READ)

    def data_received(self, data: bytes) -> None:
        """Carry a read, or give it back to the layers."""
        if len(data) > LONG_READ or not self._is_free():
            self.theirs.data_received(data)
            return
        self._handler.timeout_watchdog.register_activity()
        if out := self._carrier.take(data):
            self._client.write(out)
        if not self._carrier.goes_on:
            self._end()

    def _is_free(self) -> bool:
        """Return True if there is nothing to wait for."""
        client = self._client
        return (
            waits_for_data(self._reader)
            and not client.get_write_buffer_size()
            and not client.is_closing()
            and self._carrier.is_open()
        )

    def _end(self) -> None:
        """Restore the protocol, and have the layers handle the reply's end, which waits in them."""
        self._transport.set_protocol(self.theirs)
        _read_at_once(self._transport, None)
        event, handler = DataReceived(self._server, b""), self._handler
        peer = handler.client.peername
        create_task(handler.server_event(event), name="end of reply", keep_ref=True, client=peer)


def _read_at_once(transport: Any, size: int | None) -> None:
    """Limit the bytes that a transport reads at once; `None` restores its usual limit. uvloop's
    transport has no limit to set, so reads beyond `LONG_READ` go through the layers.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = size or type(transport).max_size


def splice(handler: Any, layer: HttpLayer, stream: Stream) -> None:
    """Move the body of a reply whose head was sent to this lane, where its bytes need no more than
    a carrier. `handler`: moves the client's bytes; without it nothing moves.
    """
    if SPEED.lacks or handler is None:
        return
    if is_outermost(layer) and (carrier := find_carrier(layer, stream)):
        join(handler, stream.context.server, carrier)


def join(handler: Any, server: Connection, carrier: Carrier) -> None:
    """Have reads go from a server's socket to the client's, where both ends are plain sockets."""
    ends = (handler.transports.get(server), handler.transports.get(handler.client))
    if all(end and isinstance(end.writer, asyncio.StreamWriter) for end in ends):
        Splice(handler, server, carrier).begin()


def find_carrier(layer: HttpLayer, stream: Stream) -> Carrier | None:
    """Return a carrier for a reply's body; `None` where the bytes need more work."""
    response = stream.flow.response
    server = getattr(layer.connections.get(stream.context.server), "child_layer", None)
    client = layer.connections.get(layer.context.client)
    if response is None or layer.debug is not None:
        return None
    if not isinstance(server, ServerConnection) or not isinstance(client, Http1Server):
        return None
    function = response.stream if is_stream_function(response.stream) else None
    if function is None and response.stream is not True:
        return None  # another addon's function may return anything
    if may_leave(function):
        return None  # only the layers can leave the server
    framing = client.response.headers.get("transfer-encoding", "") if client.response else ""
    keeps = stream.context.options.store_streamed_bodies
    return Carrier(stream, server, function, "chunked" in framing.lower(), keeps)
