"""A server on loopback with replies by path, several in order for one path, as an agent needs.

`tests.support.scripted_server` answers every request alike; the addon's own probes (the kind of
server, counts of tokens) need more than that.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.background_server import BackgroundServer
from tests.support.scripted_server import JSON, STREAM, Drop, ReceivedRequest

type Step = bytes | float | threading.Event | Drop
type Script = Callable[[ReceivedRequest], "Says"]
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
FORWARD = 1  # the port of the forward proxy
SECONDS_TO_WAIT = 120  # only when a test has failed; it is over by then


class Says:
    """A reply. `body`: bytes, or a value for JSON. `steps` are sent one by one: the server waits at
    an event for the test, at a number for so many seconds, and cuts the connection at a `Drop`.
    """

    def __init__(
        self,
        body: object = b"",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        steps: Sequence[Step] = (),
    ) -> None:
        whole = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.headers = headers or (STREAM if steps else JSON)
        self.steps: Sequence[Step] = steps or [whole]


def owned_by(owner: str) -> dict[str, Says]:
    """Return the list of models, by whose owner most servers are recognised."""
    return {"/v1/models": Says({"object": "list", "data": [{"id": "small", "owned_by": owner}]})}


NOT_FOUND = Says({"detail": "Not Found"}, 404)


class ByPathServer(BackgroundServer, HTTPServer):
    """A path without a row is answered with FastAPI's 404. The last reply of a row repeats."""

    def __init__(
        self,
        rows: Mapping[str, Says | Script | Sequence[Says]] | None = None,
        port: int = 0,
        host: str = "127.0.0.1",
    ) -> None:
        self.rows: dict[str, Says | Script | Sequence[Says]] = dict(rows or {})
        self.requests: list[ReceivedRequest] = []
        self._lock = threading.Lock()
        super().__init__(_Handler, port, host)

    def paths(self) -> list[str]:
        return [request.target for request in self.requests]

    def bodies(self, path: str = CHAT) -> list[dict[str, Any]]:
        """Return the bodies of the requests to one endpoint, in order."""
        return [json.loads(request.body) for request in self.requests if _path(request) == path]

    def reply(self, request: ReceivedRequest) -> Says:
        path = _path(request)
        row = self.rows.get(path, NOT_FOUND)
        with self._lock:
            self.requests.append(request)
            before = sum(1 for other in self.requests if _path(other) == path) - 1
        if isinstance(row, Says):
            return row
        return row(request) if callable(row) else row[min(before, len(row) - 1)]


def _path(request: ReceivedRequest) -> str:
    """Return the path, also of a whole address, as behind a proxy (RFC 9112, 3.2.2)."""
    return urlsplit(request.target).path


class _Handler(BaseHTTPRequestHandler):
    server: ByPathServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0

    def do_POST(self) -> None:
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.reply(ReceivedRequest(self.command, self.path, headers, body))
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for step in reply.steps:
            if isinstance(step, Drop):
                self.close_connection = True
                return
            self._take(step)
        self.wfile.write(b"0\r\n\r\n")

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue  # trailers
        return body

    do_GET = do_POST  # noqa: N815 (the name that http.server looks for)

    def _take(self, step: bytes | float | threading.Event) -> None:
        if isinstance(step, threading.Event):
            assert step.wait(SECONDS_TO_WAIT), "nobody waited for this"
        elif isinstance(step, float):
            time.sleep(step)
        elif step:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(step), step))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name in http.server)
        """Say nothing."""
