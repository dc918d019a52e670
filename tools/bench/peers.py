"""Proxies of other projects with a similar purpose, measured for comparison.

They are installed into .cache/. LiteLLM's proxy takes chat completions and Messages requests, and
sends them to a vLLM server. claude-code-router takes Messages requests; it leaves the tags of a
thought in the text.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.bench.contenders import Contender
from tools.bench.processes import PROJECT, PinnedProcess, Run

FOLDER = PROJECT / ".cache" / "bench-peers"
"""Where the proxies are installed."""
LITELLM = "litellm"
"""The name of LiteLLM's proxy."""
ROUTER = "claude-code-router"
"""The name of claude-code-router."""
ROUTER_PACKAGE = "@musistudio/claude-code-router@2.0.0"
"""The npm package of claude-code-router, with the version that was tried."""
LOADS = ("burst, 1 ", "burst, 32", "paced, 32", "whole")
"""Beginnings of the names of loads under which these proxies run."""

ROWS = (
    Contender("LiteLLM, OpenAI client", arguments=(LITELLM,), apart=False, loads=LOADS),
    Contender("LiteLLM, Anthropic client", "anthropic", "native", (LITELLM,), loads=LOADS),
    Contender(ROUTER, "anthropic", "tags", (ROUTER,), False, loads=LOADS, model="bench,%s"),
)
"""The contenders of these proxies. LiteLLM turns a server's reasoning field into thinking blocks
for Anthropic clients, but leaves tags in the text, so its OpenAI row need not take thinking out.
"""


def rows(wanted: bool) -> tuple[Contender, ...]:
    """Return the contenders of other projects if `wanted` is True (`--peers`); else none."""
    return ROWS if wanted else ()


def _install_litellm() -> Path:
    """Install LiteLLM unless it is installed; return the path of its program."""
    folder = FOLDER / "litellm"
    program = folder / "bin" / "litellm"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "litellm[proxy]"], check=True)
    return program


def _install_router() -> Path:
    """Install claude-code-router unless it is installed; return the path of its script."""
    folder = FOLDER / "ccr"
    program = folder / "node_modules" / "@musistudio" / "claude-code-router" / "dist" / "cli.js"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm") or "npm"
        subprocess.run(
            [npm, "install", "--no-audit", "--prefix", folder, ROUTER_PACKAGE], check=True
        )
    return program


def _own_home(run: Run) -> dict[str, str]:
    """Return environment variables by which a peer does not read the user's own settings."""
    return {"HOME": str(run.folder), "NO_PROXY": "127.0.0.1"}


def _start_litellm(run: Run) -> PinnedProcess:
    """Start LiteLLM's proxy in front of the run's server."""
    asks = {
        "model": "hosted_vllm/*",
        "api_base": f"http://127.0.0.1:{run.server}/v1",
        "api_key": "none",
    }
    config = {"model_list": [{"model_name": "*", "litellm_params": asks}]}
    written = run.folder / "config.yaml"
    written.write_text(json.dumps(config))  # LiteLLM reads YAML, of which JSON is a part
    command = [str(_install_litellm()), "--config", str(written), "--host", "127.0.0.1"]
    return run.start(
        [*command, "--port", str(run.port), "--num_workers", "1"],
        {
            **_own_home(run),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        },
    )


def _start_router(run: Run) -> PinnedProcess:
    """Start claude-code-router in front of the run's server."""
    address = f"http://127.0.0.1:{run.server}/v1/chat/completions"
    provider = {"name": "bench", "api_base_url": address, "api_key": "none", "models": ["any"]}
    config = {
        "HOST": "127.0.0.1",
        "PORT": run.port,
        "LOG": False,
        "NON_INTERACTIVE_MODE": True,
        "Providers": [provider],
        "Router": {"default": "bench,any"},
    }
    home = run.folder / ".claude-code-router"
    home.mkdir()
    (home / "config.json").write_text(json.dumps(config))
    node = shutil.which("node") or "node"
    return run.start([node, str(_install_router()), "start"], _own_home(run))


STARTERS: dict[str, Callable[[Run], PinnedProcess]] = {
    LITELLM: _start_litellm,
    ROUTER: _start_router,
}
"""Name of a proxy -> the function that installs and starts it."""
