"""The splice: the lane in which the bytes of a streamed reply go from the server's socket to the
client's in one call. `move_to_splice` moves a reply to it; both sides must speak plain HTTP/1.

mitmproxy reads through asyncio's streams: bytes wait in a buffer, and in the loop's next turn a
task takes two locks, makes an event, passes it through eleven generators and drains all writers.
For a reply with pauses between its tokens this is more than half of the processor time. So while a
reply streams, the asyncio protocol of the server's connection is a `Splice`, which does all of this
in its `data_received`.

The layers still handle a reply's end, and each read that has to wait: a task still handles an
earlier read, the exchange is paused, the client has not taken all its bytes, the read is so long
that other streams must get a turn first, or the stream function needs a thread for it. So
mitmproxy's code still decides about back pressure, order and ends. Both lanes read with one
`WholeReads` from one buffer, so that a stream can change lanes at any read.
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
from converter.addon.layers.stream_turns import LONG_READ
from converter.addon.layers.whole_reads import WholeReads


@dataclass(slots=True, eq=False)
class Carrier:
    """Turns each read of one reply's body into the bytes for the client, as the layers would. It
    neither reads nor writes a socket.
    """

    stream: Stream
    """The layer of the exchange."""
    server: ServerConnection
    """The layer of the server's connection, which has the buffer and the reader."""
    function: StreamFunction | None
    """The stream function; `None` for a body that passes unchanged."""
    chunked: bool
    """True if the client gets the response's body in HTTP chunks."""
    keeps: bool
    """True if mitmproxy's option `store_streamed_bodies` is set, so that the flow keeps the bytes
    that the client gets.
    """
    goes_on: bool = True
    """False once the body's end, or a fault of its framing, has been read."""

    def is_open(self) -> bool:
        """Return True if `take` may be called: the reply is streamed, its exchange is not paused,
        and the next call of its function is short.
        """
        if self.function and self.function.is_long:
            return False
        return self.stream.streams and not is_paused(cast(Layer, self.stream))

    def take(self, data: bytes) -> bytes:
        """Return the bytes that the client gets for the bytes of one read (`data`), perhaps none.
        Set `goes_on` to False at the body's end, or at a fault of its framing.
        """
        server = self.server
        server.buf += data
        reader: WholeReads = server.body_reader  # type: ignore[assignment]
        body = reader.take(server.buf)
        self.goes_on = reader.after is None
        out = b"".join(self.function(body)) if body and self.function else body
        if not out:
            return b""
        self.stream.restart_silence()
        if self.keeps:
            self.stream.response_body_buf += out
        return b"%x\r\n%s\r\n" % (len(out), out) if self.chunked else out


_PASSED_ON = ("eof_received", "connection_lost", "pause_writing", "resume_writing")
"""Methods of `asyncio.Protocol` that a `Splice` takes over unchanged from the protocol that it
replaces.
"""


class Splice(asyncio.Protocol):
    """The asyncio protocol of a server's connection while its reply streams. If it can, it rewrites
    a read and sends the client the result at once; else it passes the read on to the protocol that
    it replaces.

    Attributes:
        theirs: the protocol that the splice replaces, which feeds mitmproxy's reader.
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
        """Make the splice the protocol of the server's connection."""
        # `theirs` is the splice of an earlier reply if the layers ended that reply: then take the
        # protocol that the earlier splice replaced
        if isinstance(self.theirs, Splice):
            self.theirs = self.theirs.theirs
        for name in _PASSED_ON:
            setattr(self, name, getattr(self.theirs, name))
        self._transport.set_protocol(self)
        _set_read_size(self._transport, LONG_READ)

    def data_received(self, data: bytes) -> None:
        """Rewrite the bytes of a read (`data`), and send them to the client at once. But give the
        read to the layers if it is long, earlier bytes wait for the layers or for the client, the
        client's socket is closing, or the carrier is not open.
        """
        if (
            len(data) > LONG_READ
            or not waits_for_data(self._reader)
            or self._client.get_write_buffer_size()
            or self._client.is_closing()
            or not self._carrier.is_open()
        ):
            self.theirs.data_received(data)
            return
        self._handler.timeout_watchdog.register_activity()
        if out := self._carrier.take(data):
            self._client.write(out)
        if not self._carrier.goes_on:
            self._restore_protocol()

    def _restore_protocol(self) -> None:
        """Put the replaced protocol back. The reader has already read the reply's end: send the
        layers an event without data, so that they ask the reader for this end.
        """
        self._transport.set_protocol(self.theirs)
        _set_read_size(self._transport, None)
        event, handler = DataReceived(self._server, b""), self._handler
        peer = handler.client.peername
        create_task(handler.server_event(event), name="end of reply", keep_ref=True, client=peer)


def _set_read_size(transport: Any, size: int | None) -> None:
    """Set how many bytes a transport reads at most at once; `None` sets its usual number. uvloop's
    transport has no such number. There, reads of more than `LONG_READ` bytes go through the layers.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = size or type(transport).max_size


def move_to_splice(handler: Any, layer: HttpLayer, stream: Stream) -> None:
    """Move a streamed reply, whose head is sent, from the lane of the layers to the splice, if a
    `Carrier` can do all the work on its bytes (`is_outermost`, `make_carrier`). `handler`:
    mitmproxy's handler of the client's connection; None: the reply stays in the layers.
    """
    if SPEED.lacks or handler is None:
        return
    if is_outermost(layer) and (carrier := make_carrier(layer, stream)):
        start_splice(handler, stream.context.server, carrier)


def start_splice(handler: Any, server: Connection, carrier: Carrier) -> None:
    """Begin a splice from the server's socket to the client's, if both are sockets of asyncio."""
    ends = (handler.transports.get(server), handler.transports.get(handler.client))
    if all(end and isinstance(end.writer, asyncio.StreamWriter) for end in ends):
        Splice(handler, server, carrier).begin()


def make_carrier(layer: HttpLayer, stream: Stream) -> Carrier | None:
    """Return a carrier for the body of a reply. Return `None` if the reply must stay in the layers:
    a side is not plain HTTP/1, another addon streams the body, the addon may have to leave the
    server in the middle of the reply, or mitmproxy logs each event of the layer (`debug`).
    """
    response = stream.flow.response
    server = getattr(layer.connections.get(stream.context.server), "child_layer", None)
    client = layer.connections.get(layer.context.client)
    if response is None or layer.debug is not None:
        return None
    if not isinstance(server, ServerConnection) or not isinstance(client, Http1Server):
        return None
    function = response.stream if isinstance(response.stream, StreamFunction) else None
    if function is None and response.stream is not True:
        return None  # another addon's function streams it, and may return other types than bytes
    if function and function.may_leave_server:
        return None  # only the layers can disconnect from the server in mid-reply
    framing = client.response.headers.get("transfer-encoding", "") if client.response else ""
    keeps = stream.context.options.store_streamed_bodies
    return Carrier(stream, server, function, "chunked" in framing.lower(), keeps)
