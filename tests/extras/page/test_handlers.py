"""The page's part of mitmweb's server, requested as by a program: its login and its rules hold."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from converter.extras.page.handlers import FILES, FOLDER
from converter.extras.recordings.library import Library
from tests.support.asked_sum import THOUGHT, question
from tests.support.asked_sum import ask as ask_model
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.clients import SECONDS, Client
from tests.support.frames import END, ROLE, text
from tests.support.harness import ADDON
from tests.support.mitmweb import Mitmweb
from tests.support.rows import rows_of
from tests.support.think_page import COOKIE, XSRF, ask, flows
from tests.test_shape import LONGEST_FILE

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

OWN = {"content-type": "application/json", "cookie": COOKIE, "x-xsrftoken": XSRF}
LIMIT = 88_000
"""Bytes of all that a browser loads at first, but for lines of comments, which are free as they are
in Python. A session's own view took it from 77,000.
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("llamacpp")) as listening:
        yield listening


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def web(server: ByPathServer, kept: Path, proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(server.address, proxy_folder, "--set", f"think_record={kept / 'all'}") as running:
        ask_model(running, server)
        yield running
        running.check()


@pytest.fixture
def exchange(web: Mitmweb) -> str:
    return f"/exchanges/{flows(web)[0]}"


def test_the_files_are_small_and_load_nothing_from_elsewhere() -> None:
    files = [FOLDER / name for name in ("think.html", "whole.html", *FILES)]
    first = [file for file in files if file.stem != "whole"]
    lines = [line for file in first for line in file.read_bytes().splitlines(keepends=True)]
    assert sum(len(line) for line in lines if not line.lstrip().startswith(b"//")) < LIMIT
    shown = "".join(file.read_text() for file in files)
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "@import",
    ):
        assert word not in shown
    assert "://" not in shown.replace("http://www.w3.org/2000/svg", "").replace(":\\/\\/", "")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_a_script_is_read_at_one_sitting(name: str) -> None:
    assert len((FOLDER / name).read_text().splitlines()) <= LONGEST_FILE


PATHS = ROWS["paths"]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_sent_without_the_token(web: Mitmweb, path: str) -> None:
    for sent in (ask(web, path, token=False), ask(web, _with(path, "token=wrong"), token=False)):
        assert sent.status == 403
        assert THOUGHT.encode() not in sent.body
    form = ask(web, token=False)
    assert b'type="password"' in form.body


def _with(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"


@pytest.mark.parametrize("action", ["keep", "again"])
@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        {**OWN, "x-xsrftoken": "bb"},
        {**OWN, "sec-fetch-site": "cross-site"},
        {**OWN, "sec-fetch-site": "same-site"},
    ],
    ids=["no cookie", "another cookie", "another site", "a neighbour"],
)
def test_another_site_cannot_press_a_button(
    web: Mitmweb, exchange: str, action: str, headers: dict[str, str]
) -> None:
    before = flows(web)
    answer = ask(
        web, f"{exchange}/{action}", {"name": "stolen", "thinking": "", "text": ""}, headers
    )
    assert answer.status == 403
    assert flows(web) == before


def test_a_button_needs_the_token_as_well(web: Mitmweb, exchange: str) -> None:
    assert ask(web, f"{exchange}/again", {}, token=False).status == 403


def test_another_site_cannot_listen(web: Mitmweb) -> None:
    """A browser sends the origin of who opens a line, and the cookie of a login with it."""
    assert _upgraded(web, "").startswith("HTTP/1.1 101")
    assert _upgraded(web, "Origin: http://evil.example\r\n").startswith("HTTP/1.1 403")


def test_a_page_that_does_not_read_harms_nobody(web: Mitmweb, exchange: str) -> None:
    """A page gets no more than its connection takes, however often it asks."""
    name = exchange.rpartition("/")[2]
    choice = json.dumps({"choose": [name] * 2}).encode()
    with _line(web) as line:
        line.sendall(b"".join(_masked(choice) for _ in range(2000)))
        for _ in range(3):
            assert ask(web, "/search?words=seventy").status == 200
    web.check()


PIECES = 120


