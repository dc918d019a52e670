"""Clients with fixed names reach the server's models, and see the names that they know."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import Client, Dialect, payloads
from tests.support.frames import stream, whole
from tests.support.harness import start_proxy
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

ROWS = ["claude-*=large", "gpt-4o=large", "mine=", "brief=large effort=low budget=500"]
LISTED = {"object": "list", "data": [{"id": "large", "object": "model", "owned_by": "vllm"}]}
REPLY = "<think>I add.</think>84"


@dataclass
class Renaming:
    """The proxy, and the server behind it."""

    port: int
    server: ByPathServer

    def ask(self, path: str, body: dict[str, Any]) -> bytes:
        self.server.requests.clear()
        with Client(self.port) as client:
            return client.ask(path, json.dumps(body).encode()).body

    def requested_models(self) -> set[str]:
        return {body["model"] for body in self.server.bodies(CHAT)}


def _chat(request: ReceivedRequest) -> Says:
    streamed = json.loads(request.body).get("stream")
    return Says(steps=stream(*REPLY)) if streamed else Says(whole(REPLY))


@pytest.fixture(scope="module")
def renaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Renaming]:
    folder = tmp_path_factory.mktemp("names")
    options = [word for row in ROWS for word in ("--set", f"think_models={row}")]
    with (
        ByPathServer({"/v1/models": Says(LISTED), CHAT: _chat}) as server,
        start_proxy([f"reverse:{server.address}"], options, folder, "names") as proxy,
    ):
        yield Renaming(proxy.ports[0], server)


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gpt-4o", "mine"])
def test_the_request_has_the_servers_name_and_the_reply_has_the_clients(
    renaming: Renaming, dialect: Dialect, streamed: bool, model: str
) -> None:
    request = {"model": model, "max_tokens": 9, "stream": streamed}
    messages = [{"role": "user", "content": "12 * 7"}]
    body = renaming.ask(dialect.path, {**request, "messages": messages})
    assert renaming.requested_models() == {"large"}
    answer = dialect.read(body, streamed)
    assert (answer.thinking, answer.text) == ("I add.", "84")
    replies = payloads(body) if streamed else [json.loads(body)]
    named = [reply.get("message", reply) for reply in replies]
    assert {each["model"] for each in named if "model" in each} == {model}
