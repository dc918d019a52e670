"""The reply half of an exchange, at mitmproxy's hooks of a response: the bytes of a streamed reply
go through a `Tap`; a whole reply is rewritten when it is complete. The watchers get the events of
each reply, and lessons about the server are stored.
"""

import logging
import time
from dataclasses import replace
from functools import partial

from mitmproxy.http import HTTPFlow, Response

from converter.addon import http_messages
from converter.addon.aside import run_aside
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import JSON, Answer, Kind
from converter.addon.hooks.connection_faults import fault_message
from converter.addon.hooks.tap import Tap
from converter.addon.hooks.whole_bodies import must_hold_reply
from converter.addon.keep.flow_record import FlowRecord, client_left
from converter.addon.layer_contract import HeldStream
from converter.addon.log_lines import report, shorten_note
from converter.addon.memory.store_waits import wait_for_writes
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers import refusals, remedies
from converter.addon.servers.unread_replies import READERS
from converter.addon.watcher import Watchers
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import Form
from converter.core.reply.rewriter import Rewriter

PASSED_UNCHANGED = "another addon has streamed the reply, so it was passed on unchanged"
"""The note on a reply whose stream function was set by another addon."""


class ReplySteps:
    """Rewrites replies, and passes their events to the watchers. mitmproxy's hooks of a response
    call its methods.
    """

    def __init__(self, upstream_client: UpstreamClient, watchers: Watchers) -> None:
        self._upstream_client, self._servers = upstream_client, upstream_client.servers
        self._watchers = watchers

    async def begin(self, flow: HTTPFlow, record: FlowRecord | None) -> None:
        """Handle a response's head. Make a `Tap` the stream function of a streamed reply, before
        the reply's first byte (`_open_stream`); a stream that continues the reply gets the same
        tap. A response that the addon leaves alone (`record` may be `None`) is streamed unchanged,
        or held if an option or a script needs it whole (`must_hold_reply`). Any other response is
        held for `complete`.
        """
        assert flow.response
        streamed = is_stream(flow.response.headers.get("content-type", ""))
        if streamed and http_messages.may_close_after_streams(flow.response):
            http_messages.use_connection_once(flow)
        if record and _is_no_reply(record):
            return  # its body is read by `record.refusal` or the tap, or rewritten in `complete`
        if record is None or record.awaited is None:
            # a stream function that another addon has set stays in place
            flow.response.stream = flow.response.stream or not must_hold_reply(flow.response)
            return
        reader = record.refusal
        if reader and reader.left_out_traits and flow.response.status_code == 200:
            # the server has refused the request with these traits, and accepts it without them
            self._servers.learn_refusal(record.upstream, reader.first_body, reader.left_out_traits)
        streams = streamed and flow.response.status_code == 200
        readable = streams and not http_messages.is_compressed(flow.response)
        if _continues_reply(record):
            # the client has got the head and the beginning of this reply already, so the stream
            # function of the first response takes the rest too
            flow.response = record.stream_head if readable else flow.response
            return
        if record.exchange.guesses_start and not record.awaited.is_text_completion:
            body = record.awaited.request.body
            initial = await self._upstream_client.initial_state(record.upstream, body)
            if initial is not record.awaited.initial:
                record.awaited = replace(record.awaited, initial=initial)
        record.sides.keep_response_head(flow)
        http_messages.set_request_id(flow, record.exchange)
        if readable:
            self._open_stream(flow.response, record, record.awaited)

    def _learn_parser_failure(self, record: FlowRecord, failure: str) -> None:
        """Store a lesson if the server's own parser of calls failed on this reply, so that later
        requests for this model avoid the parser. `failure`: the reply's error message, empty if
        there is none.
        """
        sent, request = record.sides.server_request, record.request
        if failure and sent and record.exchange.endpoint.is_chat:
            text = http_messages.content_of(sent).decode("utf-8", "replace")
            names = refusals.refused_traits(500, failure, text) & request.removable_traits & READERS
            if names:
                self._servers.learn_refusal(record.upstream, request.body, names)

    async def complete(self, record: FlowRecord) -> None:
        """Finish an exchange whose response is complete: rewrite a whole reply, store lessons from
        the reply, log its hints and its notes, each in one line, and call `ended` of the watchers.
        If no reply is awaited, do only one thing: translate the response if the exchange is of
        `Kind.COUNTERPART`.
        """
        flow, awaited, notes = record.flow, record.awaited, list[str]()
        if awaited is None or flow.response is None:
            await _rewrite_counterpart(record)
            return
        tap, is_open = record.tap, record.rewriter is not None and not record.rewriter.closed
        if flow.response.stream and not isinstance(flow.response.stream, Tap):
            notes.append(PASSED_UNCHANGED)
        elif tap and is_open and (_continues_reply(record) or awaited.is_buffered or tap.is_silent):
            self._end_tap(tap, record, notes)
        elif record.began_early and is_open and flow.response.status_code == 200:
            # the client's stream began before the response, which then came whole: the body goes
            # through a tap, which makes the rest of the stream
            tap = self.make_tap(record, awaited)
            rest = b"".join([*tap(http_messages.read_body(flow.response, notes)), *tap(b"")])
            kind = record.exchange.client_dialect.wire.framing.content_type
            http_messages.set_reply(flow.response, Answer(200, kind, rest))
        # there is no rewriter if no stream began; it is still open if a stream began and nothing
        # ended it, because the response that came had no body or was an error
        elif record.rewriter is None or is_open:
            await self._rewrite_whole(flow.response, record, notes)
        if rewriter := record.rewriter:
            upstream = record.upstream
            record.server = self._servers.server(upstream) or record.server
            awaited.learn(rewriter.findings, self._servers, upstream)
            self._servers.doubt_if_uncertain(upstream)
            self._learn_parser_failure(record, rewriter.failure)
            self._upstream_client.lessons.write_store(upstream)
            report(record.client_request, rewriter.findings.hints, logging.INFO)
            # the flow's comment gets the full hints: `report` returns them shortened, without
            # details such as the names of forms
            record.hints += rewriter.findings.hints
            notes += [rewriter.failure, *rewriter.notes]
        record.notes += report(record.client_request, notes)
        self._finish_exchange(record)
        # awaited at the end, because the memory's writes run beside the steps above
        await wait_for_writes(record.memory)

    def break_off(self, record: FlowRecord) -> None:
        """Finish an exchange whose server or client has disconnected: close the reply, and call
        `ended` of the watchers. Unless the client left after the reply's finish, keep the reason
        for the flow's comment, and log it (but not if the client left a reply of a model: a watcher
        logs a line for that).
        """
        flow, rewriter = record.flow, record.rewriter
        assert flow.error
        left = client_left(flow)
        if rewriter and not rewriter.closed:
            if left:
                # a reply that the client has left is no failure, although its end is missing
                rewriter.end.give_up()
            # no client can get the returned bytes any more; only the watchers get the events
            rewriter.close()
            self._pass_events(record, rewriter)
        if not left:
            self._servers.doubt(record.upstream)
        # a client may disconnect after the reply's finish, as SDKs do: then nothing is logged
        if not (left and rewriter and rewriter.summary.finish):
            if left and record.exchange.endpoint.is_chat:
                # not logged here: a watcher logs a line for each reply, which says how it ended
                record.hints.append(shorten_note(flow.error.msg))
            elif left:
                record.hints += report(record.client_request, [flow.error.msg], logging.INFO)
            else:
                record.hints += report(record.client_request, [fault_message(flow, flow.error.msg)])
        self._finish_exchange(record)

    def _finish_exchange(self, record: FlowRecord) -> None:
        """Call `ended` of the watchers, and drop the record's tap. Tap and record refer to each
        other, so without this their memory would wait for a run of the garbage collector.
        """
        self._watchers.ended(record)
        record.tap = None

    def make_tap(self, record: FlowRecord, awaited: AwaitedReply) -> Tap:
        """Make a tap with a new rewriter for a reply, and set the rewriter in the record. If the
        record has a rewriter already, because the client's stream began before the response
        (`early_head`), the new rewriter continues the stream that the earlier one began.
        """
        rewriter, begun = awaited.rewriter(Form.STREAM), record.rewriter
        if begun:
            rewriter.continue_from(begun)
        record.rewriter = rewriter
        keys = credentials(record.flow.request.headers)
        end_thought = self._upstream_client.end_thought
        end = partial(end_thought, record.upstream, keys, awaited.request.body)
        return Tap(rewriter, partial(self._pass_events, record, rewriter), record, end)

    def _open_stream(self, response: Response, record: FlowRecord, awaited: AwaitedReply) -> None:
        """Make a tap for a streamed response, and set it as the response's stream function.

        A client that wants one whole body gets no stream. If the addon may have to end the reply in
        mid-stream (`awaited.is_buffered`), the tap collects this client's body. Else there is no
        tap, and `complete` makes the body.
        """
        if awaited.request.form is Form.WHOLE and not awaited.is_buffered:
            return
        record.tap, record.stream_head = self.make_tap(record, awaited), response
        if awaited.is_buffered:
            record.tap.holds = True
            return
        response.stream = record.tap
        http_messages.open_for_streaming(record.flow.request, response)
        framing = record.exchange.client_dialect.wire.framing
        if not framing.is_named(response.headers.get("content-type", "")):
            response.headers["content-type"] = framing.content_type
        self._watchers.heard(record, ())  # no events yet: the call says that the stream has begun

    def _end_tap(self, tap: HeldStream, record: FlowRecord, notes: list[str]) -> None:
        """Close a tap that mitmproxy has not called at the body's end. There are two cases: the tap
        collects the body for a client that wants one whole body; or the tap's next request got a
        whole response and no stream. If the tap collects the body, set the flow's response to this
        body; else the layers send the tap's `late_pieces`.
        """
        flow = record.flow
        assert flow.response
        assert record.stream_head
        if flow.response is record.stream_head:
            tap(b"")
        else:
            body = http_messages.read_body(flow.response, notes)
            tap.take_second_response(flow.response.status_code, body)
            flow.response = http_messages.copy_message(record.stream_head)
        if tap.holds and record.awaited and record.rewriter:
            answer = record.awaited.collected_answer(record.rewriter, b"".join(tap.late_pieces))
            http_messages.set_reply(flow.response, answer)

    def _pass_events(self, record: FlowRecord, rewriter: Rewriter) -> None:
        """Pass the events of the rewriter's last call to the watchers, and collect the thoughts in
        them, if the reply's thoughts are kept (`earlier_thoughts.position`). When the reply is
        complete, store its thoughts, before the client gets the reply's end: the client's next
        request may need them.
        """
        if position := record.request.earlier_thoughts.position:
            position.add(rewriter.events, rewriter.thoughts)
            if rewriter.closed and rewriter.summary.finish and not rewriter.failure:
                position.keep()
        self._watchers.heard(record, rewriter.events)

    async def _rewrite_whole(
        self, response: Response, record: FlowRecord, notes: list[str]
    ) -> None:
        """Rewrite a whole response for the client. An error about a prompt that is too long gets
        the prompt's number of tokens; an error that every request would get, such as one about a
        missing key, gets a remedy. Append lines for the log to `notes`.
        """
        at = time.time() - record.flow.request.timestamp_start
        body, status = http_messages.read_body(response, notes), response.status_code
        record.sides.keep_body(body, at)
        assert record.awaited
        if record.awaited.needs_prompt_count(status, body):
            keys = credentials(record.flow.request.headers)
            request = record.awaited.request.body, record.body_size
            count = self._upstream_client.count_tokens
            counted = await count(record.upstream, keys, record.server, *request)
            record.awaited = replace(record.awaited, counted_tokens=counted)
        elif status >= 400 and (remedy := await self._find_remedy(record, response, body)):
            body = remedies.with_remedy(body, remedy)
            http_messages.set_reply(response, Answer(status, JSON, body))
            notes.append(f"the server answered with status {status}: {server_message(body)}")
        content_type = response.headers.get("content-type", "")
        rewrite = partial(record.awaited.rewrite, status, content_type, body, at)
        repeats = record.exchange.client_dialect.wire.retells
        repeated = record.sides.client_request if repeats else None
        size = len(body) + len((repeated and repeated.raw_content) or b"")
        rewritten = await run_aside(size, rewrite)
        notes += rewritten.notes
        record.rewriter = rewritten.rewriter
        if rewritten.answer:
            http_messages.set_reply(response, rewritten.answer)
        if rewritten.rewriter:
            self._pass_events(record, rewritten.rewriter)

    async def _find_remedy(self, record: FlowRecord, response: Response, body: bytes) -> str:
        """Return what the user can do about a server's error that every request would get: a
        missing key, or a model that the server lacks. Empty for other errors.
        """
        status = response.status_code
        if status == remedies.WANTS_KEY:
            return remedies.FOR_KEY
        if not remedies.is_unknown_model(status, server_message(body)):
            return ""
        keys = credentials(record.flow.request.headers)
        served = await self._upstream_client.list_models(record.upstream, keys)
        names = [str(entry["id"]) for entry in served]
        return remedies.model_remedy(record.request.requested_model, names)


