"""The words for a server that did not answer, or not to the end, from mitmproxy's and the system's.

A row: what mitmproxy's message holds, and what a person is told. `{said}` is what the server said.
"""

import re
from dataclasses import dataclass

from converter.observe.printable import bounded

LONGEST = 300
"""Characters of a reason, because a server that answers with something else than HTTP may say much.
"""
NOT_THERE = (
    (r"Connect call failed|\[Errno 111\]|Connection refused", "connection refused"),
    (r"\[Errno -[2358]\]|getaddrinfo|[Nn]ame or service not known", "no such host"),
    (r"\[Errno 110\]|timed out", "no answer to the connection in time"),
    (r"\[Errno 113\]|No route to host", "no route to this host"),
    (r"\[Errno 101\]|Network is unreachable", "the network is unreachable"),
    (r"does not speak TLS", "it does not speak TLS; try http:// in the address"),
    (r"[Cc]ertificate|TLS|SSL", "no TLS connection ({said})"),
)
QUITTING = "mitmproxy is shutting down"
BROKEN = (
    (r"^server closed connection$", "closed the connection without an answer"),
    (r"^unexpected server response: (?P<said>.*)", "broke off within the head of its answer"),
    (r"^Cannot parse HTTP response: (?P<said>.*)", "did not answer in HTTP: {said}"),
    (r"received (?P<said>\d+ bytes, expected \d+)", "broke off its answer ({said})"),
    (
        r"incomplete chunked read|HTTP/2 connection closed|^peer closed connection$",
        "broke off its answer",
    ),
    (r"^stream reset by client \((?P<said>\w+)\)", "reset its answer ({said})"),
    (r"^HTTP/[12] protocol error: (?P<said>.*)", "broke the rules of HTTP: {said}"),
    (r"^reply too long: (?P<said>.*)", "sent {said}"),
    (r"body_size_limit", "sent more than mitmproxy's option body_size_limit allows"),
    (r"^Received (?P<said>.*) from server", "sent a bad head: {said}"),
)


@dataclass(frozen=True)
class ServerFault:
    """The reason why there is no reply, or no whole one. `may_pass`: the same request may succeed
    soon.
    """

    words: str
    may_pass: bool = False


def server_fault(reason: str, address: str) -> ServerFault:
    """Return what to tell a client about a failure that mitmproxy calls `reason`."""
    if reason == QUITTING:
        return ServerFault("the proxy is shutting down", may_pass=True)
    if words := _find(NOT_THERE, reason):
        return ServerFault(f"no model server at {address}: {words}")
    words = _find(BROKEN, reason)
    if not words:
        return ServerFault(
            f"no reply from the model server at {address}: {bounded(reason, LONGEST)}"
        )
    at_once = reason == "server closed connection"
    return ServerFault(f"the model server at {address} {words}", may_pass=at_once)


def _find(rows: tuple[tuple[str, str], ...], reason: str) -> str:
    for pattern, words in rows:
        if match := re.search(pattern, reason, re.DOTALL):
            said = match.groupdict().get("said") or reason
            return words.replace("{said}", bounded(said, LONGEST))
    return ""
