"""A model server that speaks HTTP/2 over TLS and nothing else, step by step as a test says."""

import contextlib
import socket
import socketserver
import ssl
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import trustme

from tests.support.background_server import BackgroundServer


class End(Enum):
    """How a reply ends."""

    PROPERLY = "with its stream"
    RESET = "the stream is reset"
    GOES_AWAY = "the connection is given up"
    CLOSES = "the socket is closed"
    NEVER = "it does not"


class Http2Server(BackgroundServer):
    """Answers each stream with `steps`, `trailers` and `end`; an early end may come before the head.

    `then`: how the streams behind the first are answered, if otherwise. `asked`: bodies of requests;
    `left`: streams that the other side has reset.
    """

    scheme = "https"

    def __init__(self) -> None:
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(self.tls)
        self.tls.set_alpn_protocols(["h2"])
        self.kind = "text/event-stream"
        self.steps: Sequence[bytes] = ()
        self.trailers: dict[str, str] = {}
        self.end = End.PROPERLY
        self.has_head = True
        self.connections = 0
        self.then: Sequence[bytes] = ()
        self.asked: list[bytes] = []
        self.left: list[int] = []
        super().__init__(_Handler, 0, "127.0.0.1")

    def answer(self, steps: Sequence[bytes], end: End = End.PROPERLY, **changed: Any) -> None:
        """Answer so from now on."""
        self.kind, self.trailers, self.has_head = "text/event-stream", {}, True
        self.then, self.asked, self.left = (), [], []
        self.steps, self.end = steps, end
        for name, value in changed.items():
            setattr(self, name, value)


class _Handler(socketserver.BaseRequestHandler):
    server: Http2Server

    def handle(self) -> None:
        self.server.connections += 1
        with (
            contextlib.suppress(OSError, h2.exceptions.ProtocolError),  # who answers no more
            self.server.tls.wrap_socket(self.request, server_side=True) as self.socket,
        ):
            assert self.socket.selected_alpn_protocol() == "h2"
            self._talk()

    def _talk(self) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.connection = h2.connection.H2Connection(config)
        self.said: defaultdict[int, bytes] = defaultdict(bytes)
        self.connection.initiate_connection()
        self._send()
        while received := self.socket.recv(65536):
            for event in self.connection.receive_data(received):
                self._hear(event)
            self._send()

    def _hear(self, event: h2.events.Event) -> None:
        server = self.server
        if isinstance(event, h2.events.DataReceived) and event.stream_id:
            self.said[event.stream_id] += event.data or b""
            self.connection.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id
            )
        elif isinstance(event, h2.events.StreamReset) and event.stream_id:
            server.left.append(event.stream_id)
        elif isinstance(event, h2.events.StreamEnded) and event.stream_id:
            server.asked.append(self.said.pop(event.stream_id, b""))
            self._answer(event.stream_id)
            if server.then:
                server.steps, server.end, server.then = server.then, End.PROPERLY, ()

    def _answer(self, stream: int) -> None:
        """Say all at once: what a test says is short, and the proxy's window is wide."""
        server = self.server
        if server.has_head:
            head = [(":status", "200"), ("content-type", server.kind)]
            self.connection.send_headers(stream, head)
            for step in server.steps:
                self.connection.send_data(stream, step)
                self._send()
        self._end(stream)
        self._send()
        if server.end is End.CLOSES:
            self.socket.shutdown(socket.SHUT_RDWR)

    def _end(self, stream: int) -> None:
        server = self.server
        if server.end is End.RESET:
            self.connection.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        elif server.end is End.GOES_AWAY:
            self.connection.close_connection()
        elif server.end is End.PROPERLY and server.trailers:
            self.connection.send_headers(stream, [*server.trailers.items()], end_stream=True)
        elif server.end is End.PROPERLY:
            self.connection.end_stream(stream)

    def _send(self) -> None:
        self.socket.sendall(self.connection.data_to_send())
