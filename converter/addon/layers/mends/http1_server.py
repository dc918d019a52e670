"""The connection to an HTTP/1 server: a bad head is a fault at once.

mitmproxy 12.2.3 has three faults here. It reads on for ever after bytes that are no head. It takes
an interim head for the reply. It breaks on a switch of protocols that the client did not request.
The mend can go when mitmproxy's `Http1Client` has none of these faults; the reader of a whole body
(`read_body`) stays.
"""

import re

from mitmproxy.http import Request
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.bounds import LONGEST_HEAD
from converter.addon.layers.guard import (
    SPEED,
    ErrorCode,
    Http1Client,
    HttpClient,
    ReceiveHttp,
    ResponseProtocolError,
    hand_events_to,
)
from converter.addon.layers.whole_reads import WholeReads

_INTERIM = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d\b")
"""Heads such as 100 Continue and 103 Early Hints, but not 101, which is a reply."""
LEFT = -1
"""The id of no stream."""
_SWITCHING = re.compile(rb"HTTP/1\.\d 101\b")


class ServerConnection(Http1Client):
    """mitmproxy's HTTP/1 client with our reader of bodies, and with limits for a head."""

    def leave(self) -> CommandGenerator[None]:
        """Close the connection, and drop all that still comes on it."""
        self.stream_id = LEFT
        yield commands.CloseConnection(self.conn)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        """Read a head; skip interim heads; report bytes that cannot become a head as a fault."""
        if self.stream_id is not None and isinstance(event, events.DataReceived):
            while _INTERIM.match(bytes(self.buf)) and self.buf.maybe_extract_lines():
                pass
            if fault := fault_of_head(bytes(self.buf), self.request):
                yield commands.CloseConnection(self.conn)
                error = ErrorCode.GENERIC_SERVER_ERROR
                yield ReceiveHttp(ResponseProtocolError(self.stream_id, fault, error))
                return
        yield from super().read_headers(event)

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Read all of the body that has come as one event."""
        if not SPEED.lacks and not isinstance(self.body_reader, WholeReads):
            self.body_reader = WholeReads(self.body_reader)  # type: ignore[assignment]
        yield from super().read_body(event)


def fault_of_head(received: bytes, request: Request | None = None) -> str:
    """Return why the received bytes can never become the head of a reply; empty if they still can.
    mitmproxy breaks on a switch to another protocol that the client did not request.
    """
    start = received.lstrip(b"\r\n")[:7]
    if not b"HTTP/1.".startswith(start):
        return f"Cannot parse HTTP response: it begins with {received[:40]!r}"
    if len(received) > LONGEST_HEAD and not re.search(rb"\n\r?\n", received[: LONGEST_HEAD + 4]):
        return f"Cannot parse HTTP response: its head has more than {LONGEST_HEAD} bytes"
    if _SWITCHING.match(received) and not (request and "upgrade" in request.headers):
        return "Cannot parse HTTP response: 101 Switching Protocols, which nobody asked for"
    return ""


def take_over(client: HttpClient) -> ServerConnection | None:
    """Replace a connection to an HTTP/1 server, which was just opened, by one of ours; return
    `None` for others.
    """
    theirs = client.child_layer
    if type(theirs) is not Http1Client:
        return None
    theirs.context.layers.remove(theirs)
    ours = ServerConnection(theirs.context)
    ours.state = ours.read_headers
    client.child_layer = ours
    hand_events_to(client, ours.handle_event)
    return ours
