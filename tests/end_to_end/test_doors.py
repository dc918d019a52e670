"""Headers that go to the model server, and clients that may come in, with a real proxy."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from tests.support.clients import Client, Dialect, question
from tests.support.frames import stream
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>deep</think>Hello"))
PRIVATE = {
    "cookie": "session=1",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "x",
    "x-claude-code-session-id": "1",
}


@pytest.mark.parametrize(
    "secret",
    [{"x-api-key": "sk-ant-api03-x"}, {"authorization": "Bearer sk-ant-oat01-x"}],
    ids=["a key", "a token"],
)
def test_keys_of_anthropics_and_cookies_never_reach_the_server(
    client: Client, server: ScriptedServer, proxy: Proxy, dialect: Dialect, secret: dict[str, str]
) -> None:
    server.answer(GOOD)
    assert client.ask(dialect.path, question(stream=True), PRIVATE | secret).status == 200
    headers = server.requests[0].headers
    assert "sk-ant" not in str(headers)
    assert not {"cookie", "authorization", "x-api-key", *PRIVATE} & headers.keys()
    assert "a key of Anthropic's" in proxy.output
    assert "sk-ant-" not in proxy.output


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example:8080"}],
    ids=["a page posts", "a hidden page posts", "a name is pointed here"],
)
def test_a_foreign_page_is_refused(
    client: Client, server: ScriptedServer, dialect: Dialect, headers: dict[str, str]
) -> None:
    server.answer(GOOD)
    answer = client.ask(dialect.path, question(stream=True), headers)
    assert answer.status == 403
    assert "think_hosts" in json.loads(answer.body)["error"]["message"]
    assert server.requests == []


def test_who_does_not_know_mitmproxys_password_stays_outside(
    server: ScriptedServer, proxy_folder: Path
) -> None:
    server.answer(GOOD)
    modes, options = [f"reverse:{server.address}", "regular"], ["--set", "proxyauth=me:secret"]
    login = f"Basic {b64encode(b'me:secret').decode()}"
    with start_proxy(modes, options, proxy_folder, "proxyauth") as locked:
        headers = ("authorization", "proxy-authorization")
        doors = zip(locked.ports, ("", server.address), headers, strict=True)
        for port, base, header in doors:
            for path in ("/v1/chat/completions", "/v1/messages", "/other"):
                with Client(port) as client:
                    assert client.ask(base + path, question(stream=True)).status in (401, 407)
                    assert server.requests == []
                    answer = client.ask(base + path, question(stream=True), {header: login})
                    assert answer.status == 200
                server.answer(GOOD)
