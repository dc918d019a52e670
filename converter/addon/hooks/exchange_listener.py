"""The link from our layers to the records of exchanges: the layers ask for the error of a request
that no server answered, and for the head of a stream that begins early.
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
"""mitmproxy's reasons for failures after which the same request may soon succeed."""


class ExchangeListener(Listener):
    """Answers the layers' calls from the records of exchanges; no method raises.

    Attributes:
        hosts: the `Host` that the client sent with a flow, until the addon reads it. Entries of
            CONNECT requests are never read, so they end with their flows.

    Arguments:
        chosen: Returns the settings in force.
        tap: Makes the stream function of a reply.
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
        """The seconds of silence after which a stream's client gets a ping; 0: no pings."""
        return self._chosen().ping.seconds

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Return False if a request has more bytes than the user's limit, and mark its record as
        too large. Requests without a record, which the addon leaves alone, have no limit.
        """
        record, limit = RUNNING_RECORDS.get(flow.id), self._chosen().limits.request
        if record and limit and size > limit:
            record.too_large = True
        return record is None or not record.too_large

    def watcher(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the reader of a response whose body is held; `None` if no reader needs it.

        The reader is the tap if the client wants one body, and a `NextRequest` if the body may lead
        to another request.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None:
            return None
        holds = record.tap and record.tap.holds and flow.response is record.head
        return start_reader(record) or (record.tap if holds else None)

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error for a client whose request got no response; `None` for traffic that is
        not the addon's.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None and not is_reverse(flow):
            return None
        # the tap's message also says if the second request failed
        message = record.tap.explain(reason) if record and record.tap else fault_of(flow, reason)
        # clients retry after a while on 529, the status of an overloaded server
        passing = reason in _PASSING
        status, kind = (529, "overloaded_error") if passing else (502, "api_error")
        client = record.exchange.client if record else dialect_of(flow)
        body = client.answers.error(message, kind, status)
        return Response.make(status, body, {"content-type": JSON})

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return a response head with which the client's stream begins before the server answers.
        `None` if the client requested no stream, or `think_ping` is not `early`.
        """
        record = RUNNING_RECORDS.get(flow.id)
        awaited = record.awaited if record else None
        if record is None or awaited is None or not self._chosen().ping.early:
            return None
        if awaited.request.form is not Form.STREAM:
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
        """Return the last pieces of a stream that began early (`begun`: its tap) if the server's
        response did not go through the tap. They are the rewritten body, or an error.
        """
        assert flow.response
        if begun.late:
            return begun.late
        body = http_messages.body(flow.response, [])
        if is_stream(flow.response.headers.get("content-type", "")):
            return [body]
        return begun.abort(
            f"status {flow.response.status_code}: {server_message(body) or 'no message'}"
        )
