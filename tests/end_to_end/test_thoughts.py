"""Thoughts are reported to other tools, kept within a budget, requested, and read from phrases,
each by its option.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tests.support.clients import Client, read_anthropic_stream
from tests.support.frames import delta, stream, whole
from tests.support.harness import start_proxy

pytestmark = pytest.mark.slow

type Start = Callable[..., Client]
REQUEST = {"model": "small", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ATTRIBUTES = '<thinking thought="b" thought_type="reflection" confidence="0.7"/>'
LISTENER = """
import json

def thought(event):
    with open({path!r}, "a") as file:
        file.write(json.dumps(event) + "\\n")
"""


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    with ByPathServer() as server:
        yield server


@pytest.fixture
def start(server: ByPathServer, tmp_path: Path) -> Iterator[Start]:
    """Start a proxy with options; a client of it."""
    with ExitStack() as stack:

        def started(*options: str, script: Path | None = None) -> Client:
            chosen = [word for option in options for word in ("--set", option)] + (
                ["-s", str(script)] if script else []
            )
            proxy = stack.enter_context(
                start_proxy([f"reverse:{server.address}"], chosen, tmp_path, "thoughts")
            )
            return stack.enter_context(Client(proxy.ports[0]))

        yield started


def _ask(client: Client, path: str = CHAT, **fields: object) -> bytes:
    return client.ask(path, json.dumps({**REQUEST, "stream": True, **fields}).encode()).body


def _emitted(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_thought_is_a_line_in_the_file_and_an_event_for_others(
    start: Start, server: ByPathServer, tmp_path: Path
) -> None:
    file, received = tmp_path / "thoughts.jsonl", tmp_path / "heard.jsonl"
    script = tmp_path / "listener.py"
    script.write_text(LISTENER.format(path=str(received)))
    client = start(f"think_events={file}", script=script)
    server.rows[CHAT] = [
        Says(steps=stream("<think>\na\n</think>", f"x{ATTRIBUTES}y")),
        Says(whole("<think>c</think>z")),
    ]
    _ask(client)
    _ask(client, MESSAGES, stream=False, messages=[*REQUEST["messages"], *AGAIN])  # type: ignore[misc]
    emitted = _emitted(file)
    assert [event["thought"] for event in emitted] == ["a", "b", "c"]
    assert [event["metadata"] for event in emitted] == [
        {"verbosity": "normal"},
        {"verbosity": "normal", "thoughtType": "reflection", "confidence": 0.7},
        {"verbosity": "normal"},
    ]
    assert len({event["contextId"] for event in emitted}) == 1
    assert len({event["taskId"] for event in emitted}) == 2
    assert {(event["kind"], event["thoughtType"]) for event in emitted} == {
        ("thought-stream", "reasoning")
    }
    assert _emitted(received) == emitted


AGAIN = [{"role": "assistant", "content": "xy"}, {"role": "user", "content": "and?"}]


def test_a_thought_of_a_stream_that_dies_is_reported(
    start: Start, server: ByPathServer, tmp_path: Path
) -> None:
    file = tmp_path / "thoughts.jsonl"
    client = start(f"think_events={file}")
    server.rows[CHAT] = Says(steps=[delta(content="<think>half a thou")])
    _ask(client)
    assert [event["thought"] for event in _emitted(file)] == ["half a thou"]


def test_the_request_asks_the_model_to_think_with_the_clients_budget(
    start: Start, server: ByPathServer
) -> None:
    client = start("think_prompt=tags")
    server.rows[CHAT] = Says(steps=stream("<thinking>a</thinking>", "b"))
    reply = read_anthropic_stream(_ask(client, MESSAGES, system="be brief", **THINKING))
    assert (reply.thinking, reply.text) == ("a", "b")
    system = server.bodies()[0]["messages"][0]
    assert system["content"].startswith("be brief\n\n")
    assert "<thinking>" in system["content"]
    assert "1024 tokens" in system["content"]
