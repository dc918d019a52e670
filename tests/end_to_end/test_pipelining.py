"""A client that asks before it has been answered: each request is answered, in order."""

import socket

import pytest

from tests.support.clients import question
from tests.support.frames import stream, whole
from tests.support.harness import Proxy
from tests.support.scripted_server import JSON, STREAM, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

SECONDS = 60
LAST = b"connection: close\r\n"


@pytest.mark.parametrize("path", ["/files", "/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_requests_that_come_together_are_answered_in_order(
    proxy: Proxy, server: ScriptedServer, path: str, framing: Framing, streamed: bool
) -> None:
    reply = "<think>deep</think>Hello"
    steps, headers = (stream(reply), STREAM) if streamed else ([whole(reply)], JSON)
    server.answer(Reply(steps, headers, framing=framing))
    body = question(stream=streamed)
    head = b"POST %s HTTP/1.1\r\nhost: x\r\nx-number: %d\r\ncontent-length: %d\r\n%s\r\n"
    with socket.create_connection(("127.0.0.1", proxy.ports[0]), timeout=SECONDS) as client:
        for number, more in enumerate([b"", b"", LAST]):
            client.sendall(head % (path.encode(), number, len(body), more) + body)
        received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200") == received.count(b"Hello") == 3
    assert [one.headers["x-number"] for one in server.requests] == ["0", "1", "2"]
    proxy.check()
