"""Addresses of hosts: those of this machine, and of private networks."""

import asyncio
import ipaddress
import socket
from functools import lru_cache

SECONDS_TO_RESOLVE = 2.0
"""Seconds for the address of a host's name; a request through a forward proxy waits as long."""


def ip_address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that `host` spells, without its zone; `None` for a name."""
    try:
        parsed = ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed


def is_private(address: str) -> bool:
    """Return True if an IP address is this machine's, a local network's or a tailnet's."""
    parsed = ip_address_of(address)
    return parsed is not None and not (
        parsed.is_global or parsed.is_multicast or parsed.is_unspecified
    )


@lru_cache(maxsize=256)
def is_loopback(address: str) -> bool:
    """Return True if an IP address is this machine's own."""
    parsed = ip_address_of(address)
    return parsed is not None and parsed.is_loopback


async def leads_to_private(host: str) -> bool:
    """Return True if all addresses of a host are private; resolve its name."""
    if is_private(host):
        return True
    try:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS_TO_RESOLVE):
            addresses = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return bool(addresses) and all(is_private(str(address[0])) for *_, address in addresses)