async def _rewrite_counterpart(record: FlowRecord) -> None:
    """Translate the response of an exchange of `Kind.COUNTERPART`, such as one with embeddings, to
    the client's dialect. Do nothing in an exchange of another kind.
    """
    response, exchange = record.flow.response, record.exchange
    if exchange.kind is not Kind.COUNTERPART or response is None:
        return
    body, status = http_messages.read_body(response, record.notes), response.status_code
    took = (response.timestamp_end or 0) - record.flow.request.timestamp_start
    rewrite = partial(exchange.counterpart_answer, status, body, int(took * 1e9))
    if answer := await run_aside(len(body), rewrite):
        http_messages.set_reply(response, answer)


def _continues_reply(record: FlowRecord) -> bool:
    """Return True if the flow's response answers a second request, which continues a reply whose
    thought the addon has ended.
    """
    return record.rewriter is not None and record.rewriter.continuation.goes_on


def _is_no_reply(record: FlowRecord) -> bool:
    """Return True if the response is not a reply for the client, in three cases: the exchange is of
    `Kind.COUNTERPART`; the response has the rendered prompt that the addon requested; or the addon
    asked why a stream was empty, and this is the answer.
    """
    renders = record.refusal is not None and record.refusal.requests_prompt
    silent = record.tap is not None and record.tap.is_silent
    return renders or silent or record.exchange.kind is Kind.COUNTERPART
