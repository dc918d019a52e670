"""Answers for our layers about an exchange: the error for a request that no server answered, with
the message of the connection's fault (`FAULTS`), and early heads of streams.
"""

import re
from collections.abc import Callable
from weakref import WeakKeyDictionary

from mitmproxy.http import HTTPFlow, Response

from converter.addon import http_messages
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.doors import dialect_of, is_reverse
from converter.addon.hooks.refused import reader_of
from converter.addon.hooks.tap import Tap
from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord
from converter.addon.layer_contract import QUITTING, BodyReader, Listener
from converter.addon.probes.upstream_http import SPEAKS_TLS
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import Form
from converter.core.wire.printable import bounded

LONGEST = 300
"""Characters of a reason, because a server that speaks no HTTP may send anything."""
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
"""The message for a connection that failed: each sentence, with the patterns of mitmproxy's or the
system's reasons for which it stands. `{detail}` is the part of the reason that is quoted.
"""
_PASSING = (QUITTING, "server closed connection")
"""Reasons after which the same request may soon succeed."""


def fault_of(flow: HTTPFlow, reason: str) -> str:
    """Return the message for a client about a failure, with the server's address. `reason`:
    mitmproxy's.
    """
    rows = ((sentence, *row) for sentence, rows in FAULTS.items() for row in rows)
    matches = ((match, *row) for row in rows if (match := re.search(row[1], reason, re.DOTALL)))
    match, sentence, _, why = next(matches)  # the last row matches any reason
    detail = bounded(match.groupdict().get("detail") or reason, LONGEST)
    at = f"{flow.request.scheme}://{flow.request.host}:{flow.request.port}"
    return sentence.replace("{why}", why).format(at=at, detail=detail)


class ExchangeListener(Listener):
    """Answers the layers from the records of exchanges; no method raises.

    Attributes:
        hosts: each client's own `Host`, until the addon reads it. Nobody reads that of a CONNECT.

    `chosen`: returns the settings in force. `tap`: makes the stream function of a reply.
    """

    def __init__(
        self,
        chosen: Callable[[], Settings],
        tap: Callable[[FlowRecord, AwaitedReply], Tap],
    ) -> None:
        self._chosen = chosen
        self._tap = tap
        self.hosts: WeakKeyDictionary[HTTPFlow, str] = WeakKeyDictionary()

    @property
    def seconds_of_silence(self) -> float:
        """The longest silence before a client is pinged."""
        return self._chosen().ping.seconds

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if a request may have so many bytes. Mark the record of a request that may
        not. Requests that are not the addon's are not limited.
        """
        kept, limit = RUNNING_RECORDS.get(flow.id), self._chosen().limits.request
        if kept and limit and size > limit:
            kept.too_large = True
        return kept is None or not kept.too_large

    def watcher(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the stream function of a stream that is held for a client that wants one body, or
        the reader of a body behind which another request may be sent.
        """
        kept = RUNNING_RECORDS.get(flow.id)
        if kept is None:
            return None
        if reader := reader_of(kept):
            return reader
        return kept.tap if kept.tap and kept.tap.holds and flow.response is kept.head else None

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error that a client gets in place of a reply, or of a list of models."""
        kept = RUNNING_RECORDS.get(flow.id)
        if kept is None and not is_reverse(flow):
            return None
        # a tap adds that a thought was ended
        message = kept.tap.explain(reason) if kept and kept.tap else fault_of(flow, reason)
        # clients wait and try again when a server is overloaded
        passing = reason in _PASSING
        status, kind = (529, "overloaded_error") if passing else (502, "api_error")
        client = kept.exchange.client if kept else dialect_of(flow)
        body = client.answers.error(message, kind, status)
        return Response.make(status, body, {"content-type": JSON})

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream, if the client requested a stream and the user wants it
        early.
        """
        kept = RUNNING_RECORDS.get(flow.id)
        awaited = kept.awaited if kept else None
        if kept is None or awaited is None or not self._chosen().ping.early:
            return None
        request, streams = awaited.request, awaited.request.form is Form.STREAM
        if not request.exchange.translated:
            streams = request.exchange.endpoint.is_chat and request.body.get("stream") is True
        if not streams:
            return None
        framing = kept.exchange.client.wire.framing
        head = Response.make(
            200, headers={"content-type": f"{framing.content_type}; charset=utf-8"}
        )
        http_messages.open_for_streaming(flow.request, head)
        head.stream = self._tap(kept, awaited)
        kept.early = True
        return head

    def late(self, flow: HTTPFlow, begun: Tap) -> list[bytes]:
        """Return the end of a stream that began early, whose reply bypassed the stream function."""
        assert flow.response
        if begun.late:
            return begun.late
        body = http_messages.body(flow.response, [])
        if is_stream(flow.response.headers.get("content-type", "")):
            return [body]
        return begun.abort(
            f"status {flow.response.status_code}: {server_message(body) or 'no words'}"
        )
