"""Other traffic is as it is without the addon, whatever mitmproxy's options do with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clients import Client, question
from tests.support.frames import stream
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import JSON, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

SECRET, LONG = b'{"a": "secret"}', b"x" * 200_000
SCRIPT = """
from mitmproxy import http
def request(flow):
    if flow.request.path == "/refused":
        flow.response = http.Response.make(403)
    flow.request.text = flow.request.text.replace("secret", "XX")
def response(flow):
    flow.response.text += " and more"
"""


def options(folder: Path) -> list[str]:
    """Those of mitmproxy's that act on a body, each on a path of its own."""
    (folder / "local.txt").write_text("of a file")
    chosen = [
        "block_list=|~u /blocked$|403",
        f"map_local=|~u /local$|.*|{folder / 'local.txt'}",
        "map_remote=|/old$|/new",
        "modify_body=|~u /modified$|secret|XX",
        "body_size_limit=100k",
    ]
    return [word for option in chosen for word in ("--set", option)]


@pytest.fixture(scope="module")
def with_options(own: ScriptedServer, proxy_folder: Path) -> Iterator[Proxy]:
    chosen = options(proxy_folder)
    with start_proxy([f"reverse:{own.address}"], chosen, proxy_folder, "other") as proxy:
        yield proxy


@pytest.fixture(scope="module")
def own() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@contextmanager
def with_script(server: ScriptedServer, folder: Path, script: str) -> Iterator[Proxy]:
    (folder / "script.py").write_text(script)
    arguments = ["-s", str(folder / "script.py")]
    with start_proxy([f"reverse:{server.address}"], arguments, folder, "script") as proxy:
        yield proxy


@pytest.fixture
def server(own: ScriptedServer) -> ScriptedServer:
    own.answer(Reply([SECRET], JSON, framing=Framing.LENGTH))
    return own


@pytest.mark.parametrize(
    ("path", "status", "says", "asks"),
    [
        ("/blocked", 403, b"", None),
        ("/local", 200, b"of a file", None),
        ("/old", 200, SECRET, ("/new", SECRET)),
        ("/modified", 200, b'{"a": "XX"}', ("/modified", b'{"a": "XX"}')),
        ("/other", 200, SECRET, ("/other", SECRET)),
    ],
)
def test_an_option_acts_on_a_request_with_a_body(
    with_options: Proxy,
    server: ScriptedServer,
    path: str,
    status: int,
    says: bytes,
    asks: tuple[str, bytes] | None,
) -> None:
    with Client(with_options.ports[0]) as client:
        answer = client.ask(path, SECRET)
    assert (answer.status, answer.body) == (status, says)
    assert [(one.target, one.body) for one in server.requests] == ([asks] if asks else [])


def test_a_script_acts_on_requests_and_replies(server: ScriptedServer, proxy_folder: Path) -> None:
    with with_script(server, proxy_folder, SCRIPT) as proxy:
        with Client(proxy.ports[0]) as client:
            assert client.ask("/refused", SECRET).status == 403
            assert server.requests == []
            assert client.ask("/other", SECRET).body == SECRET + b" and more"
        assert server.requests[0].body == b'{"a": "XX"}'


@pytest.mark.parametrize("option", ["hardump=FILE", "flow_detail=4"])
def test_who_writes_bodies_has_streamed_ones(
    server: ScriptedServer, proxy_folder: Path, option: str
) -> None:
    file = proxy_folder / "bodies.har"
    arguments = ["--set", option.replace("FILE", str(file))]
    with start_proxy([f"reverse:{server.address}"], arguments, proxy_folder, "bodies") as proxy:
        with Client(proxy.ports[0]) as client:
            client.ask("/other", SECRET)
            server.answer(Reply(stream("<think>deep</think>Hello")))
            client.ask("/v1/chat/completions", question(stream=True))
        proxy.stop()
        written = file.read_text() if "FILE" in option else proxy.output
    assert written.count("secret") == 2
    assert "deep" in written
