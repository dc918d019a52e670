"""A mitmproxy script in each of whose hooks somebody waits, for requests that ask for it."""

import asyncio

from mitmproxy.http import HTTPFlow

WAITS, WAITED = "x-waits", "x-waited"


async def requestheaders(flow: HTTPFlow) -> None:
    """Wait, and tell the server so."""
    if WAITS in flow.request.headers:
        await asyncio.sleep(0)  # one turn of the loop: the hook is not over at once
        flow.request.headers[WAITED] = "yes"


async def _waits(flow: HTTPFlow) -> None:
    if WAITS in flow.request.headers:
        await asyncio.sleep(0)


request = responseheaders = response = error = _waits
