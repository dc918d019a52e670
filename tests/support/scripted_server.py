"""A server on loopback that takes exactly the steps of a test, one after another, and keeps the
requests.

That a reply is live is proven without sleeping: a step may be a `threading.Event`, for which the
server waits before it goes on: the test sets it when the client has what was sent before.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from tests.support.background_server import BackgroundServer

STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
_CHATS = re.compile("completion|messages|responses|chat|generate")
"""In the paths of requests for a reply."""
SECONDS_TO_WAIT = 120  # only when a test has failed; it is over by then


class Framing(Enum):
    """How a response marks the end of its body."""

    CHUNKED = "chunked"
    LENGTH = "content-length"
    CLOSE = "until the connection closes"
    NO_BODY = "the status says that there is none"


class Drop:
    """A step: cut the connection in the middle of the body."""


@dataclass(frozen=True)
class Reply:
    """An answer; each `bytes` of the body goes out by itself.

    `before`: the head waits for it. `once`: a connection brings one reply, which does not say so,
    and is dead for the next request. So are llama.cpp's after a stream: it closes them at once, but
    a quick request comes before anybody has noticed. `then`: what the next request for a reply is
    answered, the last of them all others.
    """

    steps: Sequence[bytes | threading.Event | Drop] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: STREAM)
    status: int = 200
    framing: Framing = Framing.CHUNKED
    once: bool = False
    then: "Reply | None" = None
    before: threading.Event | None = None


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received. `target`: the path, or the whole address, of its first line."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class ScriptedServer(BackgroundServer, HTTPServer):
    """Answers every request with the reply set last."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests: list[ReceivedRequest] = []
        self.reply = Reply()
        self.came = threading.Event()
        super().__init__(_Handler, 0, "127.0.0.1")

    def answer(self, reply: Reply) -> None:
        """Answer with `reply` from now on, and forget the requests so far."""
        self.release()
        self.reply = reply
        self.requests.clear()
        self.came.clear()

    def release(self) -> None:
        """Let a handler that still waits, for a test that has failed, go on to its end."""
        for step in self.reply.steps:
            if isinstance(step, threading.Event):
                step.set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0  # a step goes out at once
    _used = False  # this connection has brought a reply

    def do_POST(self) -> None:
        if self._used and self.server.reply.once:
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = ReceivedRequest(
            self.command,
            self.path,
            {name.lower(): value for name, value in self.headers.items()},
            body,
        )
        reply = self.server.reply
        for each in self.server.requests:
            # a probe of the addon's own comes beside the first request, sooner or later
            reply = (reply.then or reply) if _CHATS.search(each.target) else reply
        self.server.requests.append(request)
        self.server.came.set()
        if reply.before:
            reply.before.wait(SECONDS_TO_WAIT)
        self._send_head(reply)
        if not (reply.framing is Framing.NO_BODY or request.method == "HEAD"):
            self._send_body(reply)
        self._used = True
        self.close_connection = self.close_connection or reply.framing is Framing.CLOSE

    do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815 (the names that http.server looks for)

    def _send_head(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.framing is Framing.CHUNKED:
            self.send_header("transfer-encoding", "chunked")
        if reply.framing is Framing.LENGTH:
            self.send_header(
                "content-length",
                str(sum(len(step) for step in reply.steps if isinstance(step, bytes))),
            )
        self.end_headers()

    def _send_body(self, reply: Reply) -> None:
        chunked = reply.framing is Framing.CHUNKED
        for step in reply.steps:
            if isinstance(step, Drop):
                self.close_connection = True
                return
            if isinstance(step, threading.Event):
                step.wait(SECONDS_TO_WAIT)
            elif step:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step) if chunked else step)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in http.server)
        """Say nothing: the test's own output is what counts."""
