"""Thinking of a local model arrives where the client looks for it: `mitmdump -s think_addon.py
--mode reverse:http://localhost:8000`.

mitmproxy's hooks, and nothing else: each finds the exchange of its flow and takes it one step on.
Everything else that meets mitmproxy live is in `converter.shell`; the rest of `converter` knows no
proxy.
"""

import logging
import time
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from mitmproxy import ctx, exceptions, flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.http import HTTPFlow, Response

try:
    import converter as _converter  # noqa: F401  # asked first, to say what is wrong
except ModuleNotFoundError:
    raise ImportError(
        "the folder `converter` is missing beside think_addon.py: copy both, or install think-addon"
    ) from None

from converter import settings
from converter.awaited_reply import AwaitedReply
from converter.dialects.table import Form
from converter.endpoints import Endpoint
from converter.exchange import JSON, OURS, Answer, Exchange, ReadRequest, begin, is_stream
from converter.memory import Memory
from converter.rewriter import Rewriter
from converter.servers.known_servers import KnownServers
from converter.servers.model_names import only_one, served_name
from converter.servers.probes import estimate_tokens
from converter.shell import messages, options, replays
from converter.shell.commands import Commands
from converter.shell.doorkeeper import Doorkeeper, is_at_home, is_reverse
from converter.shell.exchange_listener import ExchangeListener, fault_of
from converter.shell.flow_record import CLIENT_LEFT, UNDER_WAY, FlowRecord
from converter.shell.live_view import LiveView
from converter.shell.metrics_endpoint import MetricsEndpoint
from converter.shell.own_layers import OwnLayers
from converter.shell.page.addon import Page
from converter.shell.recorder import Recorder
from converter.shell.tap import Tap
from converter.shell.terminal.printer import Terminal
from converter.shell.thought_hook import ThoughtTeller, report
from converter.shell.upstream_client import UpstreamClient, credentials
from converter.shell.views import Views
from converter.wire import json_text

MEMORY = {"think_memory_replies", "think_memory_megabytes"}
"""Options of the memory, which begins anew with each change."""


