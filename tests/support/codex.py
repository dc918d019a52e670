"""The real Codex as a client of the addon: installed with npm, run without a terminal, its events
parsed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.harness import TESTS
from tests.support.npm import install as install_package

VERSION = "0.171.0"
SECONDS_TO_ANSWER = 120
SETTINGS = """
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
{settings}

[model_providers.local]
name = "{provider}"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"

[analytics]
enabled = false

[mcp_servers.echo]
command = "{python}"
args = ["{mcp}"]
enabled = {tools}

[skills]
include_instructions = false

[features]
goals = false
multi_agent = {agents}
shell_tool = {tools}
unified_exec = {tools}
"""
"""Settings that connect Codex to the addon alone, with a short prompt."""
BRIEF = """
model_instructions_file = "{brief}"
include_permissions_instructions = false
include_environment_context = false
"""
"""For a small model: its own prompt is 20 kB, and its tools are more."""


def install() -> Path:
    """Install the program unless it is there; return its path."""
    return install_package(f"@openai/codex@{VERSION}", "codex")


@dataclass(frozen=True)
class Session:
    """The printed objects, one a line, and the exit status of a run. `folder`: where it ran."""

    status: int
    lines: list[dict[str, Any]]
    errors: str
    folder: Path

    @property
    def items(self) -> list[dict[str, Any]]:
        """The finished items, in order, without those about Codex's own settings."""
        items = [line["item"] for line in self.lines if line["type"] == "item.completed"]
        return [item for item in items if item["type"] != "error"]

    @property
    def kinds(self) -> list[str]:
        """The types of these items."""
        return [item["type"] for item in self.items]

    @property
    def end(self) -> dict[str, Any]:
        """The last line: the completed or failed turn."""
        return self.lines[-1]


def ask(
    program: Path,
    port: int,
    folder: Path,
    prompt: str,
    *,
    model: str = "tiny",
    settings: Sequence[str] = (),
    tools: bool = True,
    resume: bool = False,
    provider: str = "local",
    agents: bool = False,
) -> Session:
    """Run one prompt, in an empty home and an empty working folder. `resume`: continue the session
    before. `provider`: the server's name; one called OpenAI gets more requests. `agents`: Codex may
    start others.
    """
    home, work = folder / "home", folder / "work"
    for own in (home, work):
        own.mkdir(exist_ok=True)
    (home / "brief.md").write_text("be brief")
    lines = [f'model = "{model}"', *settings]
    lines += [] if tools else [BRIEF.format(brief=home / "brief.md")]
    written = SETTINGS.format(
        port=port,
        provider=provider,
        settings="\n".join(lines),
        python=sys.executable,
        mcp=TESTS / "support" / "echo_mcp.py",
        tools=str(tools).lower(),
        agents=str(agents).lower(),
    )
    (home / "config.toml").write_text(written)
    subcommand = ["exec", "resume", "--last"] if resume else ["exec"]
    done = subprocess.run(
        [str(program), *subcommand, "--json", "--skip-git-repo-check", prompt],
        cwd=work,
        env={"HOME": str(home), "CODEX_HOME": str(home), "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=SECONDS_TO_ANSWER,
    )
    read = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    return Session(done.returncode, read, done.stderr.decode(errors="replace"), work)
