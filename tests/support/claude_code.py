"""The real Claude Code as a client of the addon: installed with npm, run without a terminal, its
output parsed.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.npm import install as install_package

VERSION = "2.1.332"
SECONDS_TO_ANSWER = 120
ALONE = {
    "ANTHROPIC_API_KEY": "dummy",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "MCP_CONNECTION_NONBLOCKING": "0",
}
"""Variables that keep Claude Code from other hosts, and have it wait for its tool servers."""
NO_TOOLS = ("--tools", "", "--system-prompt", "be brief")


def install() -> Path:
    """Install the program unless it is there; return its path."""
    return install_package(f"@anthropic-ai/claude-code@{VERSION}", "claude")


@dataclass(frozen=True)
class Session:
    """The printed objects, one a line, and the exit status of a run."""

    status: int
    lines: list[dict[str, Any]]
    errors: str

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The blocks of the model's messages, in order."""
        messages = [line["message"] for line in self.lines if line["type"] == "assistant"]
        return [block for message in messages for block in message["content"]]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The blocks of user messages: results of tools, and text of Claude Code's own."""
        messages = [line["message"] for line in self.lines if line["type"] == "user"]
        return [block for message in messages for block in message["content"]]

    @property
    def end(self) -> dict[str, Any]:
        """The last line: the answer or the error that a person sees, and the cost."""
        return self.lines[-1]


def ask(
    program: Path,
    port: int,
    folder: Path,
    prompt: str,
    *arguments: str,
    body: Mapping[str, object] | None = None,
) -> Session:
    """One prompt, in an empty home and an empty folder of work. `body`: more of its requests' bodies."""
    home, work = folder / "home", folder / "work"
    for own in (home, work):
        own.mkdir(exist_ok=True)
    environment = {
        **ALONE,
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        **({"CLAUDE_CODE_EXTRA_BODY": json.dumps(body)} if body else {}),
    }
    command = [
        str(program),
        "-p",
        prompt,
        "--model",
        "tiny",
        "--output-format",
        "stream-json",
        "--verbose",
        *arguments,
    ]
    done = subprocess.run(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=SECONDS_TO_ANSWER,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return Session(done.returncode, lines, done.stderr.decode(errors="replace"))
