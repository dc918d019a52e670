"""The reply half of an exchange: a stream is tapped, a whole reply is rewritten, and the watchers
are told.
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
    """Takes a reply from the server to its client, and tells the watchers."""

    def __init__(self, client: UpstreamClient, watchers: Watchers) -> None:
        self._client, self._servers = client, client.servers
        self._watchers = watchers

    async def begin(self, flow: HTTPFlow, record: FlowRecord | None) -> None:
        """Tap a streamed reply before its first byte. A reply that is not the addon's passes
        unbuffered.
        """
        assert flow.response
        streamed = is_stream(http_messages.value_of(flow.response.headers, b"content-type"))
        if streamed and http_messages.may_close_after_streams(flow.response):
            http_messages.use_connection_once(flow)
        if record and _is_none_itself(record):
            return  # it is rewritten whole, or read while it is held
        if record is None or record.awaited is None:
            # another addon's function stays
            flow.response.stream = flow.response.stream or not must_hold_reply(flow.response)
            return
        self._learn_refusal(record)
        streams = streamed and flow.response.status_code == 200
        readable = streams and not http_messages.is_compressed(flow.response)
        if _goes_on(record):  # a second stream continues the client's body; a whole reply is held
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
            self._open(flow.response, record, record.awaited)

    def _learn_refusal(self, record: FlowRecord) -> None:
        """Remember the refused parts, now that the server takes the request without them."""
        refused, response = record.refused, record.flow.response
        if refused and refused.left_out and response and response.status_code == 200:
            self._servers.saw_refusal(record.upstream, refused.body, refused.left_out)

    def _learn_unread(self, record: FlowRecord, failure: str) -> None:
        """Remember the part of the request for which a begun reply failed, for the next request."""
        sent, request = record.sides.sent, record.request
        if failure and sent and request and record.may_be_refused:
            text = http_messages.content_of(sent).decode("utf-8", "replace")
            names = refusals.refused(500, failure, text) & request.may_lack & READERS
            if names:
                self._servers.saw_refusal(record.upstream, request.body, names)

    async def complete(self, record: FlowRecord) -> None:
        """Rewrite a whole reply. Log in one line what a person should know of any reply."""
        flow, notes = record.flow, list[str]()
        if record.awaited is None or flow.response is None:
            await _rewrite_counterpart(record)
            return
        if flow.response.stream and not isinstance(flow.response.stream, Tap):
            notes.append(PASSED)
        elif (
            isinstance(record.tap, Tap)
            and _is_open(record)
            and (_goes_on(record) or record.awaited.watched or record.tap.is_silent)
        ):
            self._end_tap(record.tap, record, notes)
        elif record.early and _is_open(record) and flow.response.status_code == 200:
            self._go_on(flow.response, record, record.awaited, notes)
        elif record.rewriter is None or _is_open(record):  # open: the response had no body
            await self._rewrite_whole(flow.response, record, notes)
        if rewriter := record.rewriter:
            upstream = record.upstream
            record.server = self._servers.server(upstream) or record.server
            record.awaited.learn(rewriter.findings, self._servers, upstream)
            self._servers.answered(upstream)
            self._learn_unread(record, rewriter.failure)
            self._client.lessons.tell(upstream)
            report(record.client_request, rewriter.findings.hints, logging.INFO)
            # with the forms' names, which `report` leaves out behind a colon
            record.hints += rewriter.findings.hints
            notes += [rewriter.failure, *rewriter.notes]
        record.notes += report(record.client_request, notes)
        self._over(record)
        await written(record.memory)  # the writes began before the work above

    def break_off(self, record: FlowRecord) -> None:
        """Close a reply whose server or client left."""
        flow, rewriter = record.flow, record.rewriter
        assert flow.error
        left = client_left(flow)
        if rewriter and not rewriter.closed:
            if left:
                rewriter.end.give_up()  # the client left, so the missing end is no fault
            rewriter.close()  # nobody gets these bytes; the watchers get the last thought
            self._hear(record, rewriter)
        if not left:
            self._servers.doubt(record.upstream)
        # a client may leave at the last event
        if not (left and rewriter and rewriter.summary.finish):
            if left and record.exchange.endpoint.is_chat:  # the log's line about its reply says so
                record.hints.append(in_short(flow.error.msg))
            elif left:
                record.hints += report(record.client_request, [flow.error.msg], logging.INFO)
            else:
                record.hints += report(record.client_request, [fault_of(flow, flow.error.msg)])
        self._over(record)

    def _over(self, record: FlowRecord) -> None:
        """Tell the watchers that an exchange is over. Let its tap go, which refers to the record:
        such a circle, with all the text, would wait for the garbage collector.
        """
        self._watchers.ended(record)
        record.tap = None

    def tap(self, record: FlowRecord, awaited: AwaitedReply) -> Tap:
        """Return the stream function of a reply."""
        rewriter, begun = awaited.rewriter(Form.STREAM), record.rewriter
        if begun:
            rewriter.go_on_from(begun)
        record.rewriter = rewriter
        tell = partial(self._hear, record, rewriter)
        keys = credentials(record.flow.request.headers)
        end = partial(self._client.end_thought, record.upstream, keys, awaited.request.body)
        return Tap(rewriter, tell, record, partial(fault_of, record.flow), end)

    def _open(self, response: Response, record: FlowRecord, awaited: AwaitedReply) -> None:
        if awaited.request.form is Form.WHOLE and not awaited.watched:
            return  # one body is made of the complete stream
        record.tap, record.head = self.tap(record, awaited), response
        if awaited.watched:
            record.tap.holds = True
            return
        response.stream = record.tap
        http_messages.open_for_streaming(record.flow.request, response)
        framing = record.exchange.client.wire.framing
        if not framing.is_named(http_messages.value_of(response.headers, b"content-type")):
            response.headers["content-type"] = framing.content_type
        self._watchers.heard(record, ())  # a stream has begun

    def _end_tap(self, tap: Tap, record: FlowRecord, notes: list[str]) -> None:
        """End a body that is held, or that a second reply ends which is no stream."""
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

    def _go_on(
        self, response: Response, record: FlowRecord, awaited: AwaitedReply, notes: list[str]
    ) -> None:
        """Send a whole body as the rest of a stream that began early."""
        tap = self.tap(record, awaited)
        rewritten = b"".join([*tap(http_messages.body(response, notes)), *tap(b"")])
        http_messages.set_reply(
            response, Answer(200, record.exchange.client.wire.framing.content_type, rewritten)
        )

    def _hear(self, record: FlowRecord, rewriter: Rewriter) -> None:
        _keep(record, rewriter)
        self._watchers.heard(record, rewriter.events)

    async def _rewrite_whole(
        self, response: Response, record: FlowRecord, notes: list[str]
    ) -> None:
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
        content_type = http_messages.value_of(response.headers, b"content-type")
        rewrite = partial(record.awaited.whole, response.status_code, content_type, body, at)
        repeated = record.sides.client_request if record.exchange.client.wire.retells else None
        size = len(body) + len((repeated and repeated.raw_content) or b"")
        rewritten = await aside(size, rewrite)
        notes += rewritten.notes
        record.rewriter = rewritten.rewriter
        if rewritten.answer:
            http_messages.set_reply(response, rewritten.answer)
        if rewritten.rewriter:
            self._hear(record, rewritten.rewriter)

    async def _remedy(self, record: FlowRecord, response: Response, body: bytes) -> str:
        """Return what the user can do about an error that every request would get; empty for other
        errors.
        """
        status = response.status_code
        if status == remedies.WANTS_KEY:
            return remedies.FOR_KEY
        if not (record.request and remedies.lacks_model(status, server_message(body))):
            return ""
        client = credentials(record.flow.request.headers)
        served = await self._client.models(record.upstream, client)
        names = [str(entry["id"]) for entry in served]
        return remedies.for_model(record.request.requested_model, names)


async def _rewrite_counterpart(record: FlowRecord) -> None:
    """Give the client the answer of its endpoint's counterpart in the client's dialect, if the
    counterpart was requested.
    """
    response, counterpart = record.flow.response, record.exchange.endpoint.counterpart
    if not (record.exchange.kind is Kind.COUNTERPART and counterpart and response):
        return
    body, status = http_messages.body(response, record.notes), response.status_code
    took = (response.timestamp_end or 0) - record.flow.request.timestamp_start
    rewrite = partial(
        record.exchange.counterpart_answer, counterpart, status, body, int(took * 1e9)
    )
    if answer := await aside(len(body), rewrite):
        http_messages.set_reply(response, answer)


def _keep(record: FlowRecord, rewriter: Rewriter) -> None:
    """Keep the thoughts of a reply that has come to its end, before the client has that end."""
    position = record.request.earlier.position if record.request else None
    if position is None:
        return
    position.add(rewriter.events, rewriter.thoughts)
    if rewriter.closed and rewriter.summary.finish and not rewriter.failure:
        position.keep()


def _goes_on(record: FlowRecord) -> bool:
    return record.rewriter is not None and record.rewriter.continuation.goes_on


def _is_none_itself(record: FlowRecord) -> bool:
    """Return True if a reply is not the client's own: a counterpart's answer, a prompt, or the
    reason of a silence.
    """
    renders = record.refused is not None and record.refused.renders
    silent = isinstance(record.tap, Tap) and record.tap.is_silent
    return renders or silent or record.exchange.kind is Kind.COUNTERPART


def _is_open(record: FlowRecord) -> bool:
    return record.rewriter is not None and not record.rewriter.closed
