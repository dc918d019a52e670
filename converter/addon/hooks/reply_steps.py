"""The reply half of an exchange: a stream goes through a tap (`tap.py`), a whole reply is
rewritten, and the watchers get the events.
"""

import logging
import time
from dataclasses import replace
from functools import partial

from mitmproxy.http import HTTPFlow, Response

from converter.addon import http_messages
from converter.addon.aside import aside
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, Answer, Kind
from converter.addon.hooks.connection_faults import fault_of
from converter.addon.hooks.tap import Tap
from converter.addon.hooks.whole_bodies import must_hold_reply
from converter.addon.keep.flow_record import FlowRecord, client_left
from converter.addon.layer_contract import HeldStream
from converter.addon.log_lines import in_short, report
from converter.addon.memory.store_waits import written
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers import refusals, remedies
from converter.addon.servers.unread_replies import READERS
from converter.addon.watcher import Watchers
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import Form
from converter.core.reply.rewriter import Rewriter

PASSED = "another addon has streamed the reply, so it was passed on unchanged"


class ReplySteps:
    """Rewrites replies, and passes their events to the watchers."""

    def __init__(self, client: UpstreamClient, watchers: Watchers) -> None:
        self._client, self._servers = client, client.servers
        self._watchers = watchers

    async def begin(self, flow: HTTPFlow, record: FlowRecord | None) -> None:
        """Make a tap the stream function of a streamed reply, before the first byte. A response
        that the addon leaves alone is streamed unchanged.
        """
        assert flow.response
        streamed = is_stream(flow.response.headers.get("content-type", ""))
        if streamed and http_messages.may_close_after_streams(flow.response):
            http_messages.use_connection_once(flow)
        if record and _is_another_response(record):
            return  # a reader reads the body of such a response, or `complete` rewrites it
        if record is None or record.awaited is None:
            # if another addon has set a stream function, this function stays
            flow.response.stream = flow.response.stream or not must_hold_reply(flow.response)
            return
        self._learn_refusal(record)
        streams = streamed and flow.response.status_code == 200
        readable = streams and not http_messages.is_compressed(flow.response)
        if _goes_on(record):  # the response continues a reply whose head the client has already
            flow.response = record.head if readable else flow.response
            return
        if record.exchange.guesses and not record.awaited.as_text:
            body = record.awaited.request.body
            initial = await self._client.initial_state(record.upstream, body)
            if initial is not record.awaited.initial:
                record.awaited = replace(record.awaited, initial=initial)
        record.sides.keep_response_head(flow)
        http_messages.set_request_id(flow, record.exchange)
        if readable:
            self._open_stream(flow.response, record, record.awaited)

    def _learn_refusal(self, record: FlowRecord) -> None:
        """Store a lesson about the parts that the server has refused, if the response shows that it
        takes the request without these parts.
        """
        refused, response = record.refused, record.flow.response
        if refused and refused.left_out and response and response.status_code == 200:
            self._servers.saw_refusal(record.upstream, refused.body, refused.left_out)

    def _learn_unread(self, record: FlowRecord, failure: str) -> None:
        """Store a lesson if the server's own parser of calls failed on this reply, so that the next
        request avoids the parser.
        """
        sent, request = record.sides.sent, record.request
        if failure and sent and record.exchange.endpoint.is_chat:
            text = http_messages.content_of(sent).decode("utf-8", "replace")
            names = refusals.refused(500, failure, text) & request.may_lack & READERS
            if names:
                self._servers.saw_refusal(record.upstream, request.body, names)

    async def complete(self, record: FlowRecord) -> None:
        """Finish a reply: rewrite it if it is whole, learn lessons from it, and log its notes in
        one line.
        """
        flow, awaited, notes = record.flow, record.awaited, list[str]()
        if awaited is None or flow.response is None:
            await _rewrite_counterpart(record)
            return
        tap, is_open = record.tap, record.rewriter is not None and not record.rewriter.closed
        if flow.response.stream and not isinstance(flow.response.stream, Tap):
            notes.append(PASSED)
        elif tap and is_open and (_goes_on(record) or awaited.watched or tap.is_silent):
            self._end_tap(tap, record, notes)
        elif record.early and is_open and flow.response.status_code == 200:
            # the whole response is the rest of a stream that began early
            tap = self.tap(record, awaited)
            rest = b"".join([*tap(http_messages.body(flow.response, notes)), *tap(b"")])
            kind = record.exchange.client.wire.framing.content_type
            http_messages.set_reply(flow.response, Answer(200, kind, rest))
        elif record.rewriter is None or is_open:  # it stays open without a body
            await self._rewrite_whole(flow.response, record, notes)
        if rewriter := record.rewriter:
            upstream = record.upstream
            record.server = self._servers.server(upstream) or record.server
            awaited.learn(rewriter.findings, self._servers, upstream)
            self._servers.answered(upstream)
            self._learn_unread(record, rewriter.failure)
            self._client.lessons.tell(upstream)
            report(record.client_request, rewriter.findings.hints, logging.INFO)
            # the record gets the full hints, because `report` returns them without the names of
            # forms behind a colon
            record.hints += rewriter.findings.hints
            notes += [rewriter.failure, *rewriter.notes]
        record.notes += report(record.client_request, notes)
        self._finish(record)
        await written(record.memory)  # last, because the memory writes while the steps above run

    def break_off(self, record: FlowRecord) -> None:
        """Close the reply of an exchange whose server or client has disconnected, and log the
        reason.
        """
        flow, rewriter = record.flow, record.rewriter
        assert flow.error
        left = client_left(flow)
        if rewriter and not rewriter.closed:
            if left:
                rewriter.end.give_up()  # the missing end is the client's wish, and no failure
            rewriter.close()  # only the watchers get the last events
            self._pass_events(record, rewriter)
        if not left:
            self._servers.doubt(record.upstream)
        # a client that disconnects behind the finish has its whole reply, so nothing is logged
        if not (left and rewriter and rewriter.summary.finish):
            if left and record.exchange.endpoint.is_chat:  # the reply's line in the log has it
                record.hints.append(in_short(flow.error.msg))
            elif left:
                record.hints += report(record.client_request, [flow.error.msg], logging.INFO)
            else:
                record.hints += report(record.client_request, [fault_of(flow, flow.error.msg)])
        self._finish(record)

    def _finish(self, record: FlowRecord) -> None:
        """Call the watchers' `ended`. Drop the record's tap: tap and record refer to each other, so
        their memory would be free only after a run of the garbage collector.
        """
        self._watchers.ended(record)
        record.tap = None

    def tap(self, record: FlowRecord, awaited: AwaitedReply) -> Tap:
        """Return a new tap for a reply, which continues the rewriter of the record if there
        is one.
        """
        rewriter, begun = awaited.rewriter(Form.STREAM), record.rewriter
        if begun:
            rewriter.go_on_from(begun)
        record.rewriter = rewriter
        tell = partial(self._pass_events, record, rewriter)
        keys = credentials(record.flow.request.headers)
        end = partial(self._client.end_thought, record.upstream, keys, awaited.request.body)
        return Tap(rewriter, tell, record, end)

    def _open_stream(self, response: Response, record: FlowRecord, awaited: AwaitedReply) -> None:
        """Make a tap, as the stream function of the response or as the collector of the client's
        one body. Do nothing if the body need not be read as it comes, so that `complete` makes it.
        """
        if awaited.request.form is Form.WHOLE and not awaited.watched:
            return  # the client gets one body, which `complete` makes from the whole stream
        record.tap, record.head = self.tap(record, awaited), response
        if awaited.watched:
            record.tap.holds = True
            return
        response.stream = record.tap
        http_messages.open_for_streaming(record.flow.request, response)
        framing = record.exchange.client.wire.framing
        if not framing.is_named(response.headers.get("content-type", "")):
            response.headers["content-type"] = framing.content_type
        self._watchers.heard(record, ())  # no events yet: the call says that the stream has begun

    def _end_tap(self, tap: HeldStream, record: FlowRecord, notes: list[str]) -> None:
        """Close the tap of a body that was held, or of a reply whose next response is not a stream.
        Set the client's body if it is one body.
        """
        flow = record.flow
        assert flow.response
        assert record.head
        if flow.response is record.head:
            tap(b"")
        else:
            tap.take_second(flow.response.status_code, http_messages.body(flow.response, notes))
            flow.response = http_messages.copied(record.head)
        if tap.holds and record.awaited and record.rewriter:
            answer = record.awaited.held(record.rewriter, b"".join(tap.late))
            http_messages.set_reply(flow.response, answer)

    def _pass_events(self, record: FlowRecord, rewriter: Rewriter) -> None:
        """Keep the thoughts of the rewriter's last events, and pass the events to the watchers. All
        thoughts are stored once the reply is complete, before the client gets the reply's end,
        because the client's next request may need the thoughts.
        """
        if position := record.request.earlier.position:
            position.add(rewriter.events, rewriter.thoughts)
            if rewriter.closed and rewriter.summary.finish and not rewriter.failure:
                position.keep()
        self._watchers.heard(record, rewriter.events)

    async def _rewrite_whole(
        self, response: Response, record: FlowRecord, notes: list[str]
    ) -> None:
        """Rewrite a complete response. Add the count to an error about a prompt that is too long,
        and a remedy to an error that every request would get.
        """
        at = time.time() - record.flow.request.timestamp_start
        body = http_messages.body(response, notes)
        record.sides.keep_body(body, at)
        assert record.awaited
        if record.awaited.wants_count(response.status_code, body):
            client = credentials(record.flow.request.headers)
            request = record.awaited.request.body, record.length
            counted = await self._client.count(record.upstream, client, record.server, *request)
            record.awaited = replace(record.awaited, counted=counted)
        elif response.status_code >= 400 and (remedy := await self._remedy(record, response, body)):
            body = remedies.with_remedy(body, remedy)
            http_messages.set_reply(response, Answer(response.status_code, JSON, body))
            summary = f"the server answered with status {response.status_code}"
            notes.append(f"{summary}: {server_message(body)}")
        content_type = response.headers.get("content-type", "")
        rewrite = partial(record.awaited.whole, response.status_code, content_type, body, at)
        repeated = record.sides.client_request if record.exchange.client.wire.retells else None
        size = len(body) + len((repeated and repeated.raw_content) or b"")
        rewritten = await aside(size, rewrite)
        notes += rewritten.notes
        record.rewriter = rewritten.rewriter
        if rewritten.answer:
            http_messages.set_reply(response, rewritten.answer)
        if rewritten.rewriter:
            self._pass_events(record, rewritten.rewriter)

    async def _remedy(self, record: FlowRecord, response: Response, body: bytes) -> str:
        """Return the remedy for an error that every request would get, such as a missing key; empty
        for other errors.
        """
        status = response.status_code
        if status == remedies.WANTS_KEY:
            return remedies.FOR_KEY
        if not remedies.lacks_model(status, server_message(body)):
            return ""
        client = credentials(record.flow.request.headers)
        served = await self._client.models(record.upstream, client)
        names = [str(entry["id"]) for entry in served]
        return remedies.for_model(record.request.requested_model, names)


async def _rewrite_counterpart(record: FlowRecord) -> None:
    """Translate the response of a counterpart endpoint (see `Kind`) to the client's dialect. Do
    nothing in other exchanges.
    """
    response, exchange = record.flow.response, record.exchange
    if exchange.kind is not Kind.COUNTERPART or response is None:
        return
    body, status = http_messages.body(response, record.notes), response.status_code
    took = (response.timestamp_end or 0) - record.flow.request.timestamp_start
    rewrite = partial(exchange.counterpart_answer, status, body, int(took * 1e9))
    if answer := await aside(len(body), rewrite):
        http_messages.set_reply(response, answer)


def _goes_on(record: FlowRecord) -> bool:
    """Return True if the response answers a second request, which continues the reply."""
    return record.rewriter is not None and record.rewriter.continuation.goes_on


def _is_another_response(record: FlowRecord) -> bool:
    """Return True if the response is not the reply to the client's request, but the response of a
    counterpart endpoint, a rendered prompt, or the reason of an empty stream.
    """
    renders = record.refused is not None and record.refused.renders
    silent = record.tap is not None and record.tap.is_silent
    return renders or silent or record.exchange.kind is Kind.COUNTERPART
