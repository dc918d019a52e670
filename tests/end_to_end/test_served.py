"""Recordings served again and requested through the addon: each client gets, byte for byte, the
reply of the golden.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.core.dialects.table import OPENAI_CHAT
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import REPLY_ID, RecordedRequest, Recording
from converter.extras.recordings.server import FAST, RecordedServer
from tests.support.clients import Client
from tests.support.harness import TESTS, Proxy, start_proxy
from tests.support.recorded import FOLDER
from tools.recording_plans import PLANS

pytestmark = pytest.mark.slow

LIBRARY = Library(FOLDER)
DEFAULTS = {
    option.name: option.default for option in settings.OPTIONS if option.name in settings.RECORDED
}

FLOW = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CREATED = re.compile(rb'"created_at":\d+')
MOMENT = re.compile(rb'"created_at":"[^"]+",(?="(?:message|response)")')
CALL = re.compile(rb"\bcall_[0-9a-f]{12}_")

TIMES = {plan.name: plan.times for plan in PLANS}
"""Requests for each: a lesson of one reply, confirmed by a second, shows in the third."""


def settled(body: bytes) -> bytes:
    """A call's id ends as its flow's; a response has that id and the time of its request, as a
    reply of Ollama's API has. A recording has neither.
    """
    body = CALL.sub(b"call_recording_", body)
    body = MOMENT.sub(b'"created_at":"1970-01-01T00:00:00.000000000Z",', body)
    if b'"object":"response"' not in body:
        return body
    return CREATED.sub(b'"created_at":0', FLOW.sub(REPLY_ID.encode(), body))


def complete() -> list[str]:
    """The names of recordings with a complete reply, but for texts that the addon requests when a
    chat completion has failed.
    """
    kept = {name: LIBRARY.load(name) for name in LIBRARY.names()}
    whole = {name: each for name, each in kept.items() if not each.abort_reason}
    return [name for name, each in whole.items() if not each.awaited().is_text_completion]


@dataclass(frozen=True)
class Bench:
    """mitmdump with the addon, in front of a server of all recordings."""

    proxy: Proxy

    def ask(self, recorded: Recording, request: RecordedRequest) -> tuple[int, bytes]:
        """Return the client's reply under the recording's options; the addon probes the server."""
        options = {
            f"think_{name}": recorded.options.get(name, default)
            for name, default in DEFAULTS.items()
        }
        if recorded.exchange().client_dialect.requests.native_of == recorded.facts.server:
            options["think_server"] = recorded.facts.server  # at a path that shows no server
        with Client(self.proxy.ports[0]) as client:
            assert client.ask("/set-options", json.dumps(options).encode()).status == 200
            answer = client.ask(
                f"/{recorded.name}{request.path}", request.body, request.headers, request.method
            )
        return answer.status, settled(answer.body)


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder: Path = tmp_path_factory.mktemp("served")
    with ExitStack() as stack:
        server = stack.enter_context(
            RecordedServer([LIBRARY.load(name) for name in LIBRARY.names()], 0, FAST)
        )
        # a replay tells the counts of a client that has not asked for them
        arguments = ["-s", str(TESTS / "support" / "option_setter.py"), "--set", "think_usage=off"]
        yield Bench(
            stack.enter_context(
                start_proxy([f"reverse:{server.address}"], arguments, folder, "served")
            )
        )


@pytest.mark.parametrize("name", complete())
def test_the_client_gets_what_the_golden_says(bench: Bench, name: str) -> None:
    recorded = LIBRARY.load(name)
    answers = [bench.ask(recorded, recorded.request) for _ in range(TIMES.get(name, 1))]
    assert answers[-1] == (recorded.client_reply.status, settled(recorded.replayed().body))


@pytest.mark.parametrize("name", complete())
def test_and_so_does_a_client_that_asks_as_the_addon_did(bench: Bench, name: str) -> None:
    recorded = LIBRARY.load(name)
    translated = recorded.exchange().endpoint.is_chat and not recorded.exchange().is_native
    if recorded.server_dialect is recorded.client or not translated:
        return
    if recorded.awaited().request.describes_tools:
        return  # who asks with the tools told in words offers none, and is given the words
    assert bench.ask(recorded, recorded.sent_request) == (
        recorded.server_reply.status,
        recorded.replayed(OPENAI_CHAT).body,
    )
