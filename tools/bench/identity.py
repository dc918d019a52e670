"""The bare proxy's only addon: what passes, passes as it comes. Everything is measured against it."""

from mitmproxy.http import HTTPFlow


def responseheaders(flow: HTTPFlow) -> None:
    """Pass every body through a function that returns its argument."""
    if flow.response:
        flow.response.stream = lambda chunk: chunk
