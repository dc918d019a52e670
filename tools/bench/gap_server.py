"""The other server and the other client of `gaps.py`: `python -m tools.bench.gap_server`.

The process prints its port. Each input line names a case and a proxy's port: the process sends the
case's request to that port, answers the proxy with the case's reply, and prints the status, length
and time of the exchange as JSON.
"""

import json
import re
import socket
import sys
import threading
import time

from tools.bench.gap_cases import CASES
from tools.bench.server import LENGTH, WHOLE

READ = 1 << 20
SMALL = b'{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}'
UNKNOWN = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


class Server:
    """Answers each chat request, and each request for models, with `reply`."""

    def __init__(self) -> None:
        self.reply = b""
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._listening.getsockname()[1])

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while head := _head(connection):
                path = head.split(b" ", 2)[1]
                is_served = path.endswith((b"/chat/completions", b"/models"))
                connection.sendall(self.reply if is_served else UNKNOWN)


def _head(connection: socket.socket) -> bytes:
    """Read a request; return its head, empty when none came."""
    read = bytearray()
    while (end := read.find(b"\r\n\r\n")) < 0:
        if not (data := connection.recv(READ)):
            return b""
        read += data
    length = LENGTH.search(read, 0, end + 2)
    left = (int(length[1]) if length else 0) - (len(read) - end - 4)
    while left > 0 and (data := connection.recv(READ)):
        left -= len(data)
    return bytes(read[:end])


def ask(port: int, request: bytes) -> dict[str, object]:
    """Send a request, read its reply; return the status, the length and the seconds."""
    began, length, status = time.monotonic(), 0, b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        while data := connection.recv(READ):
            status = status or data[:12]
            length += len(data)
    match = re.search(rb"\d{3}", status)
    return {
        "status": int(match[0]) if match else 0,
        "length": length,
        "seconds": time.monotonic() - began,
    }


def main() -> None:
    """Run the exchanges that the input's lines name."""
    server = Server()
    print("port", server.port, flush=True)
    cases = {case.name: case for case in CASES}
    exchanges: dict[str, tuple[bytes, bytes]] = {}
    for line in sys.stdin:
        order = json.loads(line)
        case = cases[order["case"]]
        if order["case"] not in exchanges:
            exchanges.clear()
            reply = case.reply() if case.reply else WHOLE % (len(SMALL), SMALL)
            exchanges[case.name] = case.wire_bytes, reply
        request, server.reply = exchanges[case.name]
        print(json.dumps(ask(order["port"], request) if order["port"] else {}), flush=True)


if __name__ == "__main__":
    main()