class ThinkAddon:
    """The addon."""

    def __init__(self) -> None:
        self._kept = UNDER_WAY
        self._settings = settings.read()
        self._in_force: dict[str, object] = {}
        self._filter: flowfilter.TFilter | None = None
        self._known = KnownServers()
        self._memory = _memory(self._settings)
        self._client = UpstreamClient(self._known)
        self._telling = ThoughtTeller()
        self._live = LiveView()
        self._terminal, self._recorder = Terminal(), Recorder()
        self._doors = Doorkeeper()
        self._listener = ExchangeListener(self._kept, lambda: self._settings, self._make_tap)
        self._metrics = MetricsEndpoint()
        self.addons = [
            OwnLayers(self._listener),
            self._live,
            Views(self._live.replies),
            self._terminal,
            self._recorder,
            self._metrics,
            Commands(self._recorder),
            Page(self._recorder),
        ]

    def load(self, loader: Loader) -> None:
        """Declare the options."""
        options.declare(loader)

    def configure(self, updated: set[str]) -> None:
        """Take options over, for the next reply; refuse bad ones."""
        if not any(name.startswith("think_") for name in updated):
            return
        try:
            self._settings, self._filter = options.chosen()
            self._in_force = options.in_force()
            self._metrics.open(self._settings.metrics)
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None
        if updated & MEMORY:
            self._memory = _memory(self._settings)

    def running(self) -> None:
        """Where people look at flows or keep them, streamed bodies are to be kept as well."""
        options.refuse_unknown()
        if self._looked_at():
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: HTTPFlow) -> Awaitable[None] | None:
        """Decide by method and path whether to act; what is not ours passes unbuffered."""
        if not flow.live:
            return None  # read from a file
        replays.forget(flow)
        flow.response = self._doors.refusal(flow, self._listener.host_of(flow), self._settings)
        if flow.response:
            return None
        if self._filter or is_reverse(flow):
            self._begin(flow, not self._filter or bool(flowfilter.match(self._filter, flow)))
            return None
        return self._begin_at_home(flow)

    async def _begin_at_home(self, flow: HTTPFlow) -> None:
        self._begin(flow, await is_at_home(flow))

    def _begin(self, flow: HTTPFlow, acts: bool) -> None:
        exchange, headers = self._exchange(flow) if acts else None, flow.request.headers.copy()
        if exchange or is_reverse(flow):
            self._doors.clean(flow, exchange)
        if exchange is None:
            flow.request.stream = True
        else:
            full = self._looked_at() or bool(self._settings.record)
            printed = self._terminal.prints
            record = FlowRecord(exchange, headers, self._in_force, full, printed)
            self._kept[flow.id] = record
            flow.request.headers["accept-encoding"] = "identity"

    async def request(self, flow: HTTPFlow) -> None:
        """Translate a request, answer what the server cannot, refuse what breaks the format as the
        API itself would.
        """
        record = self._kept.get(flow.id)
        if record is None:
            return
        if replays.has_a_reply(flow):
            del self._kept[flow.id]  # mitmproxy's server replay has what the client got
            return
        record.asks(flow.request)
        notes: list[str] = []
        flow.response = await self._answered(flow, record, notes)
        asked = record.request or ReadRequest(record.exchange)
        record.awaited = AwaitedReply(asked, record.server)
        if not flow.response:
            self._prepare(flow, record)
        record.hints += report(flow, notes, logging.INFO)
        if flow.response:
            messages.name_request(flow, record.exchange)
            self._kept.pop(flow.id, None)
            record.finish(flow)

    async def _answered(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Return the answer to a request that goes no further; None for one that does."""
        exchange = record.exchange
        if exchange.endpoint in OURS:
            empty = b"{}" if exchange.endpoint is Endpoint.TELEMETRY else b""
            return messages.made(Answer(200, JSON, empty))
        if exchange.endpoint.is_kept:
            return self._answer_of_memory(flow, exchange, notes)
        if exchange.translated and exchange.endpoint.is_request:
            return await self._answer_or_translate(flow, record, notes)
        if exchange.endpoint.is_chat:
            await self._note(flow, record, notes)
        return None

    async def _note(self, flow: HTTPFlow, record: FlowRecord, notes: list[str]) -> None:
        """Take note of a request that goes on as it came, but for its model's name."""
        asked = record.exchange.note(messages.body(flow.request, notes))
        record.request = await self._named(flow, record, asked)
        if record.request.served_model:
            flow.request.content = json_text.write(record.request.body)

    async def _named(self, flow: HTTPFlow, record: FlowRecord, asked: ReadRequest) -> ReadRequest:
        """Return the request, for the server's name of a model that clients call otherwise."""
        name = served_name(record.exchange.settings.models, asked.asked_model)
        if name == "":
            upstream = messages.upstream(flow, record.exchange)
            listed = await self._client.models(upstream, credentials(flow.request.headers))
            name = only_one(listed)
        return asked.served_as(name) if name and name != asked.asked_model else asked

    def _prepare(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """Begin to find out where the reply will begin; ask the model to think, if it is to be."""
        exchange, request = record.exchange, record.request
        if exchange.model_id:
            flow.request.path = f"{exchange.prefix}/v1/models"  # not every server has one at a time
        if request is None or record.awaited is None:
            return
        if request.tells_tools:
            flow.request.content = json_text.write(request.body)
        if not exchange.guesses:
            return
        upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
        if upstream.direct and not exchange.native:  # no server renders a native prompt for us
            given = record.server if exchange.translated else exchange.settings.server
            self._client.ask_initial_state(upstream, client, request.body, given)
        if prompted := request.prompted(self._known, upstream):
            record.awaited = replace(record.awaited, prompted=True)
            flow.request.content = json_text.write(prompted)

    async def responseheaders(self, flow: HTTPFlow) -> None:
        """Tap a streamed reply before its first byte; what is not ours passes unbuffered."""
        if not flow.live or flow.response is None or flow.error:
            return
        record = self._kept.get(flow.id)
        streamed = is_stream(flow.response.headers.get("content-type", ""))
        if streamed:
            messages.use_connection_once(flow)
        if record is None or record.awaited is None:
            flow.response.stream = True
            return
        if record.exchange.guesses:
            upstream = messages.upstream(flow, record.exchange)
            initial = await self._client.initial_state(upstream, record.awaited.request.body)
            record.awaited = replace(record.awaited, initial=initial)
        record.answers(flow)
        messages.name_request(flow, record.exchange)
        readable = flow.response.status_code == 200 and not messages.is_compressed(flow.response)
        if streamed and readable:
            self._tap(flow, flow.response, record, record.awaited)

    async def response(self, flow: HTTPFlow) -> None:
        """Rewrite a whole reply; say in one line what a person should know."""
        record = self._kept.pop(flow.id, None)
        if record is None or record.awaited is None or flow.response is None:
            return
        notes: list[str] = []
        # not closed: the stream ended with its headers
        if record.rewriter is None or not record.rewriter.closed:
            await self._rewrite_whole(flow, flow.response, record, notes)
        if rewriter := record.rewriter:
            upstream = messages.upstream(flow, record.exchange)
            record.server = self._known.server(upstream) or record.server
            record.awaited.learn(rewriter.findings, self._known, upstream)
            if rewriter.findings.withheld:
                flow.metadata["think_whole"] = rewriter.whole_thoughts
            record.hints += report(flow, rewriter.findings.calls.hints, logging.INFO)
            notes += [rewriter.failure, *rewriter.notes]
        record.notes += report(flow, notes)
        self._end(flow, record)

    def error(self, flow: HTTPFlow) -> None:
        """The server or the client left."""
        record = self._kept.pop(flow.id, None)
        if record is None or flow.error is None:
            return
        rewriter = record.rewriter
        if rewriter and not rewriter.closed:
            rewriter.close()  # nobody gets these bytes, but its last thought is told
            self._hear(flow, record, rewriter)
        left = flow.error.msg.startswith(CLIENT_LEFT)
        # SDKs hang up at the last event: that is no end too early
        if not (left and rewriter and rewriter.summary.finish):
            level = logging.INFO if left else logging.WARNING
            words = flow.error.msg if left else fault_of(flow, flow.error.msg).words
            record.hints += report(flow, [words], level)
        self._end(flow, record)

    def _hear(self, flow: HTTPFlow, record: FlowRecord, rewriter: Rewriter) -> None:
        """Tell who listens what the rewriter's last call told the client."""
        self._telling.tell(rewriter, self._settings.events)
        if record.printed:
            self._terminal.heard(flow, rewriter)

    def _end(self, flow: HTTPFlow, record: FlowRecord) -> None:
        """The exchange is over: make its flow what people will look at, print it, keep it."""
        record.finish(flow)
        self._terminal.ended(flow, record)
        self._recorder.ended(flow)
        self._metrics.ended(flow, record)

    async def _rewrite_whole(
        self, flow: HTTPFlow, response: Response, record: FlowRecord, notes: list[str]
    ) -> None:
        at = time.time() - flow.request.timestamp_start
        body = messages.body(response, notes)
        record.came(body, at)
        assert record.awaited
        if record.awaited.wants_count(response.status_code, body):
            upstream = messages.upstream(flow, record.exchange)
            client = credentials(flow.request.headers)
            asked = record.awaited.request.body
            counted = await self._client.count(upstream, client, record.server, asked)
            record.awaited = replace(record.awaited, counted=counted)
        content_type = response.headers.get("content-type", "")
        made = record.awaited.whole(response.status_code, content_type, body, at)
        notes += made.notes
        record.rewriter = made.rewriter
        if made.answer:
            messages.replace(response, made.answer)
        if made.rewriter:
            self._hear(flow, record, made.rewriter)

    def _tap(
        self, flow: HTTPFlow, response: Response, record: FlowRecord, awaited: AwaitedReply
    ) -> None:
        if record.exchange.translated and awaited.request.form is Form.WHOLE:
            return  # the client waits for one message, so all of the stream is needed first
        response.stream = self._make_tap(flow, record, awaited)
        messages.open_for_streaming(flow.request, response)
        self._live.follow(flow, record)

    def _make_tap(self, flow: HTTPFlow, record: FlowRecord, awaited: AwaitedReply) -> Tap:
        rewriter = record.rewriter = awaited.rewriter(Form.STREAM)
        tell = partial(self._hear, flow, record, rewriter)
        began = flow.request.timestamp_start
        return Tap(rewriter, tell, record, began, lambda reason: fault_of(flow, reason).words)

    def _looked_at(self) -> bool:
        viewed = (
            ctx.master.addons.get("view") is not None
        )  # not by its truth: an empty view is false
        return viewed or bool(getattr(ctx.options, "save_stream_file", None))

    def _exchange(self, flow: HTTPFlow) -> Exchange | None:
        reverse = is_reverse(flow)
        headers = {name.lower(): value for name, value in flow.request.headers.items()}
        request, at = flow.request, int(flow.request.timestamp_start)
        return begin(
            request.method, request.path, headers, self._settings, flow.id, reverse, created_at=at
        )

    async def _answer_or_translate(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Return the answer to a request that goes no further; never raise, or it would go on as it
        came.
        """
        try:
            return await self._translate(flow, record, notes)
        except Exception as error:
            words, answer = record.exchange.refusal(error)
            notes.append(words)
            return messages.made(answer)

    def _answer_of_memory(
        self, flow: HTTPFlow, exchange: Exchange, notes: list[str]
    ) -> Response | None:
        body = messages.body(flow.request, notes)
        answer = exchange.kept(flow.request.method, flow.request.path, body, self._memory)
        return messages.made(answer) if answer else None

    async def _translate(
        self, flow: HTTPFlow, record: FlowRecord, notes: list[str]
    ) -> Response | None:
        """Make the request a chat completion, or answer with the count of its tokens."""
        exchange = record.exchange
        read = exchange.read(messages.body(flow.request, notes), self._memory)
        read = await self._named(flow, record, read)
        upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
        if exchange.settings.server:
            record.server = exchange.settings.server
        elif upstream.direct:
            record.server = await self._client.recognise(upstream, client)
        record.server_parses = self._known.takes_thinking_out(upstream)
        record.request = asked = read.written(record.server, record.server_parses)
        notes += asked.notes
        if exchange.endpoint.is_count:
            counted = await self._client.count(upstream, client, record.server, asked.body)
            answer = exchange.counted(counted or estimate_tokens(asked.body))
            return _counted_by(answer, "estimate" if counted is None else record.server.name)
        headers = flow.request.headers
        headers.update(client)
        headers.pop("x-api-key", None)
        headers.pop("content-encoding", None)
        headers["content-type"] = JSON
        flow.request.path = exchange.path
        flow.request.content = json_text.write(asked.body)
        return None


def _counted_by(answer: Answer, counter: str) -> Response:
    """Return the count of a prompt's tokens, and who counted."""
    response = messages.made(answer)
    response.headers["x-think-tokens-counted-by"] = counter
    return response


def _memory(chosen: settings.Settings) -> Memory:
    return Memory(chosen.memory_replies, chosen.memory_megabytes * 1024 * 1024)


addons = [ThinkAddon()]
