"""One word starts the client, the real one, and the proxy: on llama.cpp and the small model."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support import claude_code, codex
from tests.support.harness import TESTS, LlamaServer, Variant
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
ENOUGH = 65536
"""Tokens of a window in which Claude Code works."""
QUIET = {**claude_code.ALONE, "OPENAI_API_KEY": "a key of a cloud"}


def launched(
    name: str, program: Path, server: str, folder: Path, *options: str, **variables: str
) -> str:
    """Run a client in an empty home; return its output."""
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "converter.command", name, "--url", server, *options],
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
        output = launched("claude", program, server.address, tmp_path, "-p", "12 * 7", *form)
    session = claude_code.Session(0, [json.loads(line) for line in output.splitlines()], "")
    assert [block["type"] for block in session.blocks] == ["thinking", "text"]


def lines_of_codex(
    program: Path, server: str, folder: Path, *options: str, settings: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Run `codex exec` with a prompt for a small model; return the printed objects."""
    brief = folder / "brief.md"
    brief.write_text("be brief")
    small = [f"model_instructions_file={brief}", *(f"{name}=false" for name in BEYOND_IT)]
    flags = [word for setting in (*small, *settings) for word in ("-c", setting)]
    options = (*flags, "exec", "--json", "--skip-git-repo-check", *options)
    output = launched("codex", program, server, folder, *options)
    return [json.loads(line) for line in output.splitlines()]


def test_codex_shows_thinking(
    request: pytest.FixtureRequest, llamas: dict[str, Llama], tmp_path: Path
) -> None:
    program = installed(request, "Codex", codex.install)
    lines = lines_of_codex(program, llamas["tags"].address, tmp_path, "12 * 7")
    # its prompt is beyond this model, which may answer with anything, but it thinks
    assert "reasoning" in [line.get("item", {}).get("type") for line in lines], lines
    assert lines[-1]["type"] == "turn.completed"
