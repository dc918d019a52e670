"""A client of HTTP/2 whose connection carries any number of requests at one time."""

import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

SECONDS = 30  # as long as a client of HTTP/1 waits


@dataclass
class Http2Answer:
    """What came on a stream. `ended`: it has a proper end; `reset`: the proxy's error code."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    received: bytearray = field(default_factory=bytearray)
    trailers: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    reset: int | None = None

    @property
    def body(self) -> bytes:
        return bytes(self.received)

    @property
    def is_over(self) -> bool:
        return self.ended or self.reset is not None


class Http2Client:
    """`tls`: else it speaks HTTP/2 at once, by prior knowledge. `window`: the bytes a stream may
    bring before the client takes them. `slow`: streams of which nothing is taken.
    """

    def __init__(
        self, port: int, *, tls: bool = True, window: int = 65_535, seconds: float = SECONDS
    ) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._socket = secured(plain) if tls else plain
        self._scheme = "https" if tls else "http"
        settings = h2.config.H2Configuration(header_encoding="utf-8")
        self._connection = h2.connection.H2Connection(settings)
        self._connection.local_settings.initial_window_size = window
        self._connection.local_settings.acknowledge()  # else h2 reckons with its own until it is
        self._connection.initiate_connection()
        self.slow: set[int] = set()
        self.answers: dict[int, Http2Answer] = {}
        self._untaken: dict[int, int] = {}
        self._send()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, path: str, body: bytes, trailers: Mapping[str, str] | None = None) -> int:
        """Begin a request; return its stream."""
        stream = self._connection.get_next_available_stream_id()
        self.answers[stream] = Http2Answer()
        pseudo = [(":method", "POST"), (":scheme", self._scheme), (":authority", "localhost")]
        head = [*pseudo, (":path", path), ("content-type", "application/json")]
        self._connection.send_headers(stream, head)
        while body and not self.answers[stream].is_over:
            size = min(
                self._connection.local_flow_control_window(stream),
                self._connection.max_outbound_frame_size,
            )
            if size:
                self._connection.send_data(stream, body[:size])
                body = body[size:]
                self._send()
            else:
                self._receive()
        if trailers:
            self._connection.send_headers(stream, [*trailers.items()], end_stream=True)
        else:
            self._connection.end_stream(stream)
        self._send()
        return stream

    def cancel(self, stream: int) -> None:
        """Want no more of a reply."""
        self._connection.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self.answers[stream].reset = h2.errors.ErrorCodes.CANCEL
        self._send()

    def leave(self) -> None:
        """Say that no more is wanted of the whole connection."""
        self._connection.close_connection()
        self._send()

    def take(self, stream: int) -> None:
        """Take what a slow stream has brought, and from now on all at once."""
        self.slow.discard(stream)
        if untaken := self._untaken.pop(stream, 0):
            self._connection.increment_flow_control_window(untaken, stream)
            self._send()

    def until(self, there: Callable[[], bool]) -> None:
        """Read until something is there, or the connection is over."""
        while not there() and self._receive():
            pass

    def end_of(self, stream: int) -> Http2Answer:
        """The whole answer, good or bad."""
        answer = self.answers[stream]
        self.until(lambda: answer.is_over)
        return answer

    def _send(self) -> None:
        self._socket.sendall(self._connection.data_to_send())

    def _receive(self) -> bool:
        received = self._socket.recv(65536)
        if not received:
            return False
        for event in self._connection.receive_data(received):
            self._take(event)
        self._send()
        return True

    def _take(self, event: h2.events.Event) -> None:
        stream = getattr(event, "stream_id", None)
        if answer := self.answers.get(stream or 0):
            if isinstance(event, h2.events.DataReceived):
                self._hear(event)
            _note(event, answer)

    def _hear(self, event: h2.events.DataReceived) -> None:
        assert event.stream_id is not None
        size = event.flow_controlled_length or 0
        if event.stream_id in self.slow:
            self._untaken[event.stream_id] = self._untaken.get(event.stream_id, 0) + size
            self._connection.increment_flow_control_window(size)
        else:
            self._connection.acknowledge_received_data(size, event.stream_id)


def _note(event: h2.events.Event, answer: Http2Answer) -> None:
    match event:
        case h2.events.ResponseReceived():
            answer.headers = {str(name): str(value) for name, value in event.headers or []}
            answer.status = int(answer.headers[":status"])
        case h2.events.TrailersReceived():
            answer.trailers = {str(name): str(value) for name, value in event.headers or []}
        case h2.events.DataReceived():
            answer.received += event.data or b""
        case h2.events.StreamEnded():
            answer.ended = True
        case h2.events.StreamReset():
            answer.reset = int(event.error_code or 0)


def secured(plain: socket.socket) -> ssl.SSLSocket:
    """Begin TLS with whatever certificate there is, and agree upon HTTP/2."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    client = tls.wrap_socket(plain, server_hostname="localhost")
    assert client.selected_alpn_protocol() == "h2"
    return client


def ask_http2(port: int, path: str, body: bytes) -> Http2Answer:
    """Ask, and wait for the end of the reply, good or bad."""
    with Http2Client(port) as client:
        return client.end_of(client.ask(path, body))
