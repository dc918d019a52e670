"""The short way of a read: from the server's bytes to the client's, without the layers between.

A read passes eleven generators in mitmproxy, which is a quarter of a paced token's cost. The short
way does what they do while a reply only streams; its end and every fault go the long way.
"""

from typing import TYPE_CHECKING

from converter.shell.layers.contract import StreamFunction, is_stream_function
from converter.shell.layers.server_connection import ServerConnection, WholeReads
from converter.shell.mitmproxy_internals import Http1Server, HttpLayer, is_paused

if TYPE_CHECKING:
    from converter.shell.layers.stream_layer import StreamLayer


class Shortcut:
    """Carries the data of one reply's body. `goes_on`: whether its end was not among the last."""

    def __init__(
        self,
        stream: "StreamLayer",
        server: ServerConnection,
        function: StreamFunction | None,
        chunked: bool,
    ) -> None:
        self._stream = stream
        self._server = server
        self._function = function
        self._chunked = chunked
        self._keeps = stream.context.options.store_streamed_bodies
        self.goes_on = True

    def is_open(self) -> bool:
        """Tell whether the reply streams now, and the next call of its function is a short one; no
        byte may be taken else.
        """
        if self._function and self._function.is_long:
            return False
        return self._stream.streams and not is_paused(self._stream)

    def take(self, data: bytes) -> bytes:
        """Return what the client's connection is to be sent for a read, perhaps nothing."""
        server = self._server
        server.buf += data
        reader: WholeReads = server.body_reader  # type: ignore[assignment]
        body = reader.take(server.buf)
        self.goes_on = reader.after is None
        said = b"".join(self._function(body)) if body and self._function else body
        if not said:
            return b""
        self._stream.has_spoken()
        if self._keeps:
            self._stream.response_body_buf += said
        return b"%x\r\n%s\r\n" % (len(said), said) if self._chunked else said


def find_shortcut(layer: HttpLayer, stream: "StreamLayer") -> Shortcut | None:
    """Return the short way for a reply whose head went out; None where bytes need more work."""
    response = stream.flow.response
    server = getattr(layer.connections.get(stream.context.server), "child_layer", None)
    client = layer.connections.get(layer.context.client)
    if response is None or layer.debug is not None:
        return None
    if not isinstance(server, ServerConnection) or type(client) is not Http1Server:
        return None
    function = response.stream if is_stream_function(response.stream) else None
    if function is None and response.stream is not True:
        return None  # another addon's, which may return what ours never does
    framing = client.response.headers.get("transfer-encoding", "") if client.response else ""
    return Shortcut(stream, server, function, "chunked" in framing.lower())
