"""The connection of an HTTP/1 client: trailers are passed over, a broken chunk is answered.

mitmproxy raises NotImplementedError for a request with trailers, and closes the connection without
a word on a chunk that it cannot read (12.2.3). It can go when mitmproxy reads both.
"""

from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.layers.chunks import WholeReads
from converter.addon.layers.guard import Http1Server

HTTP_1 = (None, b"", b"http/1.0", b"http/1.1")
"""What TLS has negotiated for such a client, or nothing has."""
FAULT = b'{"error":{"message":"The request\'s body is broken: expected chunks as in RFC 9112, 7.1",'
FAULT += b'"type":"invalid_request_error","param":null,"code":null}}'
ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(FAULT), FAULT)
)
"""As every dialect's client reads it."""


class PlainClient(Http1Server):
    """mitmproxy's, with the above."""

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Read what has come of a body; say so before the connection is closed for a fault."""
        if not isinstance(self.body_reader, WholeReads):  # it passes trailers over (RFC 9110, 6.5)
            self.body_reader = WholeReads(self.body_reader)  # type: ignore[assignment]
        for command in super().read_body(event):
            faulty = isinstance(command, commands.CloseConnection) and not self.request_done
            if faulty and not self.response and self.conn.state is ConnectionState.OPEN:
                yield commands.SendData(self.conn, ANSWER)
            yield command
