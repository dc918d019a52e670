"""Run huge exchanges through a proxy while `gaps.py` measures the gaps in another client's stream.
This process is client and server of these exchanges, which are rows of `gap_cases.py`.

`python -m tools.bench.gap_server` prints its server's port. Each line of stdin is JSON with the
name of a case and a proxy's port. The process sends the case's request to that proxy. The proxy
passes it on to the server in this process, which answers with the case's reply. Then the process
prints status, length and seconds of the exchange as JSON. If the port is 0, it only builds the
bytes of the case, and prints `{}`.
"""

import json
import re
import socket
import sys
import threading
import time

from tools.bench.gap_cases import CASES
from tools.bench.server import CONTENT_LENGTH, WHOLE_RESPONSE

READ = 1 << 20
"""The most bytes that one read returns."""
SMALL_REPLY = b'{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}'
"""The body of the server's reply in cases in which only the request is huge."""
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
"""The response to paths that the server does not serve."""


class Server:
    """A server that sends `reply` to each request for chat completions or for the list of models.

    `reply` is the whole response, with its head. Any other request gets 404. Each connection has a
    thread.
    """

    def __init__(self) -> None:
        self.reply = b""
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._listening.getsockname()[1])

    def _serve(self) -> None:
        """Accept connections without end, each in a thread of its own."""
        while True:
            connection, _ = self._listening.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """Answer the requests of a connection until it is closed."""
        with connection:
            while head := _read_request(connection):
                path = head.split(b" ", 2)[1]
                is_served = path.endswith((b"/chat/completions", b"/models"))
                connection.sendall(self.reply if is_served else NOT_FOUND)


def _read_request(connection: socket.socket) -> bytes:
    """Read a whole request and return its head; empty if the connection ends within the head."""
    read = bytearray()
    while (end := read.find(b"\r\n\r\n")) < 0:
        if not (data := connection.recv(READ)):
            return b""
        read += data
    length = CONTENT_LENGTH.search(read, 0, end + 2)
    left = (int(length[1]) if length else 0) - (len(read) - end - 4)
    while left > 0 and (data := connection.recv(READ)):
        left -= len(data)
    return bytes(read[:end])


def send_request(port: int, request: bytes) -> dict[str, object]:
    """Send a request to a proxy, and read until the proxy closes the connection.

    Returns `status` (0 if none came), `length` (bytes of head and body) and `seconds`.
    """
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
    """Run the exchange that each line of stdin names, and print how it ended."""
    server = Server()
    print("port", server.port, flush=True)
    cases = {case.name: case for case in CASES}
    exchanges: dict[str, tuple[bytes, bytes]] = {}
    for line in sys.stdin:
        order = json.loads(line)
        case = cases[order["case"]]
        if order["case"] not in exchanges:
            exchanges.clear()
            reply = case.reply() if case.reply else WHOLE_RESPONSE % (len(SMALL_REPLY), SMALL_REPLY)
            exchanges[case.name] = case.wire_bytes, reply
        request, server.reply = exchanges[case.name]
        print(json.dumps(send_request(order["port"], request) if order["port"] else {}), flush=True)


if __name__ == "__main__":
    main()
