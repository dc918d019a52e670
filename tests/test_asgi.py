"""The ASGI wrapper of docs/library.md, around a bare app."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from converter.core.library import read
from docs.asgi import Message, Receive, Scope, Send, Thinking
from tests.support.frames import stream, whole

PIECES = stream("<thi", "nk>hm</think>So")
SSE, JSON = b"text/event-stream", b"application/json"
REQUEST = {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]}


class Server:
    """An app that answers every request with the same pieces, and keeps the last request."""

    def __init__(self, pieces: Sequence[bytes], kind: bytes = SSE, status: int = 200) -> None:
        self.pieces, self.kind, self.status = pieces, kind, status
        self.breaks = False
        self.path = ""
        self.request: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, length = b"", int(dict(scope["headers"])[b"content-length"])
        while len(body) < length:
            body += (await receive())["body"]
        assert len(body) == length
        self.path, self.request = scope["path"], json.loads(body)
        headers = [(b"content-type", self.kind), (b"content-length", b"9"), (b"x-own", b"1")]
        start = {"type": "http.response.start", "status": self.status, "headers": headers}
        await send(start)
        for index, piece in enumerate(self.pieces):
            more = self.breaks or index < len(self.pieces) - 1
            await send({"type": "http.response.body", "body": piece, "more_body": more})
        if self.breaks:
            raise ConnectionError("out of memory")


def request_to(app: Server, path: str, body: object) -> tuple[Message, list[Message]]:
    """Ask the app around the server; return the head of its answer, and the pieces."""
    written = body if isinstance(body, bytes) else json.dumps(body).encode()
    halves = [written[:20], written[20:]]
    messages = [
        {"type": "http.request", "body": half, "more_body": half != halves[1]} for half in halves
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    length = (b"content-length", str(len(written)).encode())
    scope = {"type": "http", "method": "POST", "path": path, "headers": [length]}
    try:
        asyncio.run(Thinking(app)(scope, receive, send))
    except ConnectionError:
        assert app.breaks
    return sent[0], sent[1:]


def _body(pieces: list[Message]) -> bytes:
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    return b"".join(piece["body"] for piece in pieces)


@pytest.mark.parametrize(
    "path",
    ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/api/chat", "/base/v1/messages"],
)
def test_every_client_gets_thinking_in_its_own_field(path: str) -> None:
    server, body = Server(PIECES), {**REQUEST, "input": "hi", "stream": True}
    head, pieces = request_to(server, path, body)
    message = read(_body(pieces))
    assert (message.thinking, message.text, message.failure) == ("hm", "So", "")
    assert server.path.endswith("/v1/chat/completions")
    names = [name for name, _ in head["headers"]]
    assert (b"x-own" in names, b"content-length" in names) == (True, False)


def test_a_stream_is_sent_as_it_comes() -> None:
    frames = stream("<think>a", "b", "c</think>", "So", " it", " is")
    _, pieces = request_to(Server(frames), "/v1/messages", {**REQUEST, "stream": True})
    assert len(pieces) > 5
    assert all(piece["body"] for piece in pieces[:-1])


def test_a_whole_reply_is_one_body() -> None:
    server = Server([whole("<think>hm</think>So")], JSON)
    head, pieces = request_to(server, "/v1/messages", REQUEST)
    blocks = json.loads(_body(pieces))["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    assert (b"content-type", b"application/json") in head["headers"]


def test_an_error_has_the_clients_dialect() -> None:
    error = b'{"error": {"message": "busy", "type": "overloaded"}}'
    head, pieces = request_to(Server([error[:9], error[9:]], JSON, 503), "/v1/messages", REQUEST)
    assert (head["status"], json.loads(_body(pieces))["error"]["message"]) == (529, "busy")


def test_a_request_that_breaks_the_format_goes_no_further() -> None:
    server = Server(PIECES)
    head, pieces = request_to(server, "/v1/messages", {**REQUEST, "max_tokens": "many"})
    assert (head["status"], server.request) == (400, None)
    assert "max_tokens" in json.loads(_body(pieces))["error"]["message"]


def test_an_app_that_breaks_off_leaves_no_reply_without_an_end() -> None:
    server = Server(PIECES[:3])
    server.breaks = True
    _, pieces = request_to(server, "/v1/messages", {**REQUEST, "stream": True})
    assert b"event: error" in pieces[-1]["body"]
    assert b"out of memory" in pieces[-1]["body"]


def test_all_else_is_the_apps_own() -> None:
    server = Server([b"[]"], JSON)
    head, pieces = request_to(server, "/v1/tokenize", REQUEST)
    assert (server.path, server.request, head["headers"][1][1]) == ("/v1/tokenize", REQUEST, b"9")
    assert _body(pieces) == b"[]"
