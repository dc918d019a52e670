"""Command lines that send this proxy a request, or start a client on it. They are printed at the
proxy's start, and shown on the page before the first exchange.
"""

import json
from collections.abc import Iterable

from converter.addon import shell_lines
from converter.core.dialects.dialect import Dialect

type Line = tuple[str, str]
"""A title, such as the client's name, and the command line."""

UNKNOWN_MODEL = "NAME-OF-YOUR-MODEL"
CLAUDE_CODE = "Claude Code"
NEEDS = {CLAUDE_CODE: 40_000, "Codex": 12_000}
"""The tokens of context that each client needs: for its first request, its reserve for a reply, and
some turns (docs/clients.md).
"""
_ANYWHERE = ("", "0.0.0.0", "::")


def address(host: str, port: int) -> str:
    """Return the URL at which a client on this machine reaches a proxy that listens at `host`."""
    shown = "127.0.0.1" if host in _ANYWHERE else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def first_model(names: Iterable[str]) -> str:
    """Return the first printable name, else `UNKNOWN_MODEL`, which the user replaces."""
    return next(filter(str.isprintable, names), UNKNOWN_MODEL)


def question(proxy: str, dialect: Dialect, model: str) -> str:
    """Return a curl command that sends the dialect's example, and prints the reply as it comes."""
    body = json.dumps({"model": model, "stream": True, **dialect.requests.example})
    header = ("-H", "content-type: application/json")
    return shell_lines.line(["curl", "-sN", f"{proxy}{dialect.requests.path}", *header, "-d", body])


def clients(proxy: str, model: str, window: int | None) -> list[Line]:
    """Return the command lines that start Claude Code and a program with an SDK. If the model's
    window is too small for Claude Code, its line is a comment with the reason.
    """
    anthropic = {"ANTHROPIC_BASE_URL": proxy, "ANTHROPIC_API_KEY": "unused"}
    openai = {"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": "unused"}
    if window:  # Claude Code 2.1.332 assumes a window of a million tokens for unknown models.
        anthropic["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = str(window)
    claude = shell_lines.line(["claude", "--model", model], anthropic)
    if reason := too_small(CLAUDE_CODE, window):
        claude = f"# {reason}"
    program = shell_lines.line(["python", "my_program.py"], openai)
    return [(CLAUDE_CODE, claude), ("A program with an SDK", program)]


def too_small(client: str, window: int | None) -> str:
    """Return the reason why a window is too small for a client, empty if it is large enough or
    unknown.
    """
    needed = NEEDS.get(client, 0)
    if not window or window >= needed:
        return ""
    return f"{client} needs a window of about {needed:,} tokens, not {window:,}"
