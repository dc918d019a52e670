"""`ServerConnection`: our layer of the connection to an HTTP/1 server. It reports a bad response
head at once, skips interim heads, reads bodies by `WholeReads`, and can be left in mid-response.

mitmproxy 12.2.3 has three faults in the reading of a head:

- After bytes that cannot begin a head it reads on for ever.
- It takes an interim head (such as 103 Early Hints) for the head of the response.
- It raises an exception at a switch of protocols (101) that the client did not request.

If mitmproxy's `Http1Client` has none of these faults, `read_headers` and `fault_of_head` can be
deleted. `leave` and `read_body` correct no fault of mitmproxy.
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
    set_event_handler,
)
from converter.addon.layers.whole_reads import WholeReads

_INTERIM_HEAD = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d\b")
"""Matches an interim head, such as 100 Continue or 103 Early Hints. 101 is no interim head: it is
the head of the response.
"""
LEFT_STREAM_ID = -1
"""The stream id of a connection that the addon has left. No stream has this id, so mitmproxy drops
all later events of the connection.
"""
_SWITCHING_HEAD = re.compile(rb"HTTP/1\.\d 101\b")
"""Matches the head of a response that switches protocols (101)."""


class ServerConnection(Http1Client):
    """mitmproxy's layer of a connection to an HTTP/1 server, which reads bodies with `WholeReads`
    and checks the heads of responses.
    """

    def leave(self) -> CommandGenerator[None]:
        """Close the connection in the middle of a response, and drop all bytes that still arrive on
        it.
        """
        self.stream_id = LEFT_STREAM_ID
        yield commands.CloseConnection(self.conn)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        """Read the response's head. Skip interim heads, such as 103 Early Hints. Close the
        connection and report an error as soon as the bytes so far cannot become a head.
        """
        if self.stream_id is not None and isinstance(event, events.DataReceived):
            while _INTERIM_HEAD.match(bytes(self.buf)) and self.buf.maybe_extract_lines():
                pass
            if fault := fault_of_head(bytes(self.buf), self.request):
                yield commands.CloseConnection(self.conn)
                error = ErrorCode.GENERIC_SERVER_ERROR
                yield ReceiveHttp(ResponseProtocolError(self.stream_id, fault, error))
                return
        yield from super().read_headers(event)

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        """Read all bytes of the body that have arrived, and pass them on as one event
        (`WholeReads`). If the part `SPEED` is switched off, each HTTP chunk is an event.
        """
        if not SPEED.lacks and not isinstance(self.body_reader, WholeReads):
            self.body_reader = WholeReads(self.body_reader)  # type: ignore[assignment]
        yield from super().read_body(event)


def fault_of_head(received: bytes, request: Request | None = None) -> str:
    """Return the reason why the bytes that were received so far cannot become the head of a
    response; empty if they can. The head may have at most `LONGEST_HEAD` bytes, and may switch
    protocols (101) only if the client's `request` asks for it. `request`: None if there is none.
    """
    start = received.lstrip(b"\r\n")[:7]
    if not b"HTTP/1.".startswith(start):
        return f"Cannot parse HTTP response: it begins with {received[:40]!r}"
    if len(received) > LONGEST_HEAD and not re.search(rb"\n\r?\n", received[: LONGEST_HEAD + 4]):
        return f"Cannot parse HTTP response: its head has more than {LONGEST_HEAD} bytes"
    if _SWITCHING_HEAD.match(received) and not (request and "upgrade" in request.headers):
        return "Cannot parse HTTP response: 101 Switching Protocols, which nobody asked for"
    return ""


def replace_server_layer(client: HttpClient) -> ServerConnection | None:
    """Put a `ServerConnection` in place of mitmproxy's layer of a connection to an HTTP/1 server
    that was just opened, and return it. Return `None`, and change nothing, for another protocol.
    """
    theirs = client.child_layer
    if type(theirs) is not Http1Client:
        return None
    theirs.context.layers.remove(theirs)
    ours = ServerConnection(theirs.context)
    ours.state = ours.read_headers
    client.child_layer = ours
    set_event_handler(client, ours.handle_event)
    return ours
