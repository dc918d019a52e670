"""Real flows in mitmweb, requested as by its page: model traffic as a conversation, while it comes
and afterwards.
"""

import asyncio
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.support.by_path_server import CHAT, ByPathServer, Says, Step
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, Live, question
from tests.support.frames import END, ROLE, delta
from tests.support.harness import SECONDS_TO_START, VARIANTS, LlamaServer
from tests.support.mitmweb import Mitmweb

pytestmark = pytest.mark.slow

SERVER = "Thinking server"
ASK = {"messages": [{"role": "user", "content": "What is 12 times 7?"}], "max_tokens": 200}


class Looker:
    """Sends mitmweb the requests of its page."""

    def __init__(self, web: Mitmweb) -> None:
        self._base, _, self._query = web.page.partition("?")

    def flows(self) -> list[dict[str, object]]:
        flows: list[dict[str, object]] = json.loads(self._get("flows"))
        return flows

    def view(self, message: str, name: str = "Auto") -> dict[str, str]:
        """A content view of the newest flow."""
        path = f"flows/{self.flows()[-1]['id']}/{message}/content/{urllib.parse.quote(name.lower(), safe='()')}.json"
        view: dict[str, str] = json.loads(self._get(path))
        return view

    def shows(self, text: str) -> dict[str, str]:
        """The reply's view, once `text` is in it."""
        deadline = time.monotonic() + SECONDS_TO_START
        while text not in (view := self.view("response"))["text"]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"expected {text!r}, got {view}")
            time.sleep(0.02)  # a page is told; who only asks has to ask again
        return view

    def revert(self) -> None:
        self._get(f"flows/{self.flows()[-1]['id']}/revert", "POST")

    def _get(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(f"{self._base}{path}?{self._query}", method=method)
        request.add_header("cookie", "_mitmproxy_xsrf=ab")
        request.add_header("x-xsrftoken", "ab")
        with urllib.request.urlopen(request) as answer:
            body: bytes = answer.read()
        return body

    @contextmanager
    def open_page(self) -> Iterator[None]:
        """Be a page that is there, and nothing else."""
        with asyncio.Runner() as loop, ThreadPoolExecutor(1) as aside:
            address = f"{self._base.replace('http', 'ws', 1)}updates?{self._query}"
            page, leave = loop.run(_connected(address)), asyncio.Event()
            staying = aside.submit(loop.run, leave.wait())
            yield
            loop.get_loop().call_soon_threadsafe(leave.set)
            staying.result(SECONDS_TO_START)
            page.close()
            loop.run(_read_to_end(page))


async def _connected(address: str) -> WebSocketClientConnection:
    return await websocket_connect(address)


async def _read_to_end(page: WebSocketClientConnection) -> None:
    while await page.read_message() is not None:
        pass


@pytest.fixture(scope="module")
def llama_web(proxy_folder: Path) -> Iterator[Mitmweb]:
    with (
        LlamaServer(VARIANTS["tags"], proxy_folder / "seen-llama.log") as llama,
        Mitmweb(llama.address, proxy_folder) as web,
    ):
        yield web


def test_a_real_models_reply_is_a_conversation(
    llama_web: Mitmweb, dialect: Dialect, streamed: bool
) -> None:
    with Client(llama_web.port) as client:
        answer = dialect.read(client.ask(dialect.path, question(streamed, **ASK)).body, streamed)
    looker = Looker(llama_web)
    request, reply = looker.view("request"), looker.view("response")
    assert (request["view_name"], reply["view_name"]) == ("Thinking", "Thinking")
    assert "user: |\n  What is 12 times 7?\n" in request["text"]
    assert "\n  thinking:\n    #│ " in reply["text"]
    assert f"\n    #│ {answer.thinking.split('\n', 1)[0][:60]}" in reply["text"]
    assert f"  text: |\n    {answer.text.strip().split('\n', 1)[0][:60]}" in reply["text"]
    assert f"stop: {'end_turn' if dialect is ANTHROPIC else 'stop'}\n" in reply["text"]
    assert "\ntokens: " in reply["text"]  # llama.cpp's timings have them, where nobody asked
    assert ", thought " in reply["text"]
    server = looker.view("response", SERVER)
    assert server["view_name"] == SERVER
    assert "\n  thinking:\n    #│ " in server["text"]
    assert "stop: stop\n" in server["text"]


@pytest.mark.parametrize("path", [OPENAI.path, ANTHROPIC.path])
def test_a_reply_is_seen_while_it_comes(proxy_folder: Path, path: str) -> None:
    first, second = threading.Event(), threading.Event()
    sent = [delta(content=text) for text in ("<think>I multiply", " and add.</think>It is", " 84.")]
    steps: list[Step] = [ROLE, sent[0], first, sent[1], second, sent[2], *END]
    with (
        ByPathServer({CHAT: Says(steps=steps)}) as server,
        Mitmweb(server.address, proxy_folder) as web,
        (looker := Looker(web)).open_page(),
        Client(web.port) as client,
    ):
        reply = Live(client.send(path, question(True)))
        reply.until(b"multiply")
        assert "still coming: " in looker.shows("#│ I multiply\n")["text"]
        first.set()
        assert "It is\n" in looker.shows("#│ I multiply and add.\n")["text"]
        assert "#│ I multiply and add.\n" in looker.view("response", SERVER)["text"]
        second.set()
        got = reply.rest()
        assert "still coming" not in looker.shows("stop: ")["text"]
        assert "times: " in looker.shows("It is 84.\n")["text"]
    assert [got.count(word) for word in (b"multiply", b" and add.", b"It is", b" 84.")] == [
        1,
        1,
        1,
        1,
    ]
