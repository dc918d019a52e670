"""The lines to copy on a page that has no exchange to show yet."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from mitmproxy import ctx
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.server_key import server_key
from converter.core.dialects.table import COMMON

type Line = tuple[str, str]
"""What a line starts, and the line."""

UNKNOWN_MODEL = "NAME-OF-YOUR-MODEL"
_ANYWHERE = ("", "0.0.0.0", "::")


def proxy_address() -> str:
    """Return where a client on this machine connects, empty while the proxy does not listen."""
    addresses: Sequence[Any] = ctx.master.addons.get("proxyserver").listen_addrs()
    if not addresses:
        return ""
    host, port = addresses[0][:2]
    shown = "127.0.0.1" if host in _ANYWHERE else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def server() -> Upstream | None:
    """Return the server that a reverse proxy is in front of."""
    mode = ProxyMode.parse(ctx.options.mode[0]) if ctx.options.mode else None
    if not isinstance(mode, ReverseMode) or mode.scheme not in ("http", "https"):
        return None
    return Upstream(mode.scheme, *mode.address)


async def lines(client: UpstreamClient) -> list[Line]:
    """Return the lines for this proxy, with the first model of its server and the model's
    window, which are asked for now.
    """
    proxy, before = proxy_address(), server()
    if not proxy:
        return []
    if before is None:
        return [("Any program", f"HTTP_PROXY={proxy} python my_program.py")]
    headers = {"authorization": f"Bearer {key}"} if (key := server_key()) else {}
    listed = [str(entry["id"]) for entry in await client.models(before, headers)]
    model = next(filter(str.isprintable, listed), UNKNOWN_MODEL)  # people paste it into a shell
    client.meets(before)  # whoever asks this proxy is sent there
    window = (await client.facts(before, headers, None, model)).window if listed else None
    # of an unknown name Claude Code 2.1.332 believes that it holds a million tokens
    holds = f"CLAUDE_CODE_MAX_CONTEXT_TOKENS={window} " if window else ""
    asked = json.dumps({"model": model, "stream": True, **COMMON.requests.example})
    sent = f"-H 'content-type: application/json' -d {shlex.quote(asked)}"
    return [
        ("A question", f"curl -sN {proxy}{COMMON.requests.path} {sent}"),
        (
            "Claude Code",
            f"ANTHROPIC_BASE_URL={proxy} ANTHROPIC_API_KEY=unused {holds}claude --model "
            + shlex.quote(model),
        ),
        (
            "A program with an SDK",
            f"OPENAI_BASE_URL={proxy}/v1 OPENAI_API_KEY=unused python my_program.py",
        ),
    ]
