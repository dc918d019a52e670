"""opencode itself, started by one word, with a tool in front of a server that plays a model. In the
nightly run alone: opencode's start takes most of a minute where models.dev cannot be reached.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.test_launched_clients import launched
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text
from tests.support.npm import install, installed
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

VERSION = "1.18.33"
ALONE = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
COMMAND = {"command": "echo hello from a tool", "description": "say hello"}
CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "bash", "arguments": json.dumps(COMMAND)},
}
CALLS = [
    ROLE,
    *text("<think>I should look.</think>", "Let me see."),
    delta(tool_calls=[CALL]),
    finish("tool_calls"),
    USAGE,
    DONE,
]


class Agent(ByPathServer):
    """It calls the shell, and answers once it has the result; asked without tools it gives the
    session a title.
    """

    def reply(self, request: ReceivedRequest) -> Says:
        if request.target != CHAT:
            return super().reply(request)
        self.requests.append(request)
        body = json.loads(request.body)
        if not body.get("tools"):
            return Says(steps=stream("A title"))
        answered = any(message["role"] == "tool" for message in body["messages"])
        return Says(
            steps=stream("<think>There it is.</think>", "It says hello.") if answered else CALLS
        )


@pytest.fixture
def agent() -> Iterator[Agent]:
    with Agent(owned_by("vllm")) as server:
        yield server


@pytest.mark.nightly
def test_it_shows_thinking_and_runs_a_tool(
    request: pytest.FixtureRequest, agent: Agent, tmp_path: Path
) -> None:
    program = installed(request, "opencode", lambda: install(f"opencode-ai@{VERSION}", "opencode"))
    options = ("run", "--thinking", "--format", "json", "Say hello")
    output = launched("opencode", program, agent.address, tmp_path, *options, **ALONE)
    parts = [json.loads(line)["part"] for line in output.splitlines()]
    shown = [
        (part["type"], part.get("text") or part["state"]["output"])
        for part in parts
        if part["type"] in ("reasoning", "text", "tool")
    ]
    assert shown == [
        ("reasoning", "I should look."),
        ("text", "Let me see."),
        ("tool", "hello from a tool\n"),
        ("reasoning", "There it is."),
        ("text", "It says hello."),
    ]
    [*_, last] = [body for body in agent.bodies() if body.get("tools")]
    assert "I should look." in json.dumps(last["messages"])
