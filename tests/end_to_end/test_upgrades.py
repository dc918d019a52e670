"""Other protocols that begin in HTTP, a WebSocket and a nameless one: both sides hear each other, and
the end of the other.
"""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.background_server import BackgroundServer
from tests.support.harness import Proxy, start_proxy

pytestmark = pytest.mark.slow

SECONDS = 60
KEY, ACCEPT = b"dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # RFC 6455, 1.3
GREETING, QUESTION, REPLY, CLOSE = b"\x81\x05Hello", b"\x81\x82\0\0\0\0hi", b"\x81\x02hi", b"\x88"
ASKS = {"websocket": b"sec-websocket-version: 13\r\nsec-websocket-key: %s\r\n" % KEY, "other": b""}


class Upgrading(BackgroundServer):
    """Agrees to any protocol, greets at once, and answers what it hears, till either side ends."""

    scheme = "http"

    def __init__(self) -> None:
        self.left = threading.Event()
        super().__init__(_Handler, 0, "127.0.0.1")


class _Handler(socketserver.StreamRequestHandler):
    server: Upgrading

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n")).lower()
        kind = b"websocket" if b"upgrade: websocket" in head else b"other"
        accept = b"sec-websocket-accept: %s\r\n" % ACCEPT
        self.request.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: %s\r\n%s\r\n%s"
            % (kind, accept, GREETING)
        )
        while (chunk := self.request.recv(65536)) and chunk[:1] != CLOSE:
            self.request.sendall(REPLY)
        self.server.left.set()


@pytest.fixture(scope="module")
def server() -> Iterator[Upgrading]:
    with Upgrading() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: Upgrading, proxy_folder: Path) -> Iterator[Proxy]:
    modes = [f"reverse:{server.address}", "regular"]
    with start_proxy(modes, [], proxy_folder, "upgrades") as proxy:
        yield proxy


def upgraded(proxy: Proxy, server: Upgrading, kind: str, tunnel: bool) -> socket.socket:
    """A connection on which both sides have agreed."""
    client = socket.create_connection(("127.0.0.1", proxy.ports[tunnel]), timeout=SECONDS)
    address = server.address.removeprefix("http://").encode()
    if tunnel:
        client.sendall(b"CONNECT %s HTTP/1.1\r\nhost: %s\r\n\r\n" % (address, address))
        until(client, b"\r\n\r\n")
    head = b"GET /live HTTP/1.1\r\nhost: %s\r\nconnection: upgrade\r\nupgrade: %s\r\n%s\r\n"
    client.sendall(head % (address, kind.encode(), ASKS[kind]))
    assert until(client, GREETING).startswith(b"HTTP/1.1 101 ")
    return client


def until(side: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        piece: Any = side.recv(65536)
        assert piece, received
        received += piece
    return received


@pytest.mark.parametrize("tunnel", [False, True], ids=["reverse", "tunnel"])
@pytest.mark.parametrize("kind", ASKS)
def test_both_sides_hear_each_other_and_the_end(
    proxy: Proxy, server: Upgrading, kind: str, tunnel: bool
) -> None:
    server.left.clear()
    with upgraded(proxy, server, kind, tunnel) as client:
        for _ in range(2):
            client.sendall(QUESTION)
            until(client, REPLY)
    assert server.left.wait(SECONDS)
    proxy.check()


def test_mitmproxy_ends_at_once_whatever_is_open(proxy: Proxy, server: Upgrading) -> None:
    """Nobody's last words are waited for: no reply is under way."""
    with ExitStack() as stack:
        for kind, tunnel in product(ASKS, (False, True)):
            stack.enter_context(upgraded(proxy, server, kind, tunnel))
        proxy.terminate()
        assert proxy.exit_status() == 0
        assert "last words" not in proxy.output
