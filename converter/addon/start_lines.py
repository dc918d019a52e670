"""Lines to copy that send this proxy a request or start a client on it: printed when the proxy
starts, and on the page before its first exchange.
"""

import json
from collections.abc import Iterable

from converter.addon import shell_lines
from converter.core.dialects.dialect import Dialect

type Line = tuple[str, str]
"""The name of what a line starts, and the line."""

UNKNOWN_MODEL = "NAME-OF-YOUR-MODEL"
CLAUDE_CODE = "Claude Code"
NEEDS = {CLAUDE_CODE: 40_000, "Codex": 12_000}
"""Tokens of context that a client needs to work: its first request, its reserve and some turns
(docs/clients.md).
"""
_ANYWHERE = ("", "0.0.0.0", "::")


def address(host: str, port: int) -> str:
    """Return the address at which a client on this machine reaches a proxy that listens there."""
    shown = "127.0.0.1" if host in _ANYWHERE else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def first_model(names: Iterable[str]) -> str:
    """Return the first name that may be pasted into a shell, else a word to replace."""
    return next(filter(str.isprintable, names), UNKNOWN_MODEL)


def question(proxy: str, dialect: Dialect, model: str) -> str:
    """Return a command that sends the dialect's example, and shows the reply as it comes."""
    body = json.dumps({"model": model, "stream": True, **dialect.requests.example})
    header = ("-H", "content-type: application/json")
    return shell_lines.line(["curl", "-sN", f"{proxy}{dialect.requests.path}", *header, "-d", body])


def clients(proxy: str, model: str, window: int | None) -> list[Line]:
    """Return the line of Claude Code, or the reason why the model's window is too small for it, and
    that of a program with an SDK.
    """
    anthropic = {"ANTHROPIC_BASE_URL": proxy, "ANTHROPIC_API_KEY": "unused"}
    openai = {"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": "unused"}
    if window:  # Claude Code 2.1.332 takes an unknown model's window for a million tokens
        anthropic["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = str(window)
    claude = shell_lines.line(["claude", "--model", model], anthropic)
    if reason := too_small(CLAUDE_CODE, window):
        claude = f"# {reason}"
    program = shell_lines.line(["python", "my_program.py"], openai)
    return [(CLAUDE_CODE, claude), ("A program with an SDK", program)]


def too_small(client: str, window: int | None) -> str:
    """Return the reason why a client cannot work with this window; empty where it can, or the
    window is not known.
    """
    needed = NEEDS.get(client, 0)
    if not window or window >= needed:
        return ""
    return f"{client} needs a window of about {needed:,} tokens, not {window:,}"
