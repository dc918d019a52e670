"""A capture made through the addon itself: mitmdump with `-w`, in front of llama.cpp's server and
of a scripted one.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from tests.support.frames import END, ROLE, stream, text
from tests.support.harness import VARIANTS, LlamaServer, Proxy, start_proxy
from tests.support.scripted_server import Reply, ScriptedServer

SECRETS = {
    "authorization": "Bearer sk-planted-authorization-1",
    "x-api-key": "planted-api-key-22",
    "cookie": "session=planted-cookie-333; theme=dark",
    "x-forwarded-for": "203.0.113.77",
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
}
PLANTED = [b"sk-planted-authorization-1", b"planted-api-key-22", b"planted-cookie-333", b"203.0.113.77", b"planted_user_4444",
           b"planted-openai-user-5", b"planted-query-6"]  # fmt: skip
ECHO = "You are sk-planted-authorization-1, user planted_user_4444, of planted-query-6 at 203.0.113.77."
"""The error of a server that repeats the request."""
TOOL = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "input_schema": {"type": "object", "properties": {}},
}


@dataclass(frozen=True)
class Capture:
    """The file, and where its servers were."""

    file: Path
    addresses: tuple[str, ...]


def asks(
    port: int,
    path: str,
    question: str,
    *,
    stream: bool,
    bytes_read: int | None = None,
    **fields: object,
) -> bytes:
    """Ask as a client does that has secrets; read so many bytes and leave, or all."""
    body = {
        "model": "tiny-think",
        "max_tokens": 200,
        "messages": [{"role": "user", "content": question}],
        "stream": stream,
    }
    owner = (
        {"metadata": {"user_id": "planted_user_4444"}}
        if "messages" in path
        else {"user": "planted-openai-user-5"}
    )
    connection = HTTPConnection("127.0.0.1", port)
    connection.request(
        "POST", f"{path}?key=planted-query-6", json.dumps({**body, **owner, **fields}), SECRETS
    )
    response: HTTPResponse = connection.getresponse()
    received = response.read(bytes_read)
    response.close()
    connection.close()
    return received


@pytest.fixture(scope="session")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    folder = tmp_path_factory.mktemp("capture")
    file = folder / "capture.flows"
    with ScriptedServer() as scripted, LlamaServer(VARIANTS["tags"], folder / "llama.log") as llama:
        modes = [f"reverse:{llama.address}", f"reverse:{scripted.address}"]
        with start_proxy(
            modes, ["-w", str(file), "--set", "think_server=generic"], folder, "capture"
        ) as proxy:
            _ask_all(proxy, scripted)
        scripted.shutdown()
        yield Capture(file, (llama.address, scripted.address))


def _ask_all(proxy: Proxy, scripted: ScriptedServer) -> None:
    port = proxy.ports[0]
    for path in ("/v1/chat/completions", "/v1/messages"):
        for streamed in (True, False):
            asks(port, path, "12 * 7", stream=streamed)
    asks(port, "/v1/messages", "What is the weather in Oslo and Rome?", stream=True, tools=[TOOL])
    asks(port, "/v1/chat/completions", "12 * 7", stream=False, n=-1)
    _leave_in_midstream(proxy, scripted)
    scripted.answer(Reply(stream("<think>Who?</think>", ECHO[:20], ECHO[20:])))
    asks(proxy.ports[1], "/v1/messages", "Who am I?", stream=True)


def _leave_in_midstream(proxy: Proxy, scripted: ScriptedServer) -> None:
    """The server waits until the client has gone; a model may be done before anybody can go."""
    gone = threading.Event()
    scripted.answer(Reply([ROLE, *text("<think>A loop", ".</think>", "for i"), gone, *END]))
    asks(proxy.ports[1], "/v1/chat/completions", "Write a loop.", stream=True, bytes_read=99)
    proxy.wait_for("Client disconnected")
    gone.set()
