"""Rules of the doors: the web pages and hosts whose requests may come in, and the flows that the
addon acts on.
"""

import logging
import re
from functools import lru_cache
from urllib.parse import urlsplit

from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon.addresses import ip_address_of, is_loopback, is_private, leads_to_private
from converter.addon.exchange.exchange import JSON, Exchange
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.client_headers import withhold_headers, withhold_keys
from converter.addon.log_lines import LONGEST, in_a_line
from converter.addon.servers.probes import ADDON_PATH, addon_identity
from converter.addon.servers.server_key import put_key
from converter.core.dialects.table import COMMON, Dialect, by_headers, by_name, find
from converter.core.wire.printable import bounded

_LOCAL_NAME = re.compile(r"[^.]+|(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa|test)")
"""Names that no web page can have: without a dot, or in domains outside the Internet."""


@lru_cache(maxsize=64)
def foreign_page(host: str, origin: str | None, allowed: tuple[str, ...]) -> str:
    """Return the header by which a request shows that a foreign web page sent it; empty for any
    other request.

    A page can point a name of its own at this machine, so that the browser lets the page read all
    replies (DNS rebinding), or it can simply post. `allowed`: names that may, or `*`.
    """
    if "*" in allowed:
        return ""
    if not _may_come(_host_of(f"//{host}"), allowed):
        return f"Host: {host}"
    if origin is None or _may_come_from(origin, allowed):
        return ""
    return f"Origin: {origin}"


def _may_come_from(origin: str, allowed: tuple[str, ...]) -> bool:
    """Return True if a page of this origin may post. The origin `null`, of a file or a hidden page,
    may not. Schemes other than HTTP are those of programs and extensions that a person has
    installed.
    """
    scheme, _, rest = origin.partition("://")
    if not rest or scheme.lower() not in ("http", "https"):
        return bool(rest)
    host = _host_of(origin)
    return is_private(host) if ip_address_of(host) else _may_come(host, allowed)


def _may_come(host: str, allowed: tuple[str, ...]) -> bool:
    """Return True if a request may carry this name in `Host`. Nobody can point an IP address
    elsewhere.
    """
    may = not host or host in allowed or _LOCAL_NAME.fullmatch(host)
    return bool(may or ip_address_of(host))


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return "?."


_CLOUD = (".anthropic.com", ".claude.com")
"""Domains of Anthropic: a proxy before the API itself passes its keys on."""

_log = logging.getLogger(__name__)


class Doorkeeper:
    """Keeps foreign web pages out, and people's keys and cookies in. It reads each request's head
    first.
    """

    def __init__(self) -> None:
        self._has_warned = False

    def refusal(self, flow: HTTPFlow, host: str | None, settings: Settings) -> Response | None:
        """Return the answer to a request that a foreign web page has sent; `None` for any other
        request.

        `host`: the client's own `Host`; `None` where it is not known.
        """
        if not is_reverse(flow) or not is_loopback(str(flow.client_conn.sockname[0])):
            return None
        origin = flow.request.headers.get("origin")
        page = foreign_page(host or "", origin, settings.hosts)
        if not page:
            return None
        shown = bounded(page, LONGEST)
        message = f"refused, because a web page may have sent it ({shown}); think_hosts allows"
        _log.warning("think: %s: %s", in_a_line(flow.request), message)
        body = dialect_of(flow).answers.error(message, "permission_error", 403)
        return Response.make(403, body, {"content-type": JSON})

    def clean(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        """Take out of a request the headers that a model server must not get; log a withheld key
        once.
        """
        headers = flow.request.headers
        of_cloud = f".{flow.request.host}".endswith(_CLOUD) and flow.request.scheme == "https"
        withheld = [] if of_cloud else withhold_keys(headers)
        marks = exchange.server_dialect.label.headers if exchange else ()
        if exchange and not of_cloud:
            withhold_headers(headers, marks)
        if is_reverse(flow) and not of_cloud:  # only this server is the user's own choice
            put_key(headers, marks)
        if withheld and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "think: a key of Anthropic's (%s) is not sent to the model server",
                ", ".join(withheld),
            )


def dialect_of(flow: HTTPFlow) -> Dialect:
    """Return the dialect of a request: by its path, or by its headers where dialects share the
    path.
    """
    endpoint = (find(flow.request.method, flow.request.path) or (None,))[0]
    if endpoint is None:
        return COMMON
    return by_headers(flow.request.headers) if endpoint.shared else by_name(endpoint.dialect)


def identity(flow: HTTPFlow) -> Response | None:
    """Return the addon's answer to a probe for the addon itself; `None` for any other request."""
    if (flow.request.method, flow.request.path) != ("GET", ADDON_PATH):
        return None
    server = flow.client_conn.proxy_mode.data if is_reverse(flow) else ""
    return Response.make(200, addon_identity(server), {"content-type": JSON})


def is_reverse(flow: HTTPFlow) -> bool:
    """Return True if the proxy stands before one server that its user has named."""
    return isinstance(flow.client_conn.proxy_mode, ReverseMode)


async def is_at_home(flow: HTTPFlow) -> bool:
    """Return True if a forward proxy's request goes to this machine or a private network. The
    connected address decides, whatever the request's `Host` says.
    """
    peer = flow.server_conn.peername if flow.server_conn.connected else None
    return await leads_to_private(str(peer[0]) if peer else flow.request.host)
