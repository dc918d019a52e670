"""Makes the command lines that people copy to send this proxy a request, or to start a client that
uses it. `NEEDS` has the context window that a client needs. The program prints the lines at its
start; the page at /think shows them before the first exchange.
"""

import json
from collections.abc import Iterable

from converter.addon import shell_lines
from converter.core.dialects.dialect import Dialect

type Line = tuple[str, str]
"""A title, such as the client's name, and the command line."""

UNKNOWN_MODEL = "NAME-OF-YOUR-MODEL"
"""The text that a command line has in place of a model's name, if none is known."""
CLAUDE_CODE = "Claude Code"
"""The name of this client: the title of its command line, and its key in `NEEDS`."""
NEEDS = {CLAUDE_CODE: 40_000, "Codex": 12_000}
"""The tokens of context that each client needs: for its first request, its reserve for a reply, and
some turns (docs/clients.md).
"""
_ALL_ADDRESSES = ("", "0.0.0.0", "::")
"""The hosts that stand for all addresses of the machine."""


def proxy_url(host: str, port: int) -> str:
    """Return the URL at which a client on this machine reaches a proxy that listens at `host`."""
    shown = "127.0.0.1" if host in _ALL_ADDRESSES else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def first_model(names: Iterable[str]) -> str:
    """Return the first printable of the models' names; if there is none, `UNKNOWN_MODEL`, which the
    user has to replace.
    """
    return next(filter(str.isprintable, names), UNKNOWN_MODEL)


def curl_line(proxy: str, dialect: Dialect, model: str) -> str:
    """Return a curl command that sends the dialect's example request to the proxy (its URL), and
    prints the stream of the reply as it comes.
    """
    body = json.dumps({"model": model, "stream": True, **dialect.requests.example})
    header = ("-H", "content-type: application/json")
    url = f"{proxy}{dialect.requests.path}"
    return shell_lines.command(["curl", "-sN", url, *header, "-d", body])


def client_lines(proxy: str, model: str, window: int | None) -> list[Line]:
    """Return the command lines that start Claude Code, and a program that uses OpenAI's SDK, with
    `proxy` as their server's URL. If the model's context window, of `window` tokens, is too small
    for Claude Code, its line is a shell comment with the reason. `window`: None if unknown.
    """
    anthropic = {"ANTHROPIC_BASE_URL": proxy, "ANTHROPIC_API_KEY": "unused"}
    openai = {"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": "unused"}
    if window:  # Claude Code 2.1.332 assumes a million tokens for models that it does not know
        anthropic["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = str(window)
    claude = shell_lines.command(["claude", "--model", model], anthropic)
    if reason := window_warning(CLAUDE_CODE, window):
        claude = f"# {reason}"
    program = shell_lines.command(["python", "my_program.py"], openai)
    return [(CLAUDE_CODE, claude), ("A program with an SDK", program)]


def window_warning(client: str, window: int | None) -> str:
    """Return a line that says that a context window of `window` tokens is too small for a client;
    empty if it is large enough or unknown (None), or if `NEEDS` lacks the client.
    """
    needed = NEEDS.get(client, 0)
    if not window or window >= needed:
        return ""
    return f"{client} needs a window of about {needed:,} tokens, not {window:,}"
