"""Rules of the doors: who may come in, where the addon acts, what never goes to a model server."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import urlsplit

from mitmproxy.http import Headers

from converter.shell.head_fields import leave_out

SECONDS_TO_RESOLVE = 2.0
"""For the address of a host's name; a request through a forward proxy waits as long."""
_CLOUD_KEY = re.compile(rb"\s*(?:bearer\s+)?sk-ant-", re.IGNORECASE)
"""Anthropic's keys and OAuth tokens (sk-ant-api..., sk-ant-oat...)."""
_CREDENTIALS = (b"authorization", b"x-api-key", b"proxy-authorization")
_OF_PEOPLE = re.compile(rb"cookie2?|anthropic-.*|x-claude-.*|x-app|x-session-.*")
"""Headers that say who somebody is, or that only Anthropic's own API reads."""
_LOCAL_NAME = re.compile(r"[^.]+|(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa|test)")
"""Names that no web page can have: without a dot, or in domains that are not for the Internet."""


def withhold_keys(headers: Headers) -> list[str]:
    """Take keys of Anthropic's out of a request; return the names of their headers."""
    named = ((name.lower(), value) for name, value in headers.fields)
    names = {name for name, value in named if name in _CREDENTIALS and _CLOUD_KEY.match(value)}
    if names:
        leave_out(headers, names.__contains__)
    return [name.decode() for name in _CREDENTIALS if name in names]


def withhold_headers(headers: Headers, kept: Collection[str]) -> None:
    """Take cookies and Anthropic's headers out. `kept`: those of the dialect that the server is
    asked in.
    """
    leave_out(headers, lambda name: _OF_PEOPLE.fullmatch(name) and name.decode() not in kept)


def is_private(address: str) -> bool:
    """Tell whether an IP address is this machine's, a local network's or a tailnet's."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return not (parsed.is_global or parsed.is_multicast or parsed.is_unspecified)


@lru_cache(maxsize=256)
def is_loopback(address: str) -> bool:
    """Tell whether an IP address is this machine's own."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


async def leads_to_private(host: str) -> bool:
    """Tell whether all addresses of a host are private, by asking the system for them."""
    if is_private(host):
        return True
    try:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS_TO_RESOLVE):
            addresses = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return bool(addresses) and all(is_private(str(address[0])) for *_, address in addresses)


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
    return is_private(host) if _is_address(host) else _may_come(host, allowed)


def _may_come(host: str, allowed: tuple[str, ...]) -> bool:
    """Tell whether a request may be for this name, because nobody can point an IP address
    elsewhere.
    """
    known = not host or host in allowed or _LOCAL_NAME.fullmatch(host)
    return bool(known) or _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return "?."
