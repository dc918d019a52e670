"""A server in between that passes all on, and breaks an answer in the middle."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler

from tests.support.background_server import BackgroundServer

LARGEST = 1 << 16


class Relay(BackgroundServer):
    """Passes on bytes between clients and the server at `port`; a forward proxy without a port."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._halves = self._closes = False
        self._goes_on = threading.Event()
        super().__init__(_Handler, 0, "127.0.0.1")

    @contextmanager
    def half_answers(self, closes: bool) -> Iterator[None]:
        """Send the first half of each answer, then close, or send the rest when the block ends."""
        self._goes_on.clear()
        self._halves, self._closes = True, closes
        try:
            yield
        finally:
            self._halves = False
            self._goes_on.set()

    def passes(self, answer: bytes, client: socket.socket) -> bool:
        """Pass on an answer; return True if the connection stays."""
        if not self._halves:
            client.sendall(answer)
            return True
        half = len(answer) // 2
        client.sendall(answer[:half])
        if self._closes:
            return False
        self._goes_on.wait()
        client.sendall(answer[half:])
        return True


class _Handler(BaseRequestHandler):
    server: Relay
    request: socket.socket

    def handle(self) -> None:
        chunk = b"" if self.server.port else self.request.recv(LARGEST)
        port = re.search(rb":(\d+)[ /]", chunk)
        with socket.create_connection(
            ("127.0.0.1", int(port[1]) if port else self.server.port)
        ) as server:
            if chunk.startswith(b"CONNECT "):
                self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                chunk = b""
            threading.Thread(target=self._answers, args=(server,), daemon=True).start()
            with suppress(OSError):
                while chunk := chunk or self.request.recv(LARGEST):
                    server.sendall(chunk)
                    chunk = b""

    def _answers(self, server: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(LARGEST):
                if not self.server.passes(answer, self.request):
                    break
            self.request.shutdown(socket.SHUT_RDWR)
