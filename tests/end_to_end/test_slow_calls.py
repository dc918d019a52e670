"""Clients wait for a call that a slow model writes, though each gives up after few silent seconds:
the SDKs, and Claude Code, Codex and opencode, started by one word. In the nightly run alone.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ollama
import pytest

from tests.end_to_end.test_launched_clients import launched
from tests.support import claude_code, codex
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.frames import DONE, ROLE, USAGE, finish, stream, text
from tests.support.harness import start_proxy
from tests.support.npm import install, installed
from tests.support.scripted_server import ReceivedRequest
from tests.support.tool_loops import IN_OSLO, LOOPS, Loop
from tools.recording_plans import OPENAI_TOOL

pytestmark = pytest.mark.slow

SIGNS = ("--set", "think_ping=1")
IDLE = 4
SECONDS = 12.0
"""So long a call takes, more than any of these clients waits in silence."""
THOUGHTS, ANSWER = ("I should look.", "There it is."), "It says hello."
COMMAND = "echo hello from a tool"
SHELL = {"command": COMMAND, "description": "say hello"}
WEATHER = {"city": "Oslo"}
CALLS = {"get_weather": WEATHER, "exec_command": {"cmd": COMMAND}, "Bash": SHELL, "bash": SHELL}
"""By the tool that a client offers."""
OPENCODE = {"provider": {"local": {"options": {"chunkTimeout": IDLE * 1000}}}}
ALONE = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


class SlowModel(ByPathServer):
    """A model that thinks, writes a call, and answers once it has the result; without tools it
    gives the session a title.
    """

    def reply(self, request: ReceivedRequest) -> Says:
        if request.target != CHAT:
            return super().reply(request)
        self.requests.append(request)
        body = json.loads(request.body)
        offered = [tool["function"]["name"] for tool in body.get("tools", ())]
        if not offered:
            return Says(steps=stream("A title"))
        if any(message["role"] == "tool" for message in body["messages"]):
            return Says(steps=stream(f"<think>{THOUGHTS[1]}</think>", ANSWER))
        name = next(name for name in CALLS if name in offered)
        return Says(steps=_slowly(json.dumps({"name": name, "arguments": CALLS[name]})))


def _slowly(call: str) -> list[Step]:
    steps: list[Step] = [ROLE, *text(f"<think>{THOUGHTS[0]}</think>", "<tool_call>")]
    for letter in call:
        steps += [SECONDS / len(call), *text(letter)]
    return [*steps, *text("</tool_call>"), finish("stop"), USAGE, DONE]


@pytest.fixture
def model() -> Iterator[SlowModel]:
    """The calls that it wrote must have been requested once."""
    with SlowModel(owned_by("vllm")) as server:
        yield server
    assert len([body for body in server.bodies() if body.get("tools")]) == 2


def _by_ollama(port: int) -> Loop:
    messages: list[Any] = [{"role": "user", "content": IN_OSLO}]
    headers, loop = {"connection": "close"}, Loop()
    with ollama.Client(f"http://127.0.0.1:{port}", headers=headers, timeout=IDLE) as client:
        for _ in range(2):
            for part in client.chat("small", messages, tools=[OPENAI_TOOL], stream=True):
                calls = part.message.tool_calls or ()
                loop.calls += [{**call.function.arguments} for call in calls]
                loop.answer += part.message.content or ""
            messages += [{"role": "assistant"}, {"role": "tool"}]
    return loop


@pytest.mark.nightly
@pytest.mark.parametrize("sdk", [*LOOPS, "Ollama"])
def test_an_sdk_gets_the_call(sdk: str, model: SlowModel, tmp_path: Path) -> None:
    with start_proxy([f"reverse:{model.address}"], SIGNS, tmp_path, "slow") as proxy:
        port = proxy.ports[0]
        loop = LOOPS[sdk](port, True, IN_OSLO, IDLE) if sdk in LOOPS else _by_ollama(port)
    assert (loop.calls, loop.answer) == ([WEATHER], ANSWER)


PROGRAMS: dict[str, tuple[Callable[[], Path], str, dict[str, str]]] = {
    "claude": (
        claude_code.install,
        "--allowedTools Bash --output-format stream-json --verbose -p hello",
        {"CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "10000"},  # less counts as this (2.1.332)
    ),
    "codex": (
        codex.install,
        f"-c model_providers.local.stream_idle_timeout_ms={IDLE * 1000}"
        " exec --sandbox danger-full-access --json --skip-git-repo-check hello",
        {},
    ),
    "opencode": (
        lambda: install("opencode-ai@1.18.33", "opencode"),
        "run --thinking --format json hello",
        ALONE,
    ),
}
"""The installation of each client, its command line and its environment."""


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_the_call_and_shows_thinking_and_answer(
    name: str, request: pytest.FixtureRequest, model: SlowModel, tmp_path: Path
) -> None:
    fetch, options, variables = PROGRAMS[name]
    program = installed(request, name, fetch)
    (tmp_path / "opencode.json").write_text(json.dumps(OPENCODE))
    shown = launched(name, program, model.address, tmp_path, *SIGNS, *options.split(), **variables)
    assert all(each in shown for each in (*THOUGHTS, ANSWER)), shown
    [*_, result] = [body for body in model.bodies() if body.get("tools")]
    assert "hello from a tool" in json.dumps(result["messages"][-1])
    assert THOUGHTS[0] in json.dumps(result["messages"])
