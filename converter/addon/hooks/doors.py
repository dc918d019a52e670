"""Rules of the doors: the clients that may come in, the flows on which the addon acts, the headers
that never go to a model server, and the bodies of other traffic that mitmproxy's options have to
see whole.
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
"""Headers that say who somebody is, or that only a client's own cloud reads."""
_LOCAL_NAME = re.compile(r"[^.]+|(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa|test)")
"""Names that no web page can have: without a dot, or in domains that are not for the Internet."""


def withhold_keys(headers: Headers) -> list[str]:
    """Take keys of Anthropic's out of a request; return the names of their headers."""
    matching = {name.lower() for name, value in headers.fields if _CLOUD_KEY.match(value)}
    names = [name for name in _CREDENTIALS if name in matching]
    if names:
        leave_out(headers, names.__contains__)
    return [name.decode() for name in names]


def withhold_headers(headers: Headers, kept: Collection[str]) -> None:
    """Take cookies out, and headers for the clouds of Claude Code and Codex. `kept`: those of the
    dialect that the server is asked in.
    """
    leave_out(headers, lambda name: _is_of_people(name) and name.decode() not in kept)


@lru_cache(maxsize=256)
def _is_of_people(name: bytes) -> bool:
    return _OF_PEOPLE.fullmatch(name) is not None


@lru_cache(maxsize=64)
def foreign_page(host: str, origin: str | None, allowed: tuple[str, ...]) -> str:
    """Tell which web page's name a request carries that must not use a local model; none: empty.

    A page can point a name of its own at this machine, and the browser then lets it read all
    replies (DNS rebinding), or simply post. `allowed`: names that may, or `*`.
    """
    if "*" in allowed:
        return ""
    if not _may_come(_host_of(f"//{host}"), allowed):
        return f"Host: {host}"
    if origin is None or _may_come_from(origin, allowed):
        return ""
    return f"Origin: {origin}"


def _may_come_from(origin: str, allowed: tuple[str, ...]) -> bool:
    """Tell whether a page may post; `null` is a file's or a hidden page's, and says nothing.

    Other schemes are those of programs and extensions that a person has installed.
    """
    scheme, _, rest = origin.partition("://")
    if not rest or scheme.lower() not in ("http", "https"):
        return bool(rest)
    host = _host_of(origin)
    return is_private(host) if ip_address_of(host) else _may_come(host, allowed)


def _may_come(host: str, allowed: tuple[str, ...]) -> bool:
    """Tell whether a request may be for this name, because nobody can point an IP address
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
"""Whose keys they are: a proxy before the API itself passes them on."""

_log = logging.getLogger(__name__)


class Doorkeeper:
    """Keeps foreign web pages out, and people's keys and cookies in, by a look at each request's
    head before anybody else.
    """

    def __init__(self) -> None:
        self._has_warned = False

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
        message = f"refused, because a web page may have sent it ({shown}); think_hosts allows"
        _log.warning("think: %s: %s", in_a_line(flow.request), message)
        body = dialect_of(flow).answers.error(message, "permission_error", 403)
        return Response.make(403, body, {"content-type": JSON})

    def clean(self, flow: HTTPFlow, exchange: Exchange | None) -> None:
        """Take out of a request what a model server must not get; say so once."""
        headers = flow.request.headers
        of_cloud = f".{flow.request.host}".endswith(_CLOUD) and flow.request.scheme == "https"
        withheld = [] if of_cloud else withhold_keys(headers)
        marks = exchange.server_dialect.label.headers if exchange else ()
        if exchange and not of_cloud:
            withhold_headers(headers, marks)
        if is_reverse(flow) and not of_cloud:  # no other server is the user's own choice
            put_key(headers, marks)
        if withheld and not self._has_warned:
            self._has_warned = True
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
    if (flow.request.method, flow.request.path) != ("GET", ADDON_PATH):
        return None
    server = flow.client_conn.proxy_mode.data if is_reverse(flow) else ""
    return Response.make(200, addon_words(server), {"content-type": JSON})


def is_reverse(flow: HTTPFlow) -> bool:
    """Tell whether the proxy stands before one server that its user has named."""
    return isinstance(flow.client_conn.proxy_mode, ReverseMode)


async def is_at_home(flow: HTTPFlow) -> bool:
    """Tell whether a forward proxy's request goes to this machine or a private network: by the
    address that is connected to, whatever the request's `Host` says.
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
"""Options of mitmproxy's that act when a body is there."""
_NO_SCRIPTS = ("mitmproxy", "converter", "think_addon")
_LINES = ("application/x-ndjson", "application/jsonl")


def must_hold_request() -> bool:
    """Tell whether a request has to be whole."""
    return _is_set(OF_REQUESTS) or _has_script("request")


def must_hold_reply(response: Response) -> bool:
    """Tell whether a reply has to be whole. A stream stays one where only a script has the hook,
    which may do no more than count; it can set `flow.response.stream` to False.
    """
    kind = response.headers.get("content-type", "")
    streams = is_stream(kind) or kind.lower().startswith(_LINES)
    return _is_set(OF_REPLIES) or (not streams and _has_script("response"))


def _is_set(options: tuple[str, ...]) -> bool:
    return any(map(value_of, options))


def _has_script(hook: str) -> bool:
    """Tell whether an addon has a hook that is neither mitmproxy's nor ours."""
    having = (addon for addon in ctx.master.addons.lookup.values() if hasattr(addon, hook))
    return any(_home(addon) not in _NO_SCRIPTS for addon in having)


def _home(addon: object) -> str:
    """Return the package or the script that an addon stands in."""
    name = addon.__name__ if isinstance(addon, ModuleType) else type(addon).__module__
    return name.removeprefix("__mitmproxy_script__.").partition(".")[0]
