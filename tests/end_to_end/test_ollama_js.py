"""The `ollama` package for JavaScript through the addon, on the small model."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.harness import TESTS
from tests.support.npm import MissingError, install_modules, installed
from tools.shots import OPENAI_TOOL

pytestmark = pytest.mark.slow

VERSION = "ollama@0.6.4"
SCRIPT = TESTS / "support" / "ollama.cjs"
SECONDS = 60


def fetch() -> Path:
    if shutil.which("node") is None:
        raise MissingError("node is not installed")
    return install_modules(VERSION)


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[dict[str, Any]]:
    """What the package saw of everything that it was used for."""
    modules = installed(request, "the ollama package for JavaScript", fetch)
    chosen = llamas["extracted"]
    mark = chosen.proxy.mark()
    host = f"http://127.0.0.1:{chosen.port}"
    asked = {"modules": str(modules), "host": host, "model": "tiny-think", "tool": OPENAI_TOOL}
    command = ["node", str(SCRIPT), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    told: dict[str, Any] = json.loads(done.stdout or "{}")
    assert "error" not in told, told
    assert told, done.stderr
    yield told
    chosen.proxy.check(mark)


def test_a_stream_thinks_and_answers_as_it_comes(seen: dict[str, Any]) -> None:
    streamed = seen["streamed"]
    assert streamed["parts"] > 5
    assert "12" in streamed["thinking"]
    assert "84" in streamed["content"]
    assert (streamed["last"]["done"], streamed["last"]["done_reason"]) == (True, "stop")


def test_a_tool_is_called_and_its_result_answered(seen: dict[str, Any]) -> None:
    called = seen["called"]
    [call] = called["calls"]
    assert call["function"] == {"index": 0, "name": "get_weather", "arguments": {"city": "Oslo"}}
    assert called["thinking"]
    assert "21 degrees" in called["answer"]


def test_an_answer_has_the_form_that_was_asked_for(seen: dict[str, Any]) -> None:
    assert isinstance(json.loads(seen["formed"])["answer"], int)


def test_models_are_listed_and_shown(seen: dict[str, Any]) -> None:
    assert seen["listed"] == ["tiny-think"]
    assert {"completion", "tools", "thinking"} <= set(seen["shown"])


def test_an_error_is_the_packages_own(seen: dict[str, Any]) -> None:
    assert seen["refused"] == {"status": 404, "words": "model 'other' not found"}
