"""Vercel's AI SDK through the addon, by its providers for each API: on the small model, and in front
of recordings and a scripted server.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import DONE, ROLE, USAGE, finish, pinged, stream, text
from tests.support.harness import TESTS, Proxy
from tests.support.npm import MissingError, install_modules, installed
from tools.recording_plans import OPENAI_TOOL, SUM, TWO_CITIES, WEATHER

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front", "tests.support.recorded_front"]

type Ask = Callable[..., dict[str, Any]]
VERSIONS = (
    "ai@7.0.173",
    "@ai-sdk/anthropic@4.0.105",
    "@ai-sdk/openai@4.0.118",
    "@ai-sdk/openai-compatible@3.0.92",
)
SCRIPT = TESTS / "support" / "ai_sdk.cjs"
SECONDS = 60


def fetch() -> Path:
    if shutil.which("node") is None:
        raise MissingError("node is not installed")
    return install_modules(*VERSIONS)


@pytest.fixture(scope="session")
def modules(request: pytest.FixtureRequest) -> Path:
    return installed(request, "AI SDK", fetch)


@pytest.fixture
def ask(modules: Path, streamed: bool) -> Ask:
    def send(base: str, question: str, **options: object) -> dict[str, Any]:
        wanted = {
            "modules": str(modules),
            "base": base,
            "question": question,
            "streamed": streamed,
            "api": "responses",
        }
        done = subprocess.run(
            ["node", str(SCRIPT), json.dumps(wanted | options)],
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        seen: dict[str, Any] = json.loads(done.stdout or "{}")
        assert seen, done.stderr
        return seen

    return send


@pytest.fixture(params=["tags", "extracted"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[str]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield f"http://127.0.0.1:{chosen.port}"
    chosen.proxy.check(mark)


@pytest.mark.parametrize("api", ["responses", "chat", "messages"])
def test_it_thinks_calls_its_tool_and_answers_with_what_it_gave(
    ask: Ask, llama: str, streamed: bool, api: str
) -> None:
    """Of a response it refers to the thought by id, as where the server keeps replies."""
    seen = ask(llama, WEATHER, api=api, tool=OPENAI_TOOL["function"], steps=3)
    assert seen.get("cities") == ["Oslo"], seen
    calling, answering = seen["steps"]
    assert (calling["finish"], answering["finish"]) == ("tool-calls", "stop")
    assert calling["reasoning"]
    assert answering["text"]
    assert "think>" not in answering["text"]
    if api != "chat":  # there the usage is llama.cpp's own, which counts no thoughts apart
        usage = answering["usage"]
        assert 0 < usage["outputTokenDetails"]["reasoningTokens"] < usage["outputTokens"]
    if streamed:
        called = seen["kinds"].index("tool-call")
        assert "reasoning-delta" in seen["kinds"][:called]
        assert "text-delta" in seen["kinds"][called:]


def test_a_client_that_stores_nothing_brings_its_thoughts_back(ask: Ask, llama: str) -> None:
    options = {"store": False, "include": ["reasoning.encrypted_content"]}
    seen = ask(llama, WEATHER, tool=OPENAI_TOOL["function"], steps=3, options=options)
    assert seen["steps"][-1]["text"], seen


@pytest.mark.parametrize("streamed", [True], ids=["stream"])
def test_two_calls_of_a_recorded_reply_are_both_run(
    ask: Ask, recorded: Callable[[str], str]
) -> None:
    base = recorded("vllm-parsers-two-tool-calls-stream")
    seen = ask(base, TWO_CITIES, tool=OPENAI_TOOL["function"])
    assert seen.get("cities") == ["Oslo", "Rome"], seen
    assert seen["steps"][0]["reasoning"]


@pytest.mark.parametrize("streamed", [True], ids=["stream"])
def test_signs_of_life_disturb_nothing(ask: Ask, front_proxy: Proxy, model: ByPathServer) -> None:
    model.rows[CHAT] = Says(steps=pinged(stream("<think>", "It is cold.", "</think>", "Tea.")))
    seen = ask(f"http://127.0.0.1:{front_proxy.ports[0]}", SUM)
    (step,) = seen["steps"]
    assert (step["reasoning"], step["text"]) == ("It is cold.", "Tea.")


@pytest.mark.parametrize("streamed", [True], ids=["stream"])
@pytest.mark.parametrize(
    ("reason", "expected"), [("length", "length"), ("content_filter", "content-filter")]
)
def test_a_reply_that_was_cut_says_so_and_keeps_its_text(
    ask: Ask, front_proxy: Proxy, model: ByPathServer, reason: str, expected: str
) -> None:
    model.rows[CHAT] = Says(steps=[ROLE, *text("Half of"), finish(reason), USAGE, DONE])
    seen = ask(f"http://127.0.0.1:{front_proxy.ports[0]}", SUM)
    (step,) = seen["steps"]
    assert (step["text"], step["finish"]) == ("Half of", expected)
