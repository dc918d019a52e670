"""Rules for requests at the door: which clients may come in, which flows the addon acts on, which
headers of a client the model server never gets, and which bodies must be whole.
"""

import logging
import re
from collections.abc import Collection
from functools import lru_cache
from types import ModuleType
from urllib.parse import urlsplit

from mitmproxy import ctx
from mitmproxy.http import Headers, HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter.addon.addresses import ip_address_of, is_loopback, is_private, leads_to_private
from converter.addon.exchange.exchange import JSON, Exchange
from converter.addon.exchange.settings import Settings
from converter.addon.http_messages import leave_out
from converter.addon.log_lines import LONGEST, in_a_line
from converter.addon.mitmproxy_internals import value_of
from converter.addon.servers.probes import ADDON_PATH, addon_words
from converter.addon.servers.server_key import put_key
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import COMMON, Dialect, by_headers, by_name, find
from converter.core.wire.printable import bounded

_CLOUD_KEY = re.compile(rb"\s*(?:bearer\s+)?sk-ant-", re.IGNORECASE)
"""Anthropic's keys and OAuth tokens (sk-ant-api..., sk-ant-oat...)."""
_CREDENTIALS = (b"authorization", b"x-api-key", b"proxy-authorization")
_OF_PEOPLE = re.compile(
    rb"cookie2?|anthropic-.*|x-claude-.*|x-app|x-session-.*"
    # Codex 0.169: an installation's id and a folder's path; session-id, thread-id beside it
    rb"|x-codex-.*|session-id|thread-id"
)
"""Headers of a client that identify a person, or that only the client's own cloud reads."""
_LOCAL_NAME = re.compile(r"[^.]+|(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa|test)")
"""Names that no web page can have: without a dot, or in domains outside the Internet."""


def withhold_keys(headers: Headers) -> list[str]:
    """Take Anthropic's keys out of a request's headers; return the names of those headers."""
    matching = {name.lower() for name, value in headers.fields if _CLOUD_KEY.match(value)}
    names = [name for name in _CREDENTIALS if name in matching]
    if names:
        leave_out(headers, names.__contains__)
    return [name.decode() for name in names]


def withhold_headers(headers: Headers, kept: Collection[str]) -> None:
    """Take out cookies, and headers for the clouds of Claude Code and Codex. `kept`: the headers of
    the dialect in which the server gets the request.
    """
    leave_out(headers, lambda name: _is_of_people(name) and name.decode() not in kept)


@lru_cache(maxsize=256)
def _is_of_people(name: bytes) -> bool:
    return _OF_PEOPLE.fullmatch(name) is not None


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
    return Response.make(200, addon_words(server), {"content-type": JSON})


def is_reverse(flow: HTTPFlow) -> bool:
    """Return True if the proxy stands before one server that its user has named."""
    return isinstance(flow.client_conn.proxy_mode, ReverseMode)


async def is_at_home(flow: HTTPFlow) -> bool:
    """Return True if a forward proxy's request goes to this machine or a private network. The
    connected address decides, whatever the request's `Host` says.
    """
    peer = flow.server_conn.peername if flow.server_conn.connected else None
    return await leads_to_private(str(peer[0]) if peer else flow.request.host)


# What is not ours streams by. mitmproxy shows it to an addon when it has gone out, so that a
# request would reach its server in spite of `block_list`. Where an option or a script may act on a
# body, it is held as it is without the addon.
OF_REPLIES = ("body_size_limit", "intercept", "modify_body")
OF_REQUESTS = (
    *OF_REPLIES,
    "anticache",
    "anticomp",
    "block_list",
    "map_local",
    "map_remote",
    "server_replay",
    "stickyauth",
    "stickycookie",
)
"""Options of mitmproxy that act on a body when it is complete."""
_NO_SCRIPTS = ("mitmproxy", "converter", "think_addon")
_LINES = ("application/x-ndjson", "application/jsonl")


def must_hold_request() -> bool:
    """Return True if a request that is not the addon's has to be complete before it goes on."""
    return _is_set(OF_REQUESTS) or _has_script("request")


def must_hold_reply(response: Response) -> bool:
    """Return True if a reply that is not the addon's has to be complete before it goes on. A stream
    passes although a script has the hook, because the script may only count; it can set
    `flow.response.stream` to False.
    """
    kind = response.headers.get("content-type", "")
    streams = is_stream(kind) or kind.lower().startswith(_LINES)
    return _is_set(OF_REPLIES) or (not streams and _has_script("response"))


def _is_set(options: tuple[str, ...]) -> bool:
    return any(map(value_of, options))


def _has_script(hook: str) -> bool:
    """Return True if an addon has a hook that is neither mitmproxy's nor ours."""
    having = (addon for addon in ctx.master.addons.lookup.values() if hasattr(addon, hook))
    return any(_home(addon) not in _NO_SCRIPTS for addon in having)


def _home(addon: object) -> str:
    """Return the package or the script that an addon is defined in."""
    name = addon.__name__ if isinstance(addon, ModuleType) else type(addon).__module__
    return name.removeprefix("__mitmproxy_script__.").partition(".")[0]
