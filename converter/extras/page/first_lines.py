"""`lines_to_copy` returns the commands and settings that the page offers to copy while its list is
empty, for this proxy and the server's first model. `converter.addon.start_lines` writes them.
"""

from collections.abc import Sequence
from typing import Any

from mitmproxy import ctx
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from converter.addon import start_lines
from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.server_key import server_key
from converter.addon.start_lines import Line
from converter.core.dialects.table import COMMON


def proxy_address() -> str:
    """Return the URL at which a client on this machine reaches the proxy, empty while the proxy is
    not listening.
    """
    addresses: Sequence[Any] = ctx.master.addons.get("proxyserver").listen_addrs()
    if not addresses:
        return ""
    return start_lines.proxy_url(*addresses[0][:2])


def reverse_server() -> Upstream | None:
    """Return the server behind the proxy, None unless mitmproxy is a reverse proxy for HTTP."""
    mode = ProxyMode.parse(ctx.options.mode[0]) if ctx.options.mode else None
    if not isinstance(mode, ReverseMode) or mode.scheme not in ("http", "https"):
        return None
    return Upstream(mode.scheme, *mode.address)


async def lines_to_copy(upstream_client: UpstreamClient) -> list[Line]:
    """Return the lines to copy, each with its title: `("A question", "curl http://...")`. Return
    `[]` while the proxy is not listening.

    The lines name the proxy's address. If mitmproxy is a reverse proxy, they also name the server's
    first model and the model's context window, for which `upstream_client` asks the server. For any
    other proxy there is one line, which sets HTTP_PROXY.
    """
    proxy, before = proxy_address(), reverse_server()
    if not proxy:
        return []
    if before is None:
        return [("Any program", f"HTTP_PROXY={proxy} python my_program.py")]
    headers = {"authorization": f"Bearer {key}"} if (key := server_key()) else {}
    listed = [str(entry["id"]) for entry in await upstream_client.list_models(before, headers)]
    model = start_lines.first_model(listed)
    # `model_facts` probes only servers that are registered.
    upstream_client.register_server(before)
    facts = await upstream_client.model_facts(before, headers, None, model) if listed else None
    lines = start_lines.client_lines(proxy, model, facts.window if facts else None)
    return [("A question", start_lines.curl_line(proxy, COMMON, model)), *lines]
