"""Answers for our layers about an exchange: the error for a request that no server answered, and
early heads of streams.
"""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from mitmproxy.http import HTTPFlow, Response

from converter.addon import http_messages
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.connection_faults import fault_of
from converter.addon.hooks.doors import dialect_of, is_reverse
from converter.addon.hooks.refused_request import start_reader
from converter.addon.hooks.tap import Tap
from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord
from converter.addon.layer_contract import QUITTING, BodyReader, Listener
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import Form

_PASSING = (QUITTING, "server closed connection")
"""Reasons after which the same request may soon succeed."""


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
        record, limit = RUNNING_RECORDS.get(flow.id), self._chosen().limits.request
        if record and limit and size > limit:
            record.too_large = True
        return record is None or not record.too_large

    def watcher(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the stream function of a stream that is held for a client that wants one body, or
        the reader of a body behind which another request may be sent.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None:
            return None
        if reader := start_reader(record):
            return reader
        return (
            record.tap if record.tap and record.tap.holds and flow.response is record.head else None
        )

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error that a client gets in place of a reply, or of a list of models."""
        record = RUNNING_RECORDS.get(flow.id)
        if record is None and not is_reverse(flow):
            return None
        # a tap adds that a thought was ended
        message = record.tap.explain(reason) if record and record.tap else fault_of(flow, reason)
        # clients wait and try again when a server is overloaded
        passing = reason in _PASSING
        status, kind = (529, "overloaded_error") if passing else (502, "api_error")
        client = record.exchange.client if record else dialect_of(flow)
        body = client.answers.error(message, kind, status)
        return Response.make(status, body, {"content-type": JSON})

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream, if the client requested a stream and the user wants it
        early.
        """
        record = RUNNING_RECORDS.get(flow.id)
        awaited = record.awaited if record else None
        if record is None or awaited is None or not self._chosen().ping.early:
            return None
        request, streams = awaited.request, awaited.request.form is Form.STREAM
        if not request.exchange.translated:
            streams = request.exchange.endpoint.is_chat and request.body.get("stream") is True
        if not streams:
            return None
        framing = record.exchange.client.wire.framing
        head = Response.make(
            200, headers={"content-type": f"{framing.content_type}; charset=utf-8"}
        )
        http_messages.open_for_streaming(flow.request, head)
        head.stream = self._tap(record, awaited)
        record.early = True
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
            f"status {flow.response.status_code}: {server_message(body) or 'no message'}"
        )
