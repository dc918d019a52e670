"""Rules for a request's head: `AccessRules` refuses requests of foreign web pages, and has
`client_headers` remove what the model server must not get. Also what hooks ask about a flow
(`is_reverse`, `dialect_of`), and the answer by which a program recognises the addon.
"""

import logging
import re
from functools import lru_cache
from urllib.parse import urlsplit

from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon.addresses import ip_address_of, is_loopback, is_private, resolves_to_private
from converter.addon.exchange.exchange import JSON, Exchange
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.client_headers import withhold_headers, withhold_keys
from converter.addon.log_lines import LONGEST, method_and_path
from converter.addon.servers.probes import ADDON_PATH, addon_identity
from converter.addon.servers.server_key import put_key
from converter.core.dialects.table import COMMON, Dialect, by_headers, by_name, find_endpoint
from converter.core.wire.printable import bounded

_LOCAL_NAME = re.compile(r"[^.]+|(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa|test)")
"""Host names that no page of the Internet can have: without a dot, or in a local domain."""


@lru_cache(maxsize=64)
def foreign_page_header(host: str, origin: str | None, allowed: tuple[str, ...]) -> str:
    """Return the header that shows that a foreign web page may have sent a request, such as
    `Origin: https://evil.example`; empty for any other request.

    A page can send a POST to this machine. It can also resolve its own host name to this machine
    (DNS rebinding), so that the browser lets the page read the replies.

    Arguments:
        host: The request's `Host`.
        origin: The request's `Origin`; `None` if there is none.
        allowed: Host names that may send requests, or `*` for all.
    """
    if "*" in allowed:
        return ""
    if not _allows_host(_host_of(f"//{host}"), allowed):
        return f"Host: {host}"
    if origin is None or _allows_origin(origin, allowed):
        return ""
    return f"Origin: {origin}"


def _allows_origin(origin: str, allowed: tuple[str, ...]) -> bool:
    """Return True if a page with this `Origin` may send requests: the page of an allowed or local
    name or of a private IP address, or a program or browser extension, which has a scheme of its
    own. False for other IP addresses, and for `null`, the origin of files and of pages that hide
    their origin.
    """
    scheme, _, rest = origin.partition("://")
    if not rest or scheme.lower() not in ("http", "https"):
        return bool(rest)
    host = _host_of(origin)
    return is_private(host) if ip_address_of(host) else _allows_host(host, allowed)


def _allows_host(host: str, allowed: tuple[str, ...]) -> bool:
    """Return True if a request may have this `Host`: an allowed or local name, none at all, or an
    IP address, which DNS cannot redirect.
    """
    may = not host or host in allowed or _LOCAL_NAME.fullmatch(host)
    return bool(may or ip_address_of(host))


def _host_of(url: str) -> str:
    """Return the host name in a URL, empty if it has none. For an invalid URL return `?.`, which no
    rule allows.
    """
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return "?."


_ANTHROPIC_DOMAINS = (".anthropic.com", ".claude.com")
"""Domains of Anthropic's own API. A server in one of them gets the client's Anthropic keys, over
HTTPS; no other server gets them.
"""

_log = logging.getLogger(__name__)


class AccessRules:
    """Refuses requests of foreign web pages, and removes keys and cookies that the model server
    must not get. Its methods are called with a request's head, before the request's steps.
    """

    def __init__(self) -> None:
        self._has_warned = False

    def refusal(self, flow: HTTPFlow, host: str | None, settings: Settings) -> Response | None:
        """Return the error for a request of a foreign web page; `None` if the request may pass.
        Only a reverse proxy refuses requests, and only those that reach it on a loopback address.

        `host`: the `Host` that the client sent, before mitmproxy replaced it; `None`: not known, so
        that only the `Origin` is checked.
        """
        if not is_reverse(flow) or not is_loopback(str(flow.client_conn.sockname[0])):
            return None
        origin = flow.request.headers.get("origin")
        page = foreign_page_header(host or "", origin, settings.hosts)
        if not page:
            return None
        shown = bounded(page, LONGEST)
        message = f"refused, because a web page may have sent it ({shown}); think_hosts allows"
        _log.warning("think: %s: %s", method_and_path(flow.request), message)
        body = dialect_of(flow).answers.error(message, "permission_error", 403)
        return Response.make(403, body, {"content-type": JSON})

    def clean_headers(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        """Remove the headers that a model server must not get. In a reverse proxy, put in the key
        that the user has configured for its server. Log a warning for the first key of Anthropic's
        that is removed. An HTTPS request to Anthropic's API (`_ANTHROPIC_DOMAINS`) stays as it is.

        `exchange`: `None` for traffic that the addon leaves alone. From such traffic only the keys
        are removed; cookies and personal headers stay.
        """
        headers = flow.request.headers
        if f".{flow.request.host}".endswith(_ANTHROPIC_DOMAINS) and flow.request.scheme == "https":
            return
        withheld = withhold_keys(headers)
        marks = exchange.server_dialect.label.headers if exchange else ()
        if exchange:
            withhold_headers(headers, marks)
        # the user configures a key for one server, and only a reverse proxy has just one server
        if is_reverse(flow):
            put_key(headers, marks)
        if withheld and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "think: a key of Anthropic's (%s) is not sent to the model server",
                ", ".join(withheld),
            )


def dialect_of(flow: HTTPFlow) -> Dialect:
    """Return the dialect of a request by its path, or by its headers if several dialects have that
    path. For a path that no dialect has, return chat completions (`COMMON`).
    """
    endpoint = (find_endpoint(flow.request.method, flow.request.path) or (None,))[0]
    if endpoint is None:
        return COMMON
    return by_headers(flow.request.headers) if endpoint.shared else by_name(endpoint.dialect)


def identity_response(flow: HTTPFlow) -> Response | None:
    """Return the addon's own answer to `GET /.well-known/think-addon`, by which a program finds out
    that this proxy runs the addon; `None` for any other request.
    """
    if (flow.request.method, flow.request.path) != ("GET", ADDON_PATH):
        return None
    server = flow.client_conn.proxy_mode.data if is_reverse(flow) else ""
    return Response.make(200, addon_identity(server), {"content-type": JSON})


def is_reverse(flow: HTTPFlow) -> bool:
    """Return True if the flow goes through a reverse proxy, whose user has named one server."""
    return isinstance(flow.client_conn.proxy_mode, ReverseMode)


async def is_to_private_host(flow: HTTPFlow) -> bool:
    """Return True if a forward proxy's request goes to this machine or a private network. If there
    is a connection to the server, its address decides, else the name of the requested host.
    """
    peer = flow.server_conn.peername if flow.server_conn.connected else None
    return await resolves_to_private(str(peer[0]) if peer else flow.request.host)
