"""mitmweb's own page, behind its login: whatever a model, a client or a server writes is text in
our views, nothing runs and nothing is fetched; a huge reply is drawn to a limit, and no client
waits for it.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.clients import ANTHROPIC, Client
from tests.support.frames import END, ROLE, delta, text, whole
from tests.support.hostile_words import ACTING, LINKS, MARKUP, SHOWN
from tests.support.mitmweb import Mitmweb, Page
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

MARKED_TEXT = " ".join([*MARKUP, *LINKS])
HALVES = "half @1 a pair @2"
"""Of characters of 32 bits: no UTF-8 can carry them, JSON does."""
MEGABYTE = 1_000_000
FRAME = delta(content=" word" * 4)
LINES = "some words\n" * (2 * MEGABYTE // 11)
ELEMENTS = ("#injected", "pre script", "pre img", "pre svg", "pre iframe", "pre style", "pre a")


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("llamacpp")) as server:
        yield server


@pytest.fixture(scope="module")
def web(server: ByPathServer, proxy_folder: Path, page: Page) -> Iterator[Mitmweb]:
    """A mitmweb whose page this browser has logged in to."""
    with Mitmweb(server.address, proxy_folder) as web:
        address, _, token = web.page.partition("?token=")
        page.log_in(address, token)
        yield web
        web.check()


@pytest.fixture
def looked(web: Mitmweb, page: Page) -> Iterator[Page]:
    page.complaints()
    yield page
    assert page.script("return window.hit") is None
    assert [name for name in ELEMENTS if page.elements(name)] == []
    assert {host.partition(":")[0] for host in page.hosts()} <= {"127.0.0.1"}
    assert page.complaints() == []
    web.check()


def exchange_showing(shown: str, status: int = 200) -> tuple[Says, bytes]:
    """A reply and a request with the words wherever a view shows any."""
    function = {"name": shown, "arguments": json.dumps({shown: shown})}
    call = {"index": 0, "id": shown, "type": "function", "function": function}
    frames = [ROLE, *text(f"<think>{shown}</think>", shown), delta(tool_calls=[call], x=shown)]
    name = json.dumps(shown).encode()
    turns = [{"role": role, "content": shown} for role in ("system", "user")]
    request = {"model": shown, "stream": True, "max_tokens": 9, "messages": turns}
    if status != 200:
        error = {"error": {"message": shown, "type": shown}}
        return Says(json.dumps(error).encode(), status), json.dumps(request).encode()
    steps = [halved(frame.replace(b'"small"', name)) for frame in [*frames, *END]]
    return Says(steps=steps), halved(json.dumps(request).encode())


def halved(body: bytes) -> bytes:
    return body.replace(b"@1", rb"\ud800").replace(b"@2", rb"\udfff")


def looks(page: Page, web: Mitmweb) -> str:
    """All that our views show of the newest flow."""
    page.open(web.page.partition("?")[0], "Request")
    page.until(lambda: page.view() == "Thinking", "the view of the request")
    shown = page.content()
    page.turn_to("Response")
    page.until(lambda: page.view() == "Thinking", "the view of the response")
    shown += page.content()
    page.choose("Thinking server")
    shown += page.content()
    page.turn_to("Comment")
    return shown


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("path", [CHAT, ANTHROPIC.path])
def test_markup_and_links_are_text(
    web: Mitmweb, server: ByPathServer, looked: Page, path: str, status: int
) -> None:
    server.rows[CHAT], body = exchange_showing(MARKED_TEXT, status)
    web.clear()
    with Client(web.port) as client:
        client.ask(f"{path}?<script>window.hit=7</script>", body)
    shown = "".join(looks(looked, web).replace("\n", " ").split())
    for markup in (MARKUP[0], MARKUP[1], LINKS[0], LINKS[2]):
        assert "".join(markup.split()) in shown
    looked.screenshot(f"mitmweb-hostile-{status}")


@pytest.mark.parametrize("attack", [ACTING, HALVES])
def test_what_acts_on_a_reader_is_spelled_out(
    web: Mitmweb, server: ByPathServer, looked: Page, attack: str
) -> None:
    server.rows[CHAT], body = exchange_showing(attack)
    web.clear()
    with Client(web.port) as client:
        client.ask(CHAT, body)
    shown = looks(looked, web)
    assert (SHOWN if attack is ACTING else "\\ud800 a pair \\udfff") in shown
    everything = str(looked.script("return document.documentElement.textContent"))
    for sign in ACTING.replace(" ", ""):
        assert sign.isprintable() or sign not in everything


class Meanwhile:
    """A stream of 50 tokens a second, and how many reads of it there were so far."""

    def __init__(self, web: Mitmweb) -> None:
        self._web = web
        self._stop = threading.Event()
        self.reads = 0
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> "Meanwhile":
        self._reader.start()
        while self.reads < 5:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._reader.join()

    def says(self, request: ReceivedRequest) -> Says:
        assert b"paced" in request.body
        return Says(b"", steps=self._steps())  # type: ignore[arg-type]  # one by one

    def _steps(self) -> Iterator[bytes]:
        yield ROLE
        while not self._stop.wait(0.02):
            yield text(" on")[0]
        yield from END

    def _read(self) -> None:
        with Client(self._web.port) as client:
            answer = client.send(CHAT, b'{"model": "paced", "stream": true, "messages": []}')
            while answer.read1():
                self.reads += 1


HUGE = {
    "a stream of 10 MB": Says(
        steps=[ROLE, *text("<think>"), FRAME * 20_000, *text("</think>"), FRAME * 20_000, *END]
    ),
    "4 MB in one piece": Says(whole(f"<think>{LINES}</think>{LINES}")),
}
"""Larger ones are refused, or take long to rewrite, and are cut to the same length. Each takes long
enough to draw for many pieces of a stream.
"""


def test_a_huge_reply_is_drawn_in_the_browser(
    web: Mitmweb, server: ByPathServer, looked: Page
) -> None:
    web.clear()
    server.rows[CHAT] = HUGE["a stream of 10 MB"]
    with Client(web.port, seconds=60) as client:
        client.ask(CHAT, b'{"model": "small", "stream": true, "messages": []}')
    looked.open(web.page.partition("?")[0])
    shown = looked.shows("characters are left out here.")
    assert shown.startswith("# The first 8.0 of ")
