"""Install and start proxies of other projects for comparison: LiteLLM's and claude-code-router.

They are installed into .cache/. Both translate Messages requests for a server that speaks chat
completions only. LiteLLM's proxy takes chat completions too. Neither takes tags of a thought out of
the text.
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
"""What LiteLLM's proxy is called in a contender's arguments."""
ROUTER = "claude-code-router"
"""What claude-code-router is called in a contender's arguments, and in the tables."""
ROUTER_PACKAGE = "@musistudio/claude-code-router@2.0.0"
"""The npm package of claude-code-router, with the version that was tried."""
LOADS = ("burst, 1 ", "burst, 32", "paced, 32", "whole")
"""The loads under which these proxies are measured: their names or the beginnings of them."""

ROWS = (
    Contender("LiteLLM, OpenAI client", arguments=(LITELLM,), apart=False, loads=LOADS),
    Contender("LiteLLM, Anthropic client", "anthropic", "native", (LITELLM,), loads=LOADS),
    Contender(ROUTER, "anthropic", "tags", (ROUTER,), False, loads=LOADS, model="bench,%s"),
)
"""The contenders of these proxies. Where the server sends tags, `apart` is False, because these
proxies leave tags in the text. In the row `LiteLLM, Anthropic client` the server sends a reasoning
field, which LiteLLM turns into thinking blocks.
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
    """Return environment variables with which a proxy reads no settings of the user, and reaches
    the bench's server directly.
    """
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
    written.write_text(json.dumps(config))  # LiteLLM reads YAML, and all JSON is YAML
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
