"""Turns the reason for a broken connection into a sentence for the client (`fault_message`): that
the server could not be reached, did not answer, or broke off its reply. The table `FAULTS` has the
reasons, which are mitmproxy's or the system's texts, and the sentences.
"""

import re

from mitmproxy.http import HTTPFlow

from converter.addon.layer_contract import QUITTING
from converter.addon.probes.upstream_http import SPEAKS_TLS
from converter.core.wire.printable import bounded

LONGEST = 300
"""The most characters of an error's reason that a message quotes, because a reason may hold bytes
of a server that speaks no HTTP.
"""
FAULTS = {
    "the proxy is shutting down": ((f"^{QUITTING}$", ""),),
    "no model server at {at}: {why}": (
        (r"Connect call failed|\[Errno 111\]|Connection refused", "connection refused"),
        (r"\[Errno -[2358]\]|getaddrinfo|[Nn]ame or service not known", "no such host"),
        (r"\[Errno 110\]|timed out", "no answer to the connection in time"),
        (r"\[Errno 113\]|No route to host", "no route to this host"),
        (r"\[Errno 101\]|Network is unreachable", "the network is unreachable"),
        (r"does not speak TLS", "it does not speak TLS; try http:// in the address"),
        (SPEAKS_TLS, "it speaks TLS; try https:// in the address"),
        (
            r"[Cc]ertificate verify failed: (?P<detail>.*)",
            "its certificate is not trusted ({detail}); for a server of your own start with"
            " --set ssl_insecure=true, or --set ssl_verify_upstream_trusted_ca=FILE",
        ),
        (r"[Cc]ertificate|TLS|SSL", "no TLS connection ({detail})"),
    ),
    "the model server at {at} {why}": (
        (r"^server closed connection$", "closed the connection without an answer"),
        (r"^unexpected server response: (?P<detail>.*)", "broke off within the head of its answer"),
        (r"^Cannot parse HTTP response: (?P<detail>.*)", "did not answer in HTTP: {detail}"),
        (r"received (?P<detail>\d+ bytes, expected \d+)", "broke off its answer ({detail})"),
        (
            r"incomplete chunked read|HTTP/2 connection closed|^peer closed connection$",
            "broke off its answer",
        ),
        (r"^stream reset by client \((?P<detail>\w+)\)", "reset its answer ({detail})"),
        (r"^HTTP/[12] protocol error: (?P<detail>.*)", "broke the rules of HTTP: {detail}"),
        (r"^reply too long: (?P<detail>.*)", "sent {detail}"),
        (r"body_size_limit", "sent more than mitmproxy's option body_size_limit allows"),
        (r"^Received (?P<detail>.*) from server", "sent a bad head: {detail}"),
    ),
    "no reply from the model server at {at}: {why}": ((r"", "{detail}"),),
}
"""Template of a message for the client -> its rows of (pattern that is searched in the reason, text
in place of `{why}`). The first row whose pattern matches counts.

The reason is mitmproxy's or the operating system's text for the fault. `{at}` is the server's
address; `{detail}` is the pattern's group of this name, or the whole reason. Example: the reason
`[Errno 111] Connect call failed` becomes `no model server at http://localhost:8000: connection
refused`.
"""


def fault_message(flow: HTTPFlow, reason: str) -> str:
    """Return the message for the client about a failed connection, with the server's address unless
    mitmproxy is ending. `reason`: the text for the fault, by mitmproxy or the operating system.
    """
    rows = ((sentence, *row) for sentence, rows in FAULTS.items() for row in rows)
    matches = ((match, *row) for row in rows if (match := re.search(row[1], reason, re.DOTALL)))
    match, sentence, _, why = next(matches)  # there is always a match: the last row fits any reason
    detail = bounded(match.groupdict().get("detail") or reason, LONGEST)
    at = f"{flow.request.scheme}://{flow.request.host}:{flow.request.port}"
    return sentence.replace("{why}", why).format(at=at, detail=detail)
