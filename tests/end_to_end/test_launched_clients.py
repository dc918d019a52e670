"""One word starts the client, the real one, and the proxy: on llama.cpp and the small model."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support import claude_code, codex
from tests.support.harness import TESTS, LlamaServer, Variant
from tests.support.led_llama import LedLlama
from tests.support.npm import installed

pytestmark = pytest.mark.slow

BEYOND_IT = (
    "analytics.enabled",
    "include_permissions_instructions",
    "include_environment_context",
    "skills.include_instructions",
    *(f"features.{name}" for name in ("goals", "multi_agent", "shell_tool", "unified_exec")),
)
"""Parts of Codex's prompt that are more than the small model reads."""
TOOL = [str(TESTS / "support" / "weather_tool.py"), "pictured", "hours"]
"""Its schema and its picture are refused by llama.cpp."""
WEATHER = "What is the weather in Oslo?"
WINDOW = 8192
ENOUGH = 65536
"""Tokens of a window in which Claude Code works."""
FULL = f"exceeds the available context size ({WINDOW} tokens)"
QUIET = {**claude_code.ALONE, "OPENAI_API_KEY": "a key of a cloud"}


def launched(
    name: str, program: Path, server: str, folder: Path, *words: str, **variables: str
) -> str:
    """What it prints, in an empty home."""
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "converter.command", name, "--url", server, *words],
        cwd=folder,
        env={
            **QUIET,
            "PATH": path,
            "HOME": str(folder),
            "PYTHONPATH": str(TESTS.parent),
            **variables,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=claude_code.SECONDS_TO_ANSWER,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_claude_code_shows_thinking_and_answer(
    request: pytest.FixtureRequest, proxy_folder: Path, tmp_path: Path
) -> None:
    program = installed(request, "Claude Code", claude_code.install)
    form = ("--output-format", "stream-json", "--verbose", *claude_code.NO_TOOLS)
    variant = Variant("qwen", "none", context=ENOUGH)
    with LlamaServer(variant, proxy_folder / "llama-wide.log") as server:
        said = launched("claude", program, server.address, tmp_path, "-p", "12 * 7", *form)
    session = claude_code.Session(0, [json.loads(line) for line in said.splitlines()], "")
    assert [block["type"] for block in session.blocks] == ["thinking", "text"]


def asked_of_codex(
    program: Path, server: str, folder: Path, *words: str, settings: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """What `codex exec` prints, an object a line, with a prompt for a small model."""
    brief = folder / "brief.md"
    brief.write_text("be brief")
    small = [f"model_instructions_file={brief}", *(f"{name}=false" for name in BEYOND_IT)]
    flags = [word for setting in (*small, *settings) for word in ("-c", setting)]
    words = (*flags, "exec", "--json", "--skip-git-repo-check", *words)
    said = launched("codex", program, server, folder, *words)
    return [json.loads(line) for line in said.splitlines()]


def test_codex_shows_thinking(
    request: pytest.FixtureRequest, llamas: dict[str, Llama], tmp_path: Path
) -> None:
    program = installed(request, "Codex", codex.install)
    lines = asked_of_codex(program, llamas["tags"].address, tmp_path, "12 * 7")
    # its prompt is beyond this model, which may answer with anything, but it thinks
    assert "reasoning" in [line.get("item", {}).get("type") for line in lines], lines
    assert lines[-1]["type"] == "turn.completed"


@pytest.fixture
def led(proxy_folder: Path) -> Iterator[LedLlama]:
    """A llama.cpp of a small window, which calls the weather tool until the window is full."""
    variant = Variant("qwen", "none", context=WINDOW)
    with (
        LlamaServer(variant, proxy_folder / "llama-led.log") as server,
        LedLlama(server.address) as led,
    ):
        yield led


@pytest.mark.long
@pytest.mark.parametrize("hidden", ["", "200000"], ids=["told", "hidden"])
def test_claude_code_does_a_task_beyond_the_window(
    request: pytest.FixtureRequest, led: LedLlama, tmp_path: Path, hidden: str
) -> None:
    """It compacts before the window is full, if it knows of it; else when llama.cpp says that the
    prompt is too long.
    """
    program = installed(request, "Claude Code", claude_code.install)
    servers = tmp_path / "servers.json"
    command = {"command": sys.executable, "args": TOOL}
    servers.write_text(json.dumps({"mcpServers": {"w": command}}))
    told = ("--mcp-config", str(servers), "--strict-mcp-config", "--max-turns", "12")
    allowed = ("--allowedTools", "mcp__w__get_weather")
    form = ("--output-format", "stream-json", "--verbose", *claude_code.NO_TOOLS)
    known = {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": hidden} if hidden else {}
    words = ("-p", WEATHER, *form, *told, *allowed)
    said = launched("claude", program, led.address, tmp_path, *words, **known)
    lines = [json.loads(line) for line in said.splitlines()]
    session = claude_code.Session(0, lines, "")
    kinds = [block["type"] for block in session.blocks]
    assert kinds[:2] == ["thinking", "tool_use"]
    assert kinds[-2:] == ["thinking", "text"]
    assert "sunny, 21 degrees" in json.dumps(session.results[0])
    compacted = [line for line in lines if line.get("subtype") == "compact_boundary"]
    assert [line["compact_metadata"]["trigger"] for line in compacted] == ["auto"]
    assert session.end["modelUsage"]["tiny-think"]["contextWindow"] == int(hidden or WINDOW)
    assert session.end["result"] == session.blocks[-1]["text"]
    schema, picture, *full = led.refusals
    assert "failed to parse grammar" in schema
    assert "image input is not supported" in picture
    assert {FULL in words for words in full} == ({True} if hidden else set()), led.refusals
