"""Keeps foreign web pages out, and people's keys and cookies in."""

import logging

from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.dialects.table import COMMON, Dialect, by_headers, by_name, find
from converter.exchange.exchange import JSON, Exchange
from converter.exchange.settings import Settings
from converter.observe.printable import bounded
from converter.servers import addon_itself
from converter.shell.hooks.doors import (
    foreign_page,
    is_loopback,
    leads_to_private,
    withhold_headers,
    withhold_keys,
)
from converter.shell.log_lines import LONGEST, in_a_line

_CLOUD = (".anthropic.com", ".claude.com")
"""Whose keys they are: a proxy before the API itself passes them on."""

_log = logging.getLogger(__name__)


class Doorkeeper:
    """Looks at each request's head before anybody else."""

    def __init__(self) -> None:
        self._told = False

    def refusal(self, flow: HTTPFlow, host: str | None, settings: Settings) -> Response | None:
        """Return the answer to a request that a foreign web page has sent; None: it may come in.

        `host`: the client's own `Host`; None where it is not known.
        """
        if not is_reverse(flow) or not is_loopback(str(flow.client_conn.sockname[0])):
            return None
        origin = flow.request.headers.get("origin")
        page = foreign_page(host or "", origin, settings.hosts)
        if not page:
            return None
        shown = bounded(page, LONGEST)
        words = f"refused, because a web page may have sent it ({shown}); think_hosts allows"
        _log.warning("think: %s: %s", in_a_line(flow), words)
        body = dialect_of(flow).answers.error(words, "permission_error", 403)
        return Response.make(403, body, {"content-type": JSON})

    def clean(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        """Take out of a request what a model server must not get; say so once."""
        headers = flow.request.headers
        of_cloud = f".{flow.request.host}".endswith(_CLOUD) and flow.request.scheme == "https"
        withheld = [] if of_cloud else withhold_keys(headers)
        if exchange and not of_cloud:
            withhold_headers(headers, exchange.server_dialect.label.headers)
        if withheld and not self._told:
            self._told = True
            _log.warning(
                "think: a key of Anthropic's (%s) is not sent to the model server",
                ", ".join(withheld),
            )


def dialect_of(flow: HTTPFlow) -> Dialect:
    """Return the dialect of a request's path, or of its headers where dialects share the path."""
    endpoint = (find(flow.request.method, flow.request.path) or (None,))[0]
    if endpoint is None:
        return COMMON
    return by_headers(flow.request.headers) if endpoint.shared else by_name(endpoint.dialect)


def identity(flow: HTTPFlow) -> Response | None:
    """Return what the addon says of itself to who asks for it; None for any other request."""
    if (flow.request.method, flow.request.path) != ("GET", addon_itself.PATH):
        return None
    server = flow.client_conn.proxy_mode.data if is_reverse(flow) else ""
    return Response.make(200, addon_itself.told(server), {"content-type": JSON})


def is_reverse(flow: HTTPFlow) -> bool:
    """Tell whether the proxy stands before one server that its user has named."""
    return isinstance(flow.client_conn.proxy_mode, ReverseMode)


async def is_at_home(flow: HTTPFlow) -> bool:
    """Tell whether a forward proxy's request goes to this machine or a private network: by the
    address that is connected to, whatever the request's `Host` says.
    """
    peer = flow.server_conn.peername if flow.server_conn.connected else None
    return await leads_to_private(str(peer[0]) if peer else flow.request.host)
