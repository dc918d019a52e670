"""Checks whether an IP address, or all addresses of a host's name, belong to this machine or to a
private network.
"""

import asyncio
import ipaddress
import socket
from functools import lru_cache

SECONDS_TO_RESOLVE = 2.0
"""The most seconds to resolve a host's name. A request through a forward proxy waits for it."""


def ip_address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address in `host`, without brackets and zone; None if `host` is a name. An IPv4
    address that is mapped into IPv6 is returned as IPv4.
    """
    try:
        parsed = ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed


def is_private(address: str) -> bool:
    """Return True if an IP address belongs to this machine, a local network or a tailnet. Return
    False for a name.
    """
    parsed = ip_address_of(address)
    return parsed is not None and not (
        parsed.is_global or parsed.is_multicast or parsed.is_unspecified
    )


@lru_cache(maxsize=256)
def is_loopback(address: str) -> bool:
    """Return True if `address` is a loopback IP address, False for any other address or a name."""
    parsed = ip_address_of(address)
    return parsed is not None and parsed.is_loopback


async def resolves_to_private(host: str) -> bool:
    """Resolve a host's name, and return True if all its addresses are private. Return False if the
    name is not resolved within `SECONDS_TO_RESOLVE`. `host` may also be an IP address.
    """
    if is_private(host):
        return True
    try:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS_TO_RESOLVE):
            addresses = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return bool(addresses) and all(is_private(str(address[0])) for *_, address in addresses)
