"""Agents of npm that a few settings point at the addon, each as `docs/clients.md` writes them, in
front of a server that plays a model. In the nightly run alone, because they are large.
"""

from pathlib import Path

import pytest

from tests.end_to_end.test_launched_clients import launched
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import stream
from tests.support.npm import install, installed

pytestmark = pytest.mark.slow

THOUGHT, ANSWER = "A greeting will do.", "Hello from the model."
PI = (
    '{"providers": {"local": {"baseUrl": "%s", "api": "openai-completions",'
    ' "apiKey": "unused", "models": [{"id": "small", "reasoning": true}]}}}'
)
CN = (
    "name: local\\nversion: 1.0.0\\nschema: v1\\nmodels:\\n  - name: small\\n    provider: openai\\n"
    "    model: small\\n    apiBase: %s\\n    apiKey: unused\\n"
)
AGENTS = {
    "@qwen-code/qwen-code@0.24.4": (
        "qwen",
        "qwen --auth-type openai --output-format stream-json -p hello",
    ),
    "cline@3.0.65": (
        "cline",
        "cline auth -p openai-compatible -k unused -m small -b $OPENAI_BASE_URL;"
        " cline --json 'Say hello'",
    ),
    "@earendil-works/pi-coding-agent@1.6.0": (
        "pi",
        f"mkdir -p ~/.pi/agent; printf '{PI}' $OPENAI_BASE_URL > ~/.pi/agent/models.json;"
        " pi --provider local --model small --mode json -p hello",
    ),
    "@continuedev/cli@1.5.47": (
        "cn",
        f"printf '{CN}' $OPENAI_BASE_URL > config.yaml; cn --config config.yaml -p hello",
    ),
}
"""The program of each package, and the commands of a shell that has the launcher's variables."""


@pytest.mark.nightly
@pytest.mark.parametrize("package", AGENTS)
def test_it_shows_thinking_and_answer(
    package: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name, commands = AGENTS[package]
    program = installed(request, name, lambda: install(package, name))
    answers = Says(steps=stream(f"<think>{THOUGHT}</think>", ANSWER))
    with ByPathServer(owned_by("vllm") | {CHAT: answers}) as server:
        shown = launched("run", program, server.address, tmp_path, "--", "sh", "-c", commands)
    assert ANSWER in shown
    assert (THOUGHT in shown) == (name != "cn"), "`cn -p` drops thinking"
