"""A client of HTTP/2 over TLS, as far as one request needs it."""

import socket
import ssl
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events

SECONDS = 10


@dataclass
class Http2Answer:
    """What came on the stream. `ended`: it has a proper end; `reset`: the proxy's error code."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    reset: int | None = None


def ask_http2(port: int, path: str, body: bytes) -> Http2Answer:
    """Ask, and wait for the end of the reply, good or bad."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as plain,
        tls.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        assert client.selected_alpn_protocol() == "h2"
        connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        connection.initiate_connection()
        connection.send_headers(1, _headers(path))
        connection.send_data(1, body, end_stream=True)
        return _answer(client, connection)


def _headers(path: str) -> list[tuple[str, str]]:
    pseudo = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost")]
    return [*pseudo, (":path", path), ("content-type", "application/json")]


def _answer(client: ssl.SSLSocket, connection: h2.connection.H2Connection) -> Http2Answer:
    answer = Http2Answer()
    while not answer.ended and answer.reset is None:
        client.sendall(connection.data_to_send())
        received = client.recv(65536)
        if not received:
            break
        for event in connection.receive_data(received):
            _take(event, answer, connection)
    return answer


def _take(
    event: h2.events.Event, answer: Http2Answer, connection: h2.connection.H2Connection
) -> None:
    match event:
        case h2.events.ResponseReceived():
            answer.headers = {str(name): str(value) for name, value in event.headers}
            answer.status = int(answer.headers[":status"])
        case h2.events.DataReceived():
            answer.body += event.data
            connection.acknowledge_received_data(event.flow_controlled_length, 1)
        case h2.events.StreamEnded():
            answer.ended = True
        case h2.events.StreamReset():
            answer.reset = int(event.error_code)
