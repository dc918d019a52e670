"""Streamed replies are complete where people look at flows or save them."""

import json
import socket
import urllib.request
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import Client
from tests.support.frames import stream
from tests.support.harness import ADDON, MITMDUMP, Program, start_proxy

pytestmark = pytest.mark.slow

REQUEST = json.dumps(
    {"model": "small", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
).encode()
TOKEN = "secret-of-this-test"


@pytest.fixture
def server() -> ByPathServer:
    return ByPathServer({CHAT: Says(steps=stream("<think>a</think>", "b"))})


def _shown(address: str) -> bytes:
    """The body of the first flow's reply, as mitmweb's page gets it."""
    flows = json.load(urllib.request.urlopen(f"{address}/flows?token={TOKEN}"))
    with urllib.request.urlopen(
        f"{address}/flows/{flows[0]['id']}/response/content.data?token={TOKEN}"
    ) as answer:
        body: bytes = answer.read()
    return body


def test_mitmweb_shows_a_streamed_reply_as_the_client_got_it(
    server: ByPathServer, proxy_folder: Path
) -> None:
    mode = f"reverse:{server.address}@127.0.0.1:0"
    with socket.create_server(("127.0.0.1", 0)) as free:
        page = str(free.getsockname()[1])
    listening = [
        "--web-host",
        "127.0.0.1",
        "--web-port",
        page,
        "--no-web-open-browser",
        "--set",
        f"web_password={TOKEN}",
    ]
    command = [
        str(MITMDUMP.with_name("mitmweb")),
        "-s",
        str(ADDON),
        "--mode",
        mode,
        "--set",
        f"confdir={proxy_folder}",
        *listening,
    ]
    with server, Program(command, proxy_folder / "web.log") as web:
        [port] = web.wait_for(r"listening at 127\.0\.0\.1:(\d+)\.")
        [address] = web.wait_for(r"Web server listening at (http://127\.0\.0\.1:\d+)")
        with Client(int(port)) as client:
            got = client.ask(CHAT, REQUEST).body
        assert _shown(address) == got
    assert b"reasoning_content" in got


def test_a_saved_flow_holds_a_streamed_reply_as_the_client_got_it(
    server: ByPathServer, proxy_folder: Path
) -> None:
    kept = proxy_folder / "kept.mitm"
    with (
        server,
        start_proxy(
            [f"reverse:{server.address}"], ["-w", str(kept)], proxy_folder, "kept"
        ) as proxy,
        Client(proxy.ports[0]) as client,
    ):
        got = client.ask(CHAT, REQUEST).body
    with kept.open("rb") as file:
        [flow] = FlowReader(file).stream()
    assert isinstance(flow, HTTPFlow)
    assert flow.response
    assert flow.response.content == got
