"""The connection of an HTTP/1 client: trailers are passed over, a broken chunk is answered.

mitmproxy raises NotImplementedError for a request with trailers, and closes the connection without
a word on a chunk that it cannot read (12.2.3). It can go when mitmproxy reads both.
"""

from typing import Any

from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.layers.guard import Http1Server, h11

HTTP_1 = (None, b"", b"http/1.0", b"http/1.1")
"""What TLS has negotiated for such a client, or nothing has."""
FAULT = b'{"error":{"message":"The request\'s body is broken: expected chunks as in RFC 9112, 7.1",'
FAULT += b'"type":"invalid_request_error","param":null,"code":null}}'
ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(FAULT), FAULT)
)
"""As every dialect's client reads it."""


class BodyReader:
    """mitmproxy's reader of a body, without its trailers, because nobody needs them (RFC 9110,
    6.5).
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.read_eof = reader.read_eof

    def __call__(self, buffer: Any) -> Any:
        """Return data, the end or nothing; raise h11's error for bad framing."""
        event = self._reader(buffer)
        return h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event


class PlainClient(Http1Server):
    """mitmproxy's, with the above."""

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Read what has come of a body; say so before the connection is closed for a fault."""
        if not isinstance(self.body_reader, BodyReader):
            self.body_reader = BodyReader(self.body_reader)  # type: ignore[assignment]
        for command in super().read_body(event):
            faulty = isinstance(command, commands.CloseConnection) and not self.request_done
            if faulty and not self.response and self.conn.state is ConnectionState.OPEN:
                yield commands.SendData(self.conn, ANSWER)
            yield command
