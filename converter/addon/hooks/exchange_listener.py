"""Answers the questions of our layers about an exchange (the methods of `Listener`): which object
(`BodyReader`), if any, reads a response's body while the client gets nothing, which error a client
gets for a request without a response, which head begins a stream before the server answers, how
long a request may be, and when a ping is due.
"""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from mitmproxy.http import HTTPFlow, Response

from converter.addon import http_messages
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON
from converter.addon.exchange.settings import Settings
from converter.addon.hooks.access_rules import dialect_of, is_reverse
from converter.addon.hooks.connection_faults import fault_message
from converter.addon.hooks.refused_request import start_reader
from converter.addon.hooks.tap import Tap
from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord
from converter.addon.layer_contract import QUITTING, BodyReader, Listener
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import Form

_TEMPORARY_FAULTS = (QUITTING, "server closed connection")
"""mitmproxy's reasons for failures after which the same request may soon succeed."""


class ExchangeListener(Listener):
    """Answers the layers' calls about a flow from the record of its exchange; no method raises.

    Attributes:
        hosts: flow -> the `Host` that the client sent, until the addon has read it. The entry of a
            CONNECT request is never read; it disappears with its flow.

    Arguments:
        chosen: Returns the settings in force.
        tap: Makes the stream function of a reply.
    """

    def __init__(
        self,
        chosen: Callable[[], Settings],
        tap: Callable[[FlowRecord, AwaitedReply], Tap],
    ) -> None:
        self._read_settings = chosen
        self._make_tap = tap
        self.hosts: WeakKeyDictionary[HTTPFlow, str] = WeakKeyDictionary()

    @property
    def seconds_of_silence(self) -> float:
        """The seconds of silence after which a stream's client gets a ping; 0: no pings."""
        return self._read_settings().ping.seconds

    def allows_size(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if a client's request may have a body of `size` bytes. If `size` is more than
        the user's limit, mark the request's record as too large, and return False from then on. A
        request that the addon leaves alone has no record and no limit.
        """
        record, limit = RUNNING_RECORDS.get(flow.id), self._read_settings().limits.request_bytes
        if record and limit and size > limit:
            record.too_large = True
        return record is None or not record.too_large

    def body_reader(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the object that reads a server's response whose body is not yet sent to the
        client; `None` if the response's body need not be read as it comes.

        This is the tap (`Tap`, the reply's stream function) if it collects one whole body for the
        client from the server's stream. It is a `NextRequest` if the addon may send the server
        another request after this response. For example, the server has refused a trait of the
        request, and the next request leaves it out.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None:
            return None
        holds = record.tap and record.tap.holds and flow.response is record.stream_head
        return start_reader(record) or (record.tap if holds else None)

    def make_error(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error response for a client whose request got no response. Return `None` for
        traffic of a forward proxy that the addon leaves alone: the client then gets mitmproxy's own
        error page. `reason`: mitmproxy's text for the fault.
        """
        record = RUNNING_RECORDS.get(flow.id)
        if record is None and not is_reverse(flow):
            return None
        # `explain_fault` also says whether it was a second request that failed (`ContinuedReply`)
        tap = record.tap if record else None
        message = tap.explain_fault(reason) if tap else fault_message(flow, reason)
        passing = reason in _TEMPORARY_FAULTS
        # 529 is the status of an overloaded server, after which clients retry later
        status, kind = (529, "overloaded_error") if passing else (502, "api_error")
        dialect = record.exchange.client_dialect if record else dialect_of(flow)
        body = dialect.answers.error(message, kind, status)
        return Response.make(status, body, {"content-type": JSON})

    def early_head(self, flow: HTTPFlow) -> Response | None:
        """Return a response head with which the client's stream begins before the server answers,
        so that the client can get pings. Return `None` if the option `think_ping` lacks `early`,
        the client requested no stream, or the addon does not rewrite the reply.
        """
        record = RUNNING_RECORDS.get(flow.id)
        awaited = record.awaited if record else None
        if record is None or awaited is None or not self._read_settings().ping.sends_early_head:
            return None
        if awaited.request.form is not Form.STREAM:
            return None
        framing = record.exchange.client_dialect.wire.framing
        head = Response.make(
            200, headers={"content-type": f"{framing.content_type}; charset=utf-8"}
        )
        http_messages.open_for_streaming(flow.request, head)
        head.stream = self._make_tap(record, awaited)
        record.began_early = True
        return head

    def last_pieces(self, flow: HTTPFlow, begun: Tap) -> list[bytes]:
        """Return the last pieces of a client's stream if the server's response then came whole. The
        stream began early (`early_head`), or a next request was to continue it. They are the pieces
        that the stream's tap (`begun`) has kept, else the body that `ReplySteps.complete` has made,
        or an error if it made no stream.
        """
        assert flow.response
        if begun.late_pieces:
            return begun.late_pieces
        body = http_messages.read_body(flow.response, [])
        if is_stream(flow.response.headers.get("content-type", "")):
            return [body]
        return begun.abort(
            f"status {flow.response.status_code}: {server_message(body) or 'no message'}"
        )
