"""One word starts the client, the real one, and the proxy: on llama.cpp and the small model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Llama
from tests.support import claude_code, codex
from tests.support.harness import TESTS
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
QUIET = {**claude_code.ALONE, "OPENAI_API_KEY": "a key of a cloud"}


def launched(name: str, program: Path, server: str, folder: Path, *words: str) -> str:
    """What it prints, in an empty home."""
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "converter.command", name, "--url", server, *words],
        cwd=folder,
        env={**QUIET, "PATH": path, "HOME": str(folder), "PYTHONPATH": str(TESTS.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=claude_code.SECONDS_TO_ANSWER,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_claude_code_shows_thinking_and_answer(
    request: pytest.FixtureRequest, llamas: dict[str, Llama], tmp_path: Path
) -> None:
    program = installed(request, "Claude Code", claude_code.install)
    form = ("--output-format", "stream-json", "--verbose", *claude_code.NO_TOOLS)
    said = launched("claude", program, llamas["tags"].address, tmp_path, "-p", "12 * 7", *form)
    session = claude_code.Session(0, [json.loads(line) for line in said.splitlines()], "")
    assert [block["type"] for block in session.blocks] == ["thinking", "text"]


def test_codex_shows_thinking(
    request: pytest.FixtureRequest, llamas: dict[str, Llama], tmp_path: Path
) -> None:
    program = installed(request, "Codex", codex.install)
    brief = tmp_path / "brief.md"
    brief.write_text("be brief")
    small = [f"model_instructions_file={brief}", *(f"{name}=false" for name in BEYOND_IT)]
    flags = [word for setting in small for word in ("-c", setting)]
    words = (*flags, "exec", "--json", "--skip-git-repo-check", "12 * 7")
    said = launched("codex", program, llamas["tags"].address, tmp_path, *words)
    lines = [json.loads(line) for line in said.splitlines()]
    # its prompt is beyond this model, which may answer with anything, but it thinks
    assert "reasoning" in [line.get("item", {}).get("type") for line in lines], said
    assert lines[-1]["type"] == "turn.completed"
