"""The base of the tests' servers: each serves in a thread of its own as soon as it is built."""

import socket
import socketserver
import threading
from contextlib import ExitStack
from typing import Any, Self

_HAD = set[int]()
"""Ports that servers of this process have had."""


class BackgroundServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves until its `with` block is left, each connection in a thread that nobody waits for."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    scheme = "http"

    def __init__(
        self, handler: type[socketserver.BaseRequestHandler], port: int, host: str
    ) -> None:
        super().__init__((host, port), handler)
        poll = {"poll_interval": 0.01}
        threading.Thread(target=self.serve_forever, kwargs=poll, daemon=True).start()

    def server_bind(self) -> None:
        """Take a port that no server had before: the proxies that tests share know servers by it,
        and would not ask the next one what it is.
        """
        wanted = self.server_address
        super().server_bind()
        with ExitStack() as taken:  # until another is found, so that none is tried twice
            while wanted[1] == 0 and self.server_address[1] in _HAD:
                taken.enter_context(self.socket)
                self.socket = socket.socket(self.address_family, self.socket_type)
                self.server_address = wanted
                super().server_bind()
        _HAD.add(self.server_address[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is part of some tests."""