def test_a_page_has_news_a_few_times_a_second_not_for_each_piece(
    web: Mitmweb, server: ByPathServer
) -> None:
    seen, pieces = threading.Event(), text(*["word "] * PIECES)
    steps: list[Step] = [ROLE, *text("<think>"), *pieces, seen, *pieces, *END]
    server.rows[CHAT] = Says(steps=steps)
    with _line(web) as line, ThreadPoolExecutor(1) as asking, Client(web.port) as client:
        reply = asking.submit(client.ask, CHAT, question(streamed=True))
        news = _read_until(b'"running": true', line)
        seen.set()
        news += _read_until(b'"state": "done"', line)
        reply.result()
    assert news.count(b'"rows": [') < PIECES / 2


def _read_until(mark: bytes, line: socket.socket) -> bytes:
    line.settimeout(SECONDS)
    came = b""
    while mark not in came:
        piece = line.recv(1 << 20)
        assert piece, came
        came += piece
    return came


def _masked(message: bytes) -> bytes:
    """A frame of a browser's, masked with zeros."""
    assert len(message) < 126
    return bytes([0x81, 0x80 | len(message)]) + bytes(4) + message


@contextlib.contextmanager
def _line(web: Mitmweb) -> Iterator[socket.socket]:
    address = urlsplit(web.page)
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as line:
        line.sendall(_upgrade(web, "").encode())
        assert b"101" in line.recv(12)
        yield line


def _upgraded(web: Mitmweb, headers: str) -> str:
    address = urlsplit(web.page)
    assert address.hostname
    assert address.port
    with socket.create_connection((address.hostname, address.port)) as line:
        line.sendall(_upgrade(web, headers).encode())
        return line.recv(4096).decode(errors="replace")


def _upgrade(web: Mitmweb, headers: str) -> str:
    address = urlsplit(web.page)
    return (
        f"GET /think/updates?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n{headers}"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )


def test_an_exchange_is_kept_with_what_it_should_read(
    web: Mitmweb, exchange: str, kept: Path
) -> None:
    expected = {"thinking": THOUGHT, "text": "The answer is 85.", "why": "one too few"}
    answer = ask(web, f"{exchange}/keep", {"name": "sum", **expected})
    where, following = answer.body.decode().split("\n")
    assert (answer.status, where) == (200, f"kept {kept / 'all' / 'sum.mitm'}")
    assert following == f"next: think-addon record check sum --dir {kept / 'all'}"
    library = Library(kept / "all")
    assert json.loads(library.expectation_path("sum").read_text()) == expected
    assert "-The answer is 85." in library.expectation_difference(library.load("sum"))
    again = ask(web, f"{exchange}/keep", {"name": "sum", **expected})
    assert (again.status, b"is there already" in again.body) == (400, True)


@pytest.mark.parametrize(
    "body", [[], {}, {"name": 5}, {"name": "../up", "thinking": "", "text": ""}]
)
def test_what_cannot_be_kept_is_refused(web: Mitmweb, exchange: str, body: object) -> None:
    answer = ask(web, f"{exchange}/keep", body)
    assert answer.status == 400
    assert b"Traceback" not in answer.body


def test_a_script_that_is_loaded_anew_has_its_page(
    server: ByPathServer, tmp_path: Path, proxy_folder: Path
) -> None:
    """mitmproxy loads a script again when its file has changed; the old page goes, the new comes."""
    script = tmp_path / "again.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ADDON.parent)!r})\nfrom think_addon import ThinkAddon\naddons = [ThinkAddon()]\n"
    )
    with Mitmweb(server.address, proxy_folder, addon=script) as web:
        ask_model(web, server)
        assert ask(web).status == 200
        script.write_text(script.read_text() + "\n")
        web.wait_for("watch it think at", 2)
        assert ask(web).status == 200
        assert len(json.loads(ask(web, "/search?words=seventy").body)["found"]) == 1
        web.check()


def test_a_session_is_a_page(web: Mitmweb, exchange: str) -> None:
    page = ask(web, f"{exchange}/session")
    assert b"whole.js" in page.body
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert THOUGHT in ask(web, f"{exchange}/whole").body.decode()
