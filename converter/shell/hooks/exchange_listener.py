"""Words for our layers to say: replies to requests that no server answered, early heads."""

from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

from mitmproxy.http import HTTPFlow, Response

from converter.dialects.error_words import server_words
from converter.dialects.table import Form
from converter.exchange.exchange import JSON, is_stream
from converter.exchange.settings import Settings
from converter.reply.awaited_reply import AwaitedReply
from converter.shell import messages
from converter.shell.hooks.doorkeeper import dialect_of, is_reverse
from converter.shell.hooks.refused import Refused, may_ask_again
from converter.shell.hooks.server_faults import ServerFault, server_fault
from converter.shell.hooks.tap import Tap
from converter.shell.keep.flow_record import FlowRecord
from converter.shell.layers.contract import StreamFunction

BAD_GATEWAY, OVERLOADED = 502, 529
"""Statuses of a server that failed, and of one for which clients wait and try again."""


class ExchangeListener:
    """Answers the layers from what is known of an exchange.

    `kept`: the exchanges under way. `chosen` gives the settings in force. `tap`: makes the stream
    function of a reply.
    """

    def __init__(
        self,
        kept: Mapping[str, FlowRecord],
        chosen: Callable[[], Settings],
        tap: Callable[[HTTPFlow, FlowRecord, AwaitedReply], StreamFunction],
    ) -> None:
        self._kept = kept
        self._chosen = chosen
        self._tap = tap
        self._hosts: WeakKeyDictionary[HTTPFlow, str] = WeakKeyDictionary()

    @property
    def seconds_of_silence(self) -> float:
        """The longest silence that a client hears."""
        return self._chosen().ping.seconds

    def asked(self, flow: HTTPFlow, host: str) -> None:
        """Keep the client's own `Host` until `host_of` asks for it; of a CONNECT nobody does."""
        self._hosts[flow] = host

    def host_of(self, flow: HTTPFlow) -> str | None:
        """Return the client's own `Host`, once; None where our layers are not in place."""
        return self._hosts.pop(flow, None)

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Tell whether a request may be of so many bytes, and note it of one that may not. Requests
        that are not ours are not held.
        """
        kept, limit = self._kept.get(flow.id), self._chosen().limits.request
        if kept and limit and size > limit:
            kept.too_large = True
        return kept is None or not kept.too_large

    def watcher(self, flow: HTTPFlow) -> Tap | Refused | None:
        """Return the function of a stream that is held for a client that wants one body, or the
        reader of a refusal.
        """
        kept = self._kept.get(flow.id)
        refused = kept.refused if kept else None
        read = refused is not None and refused.reads is flow.response
        if kept and not read and may_ask_again(flow, kept):
            kept.refused = refused = Refused(flow, kept, refused)
            read = True
        if read:
            return refused
        held = kept is not None and kept.tap and kept.tap.holds and flow.response is kept.head
        return kept.tap if kept and held else None

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error that a client gets in place of a reply, of a list of models as well."""
        kept = self._kept.get(flow.id)
        if kept is None and not is_reverse(flow):
            return None
        fault = fault_of(flow, reason)
        if kept and kept.tap:  # behind a thought that was ended
            fault = ServerFault(kept.tap.explain(reason), fault.may_pass)
        status = OVERLOADED if fault.may_pass else BAD_GATEWAY
        kind = "overloaded_error" if fault.may_pass else "api_error"
        client = kept.exchange.client if kept else dialect_of(flow)
        body = client.answers.error(fault.words, kind, status)
        return Response.make(status, body, {"content-type": JSON})

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream, if the client asked for one and the user wants it early."""
        kept = self._kept.get(flow.id)
        awaited = kept.awaited if kept else None
        if kept is None or awaited is None or not self._chosen().ping.early:
            return None
        if not _wants_stream(awaited):
            return None
        framing = kept.exchange.client.wire.framing
        head = Response.make(
            200, headers={"content-type": f"{framing.content_type}; charset=utf-8"}
        )
        messages.open_for_streaming(flow.request, head)
        head.stream = self._tap(flow, kept, awaited)
        kept.early = True
        return head

    def late(self, flow: HTTPFlow, begun: StreamFunction) -> list[bytes]:
        """Return what a reply says that is none of the stream that was begun for it."""
        assert flow.response
        if isinstance(begun, Tap) and begun.late:
            return begun.late
        body = messages.body(flow.response, [])
        if is_stream(flow.response.headers.get("content-type", "")):
            return [body]
        return begun.abort(
            f"status {flow.response.status_code}: {server_words(body) or 'no words'}"
        )


def fault_of(flow: HTTPFlow, reason: str) -> ServerFault:
    """Return mitmproxy's reason in words, with the server's address."""
    request = flow.request
    return server_fault(reason, f"{request.scheme}://{request.host}:{request.port}")


def _wants_stream(awaited: AwaitedReply) -> bool:
    request = awaited.request
    if request.exchange.translated:
        return request.form is Form.STREAM
    return request.exchange.endpoint.is_chat and request.body.get("stream") is True
