"""Thinking of a local model arrives where the client looks for it: `mitmdump -s think_addon.py
--mode reverse:http://localhost:8000`.

The only file that meets mitmproxy: options, hooks, the tap through which a streamed body passes,
and the questions to a server. What a request or reply means is read and written by `converter`,
which knows no proxy.
"""

import logging
import time

from mitmproxy import ctx, exceptions, flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.http import HTTPFlow, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter import settings
from converter.dialects.table import Form
from converter.endpoints import Endpoint
from converter.exchange import JSON, OURS, Answer, Exchange, begin, is_stream, refusal
from converter.rewriter import Rewriter
from converter.servers.known_servers import KnownServers
from converter.servers.probes import estimate_tokens
from converter.shell import messages, options, replays
from converter.shell.commands import Commands
from converter.shell.flow_record import CLIENT_LEFT, UNDER_WAY, FlowRecord
from converter.shell.live_view import LiveView
from converter.shell.recorder import Recorder
from converter.shell.tap import Tap
from converter.shell.terminal.printer import Terminal
from converter.shell.thought_hook import ThoughtTeller, report
from converter.shell.upstream_client import UpstreamClient, credentials
from converter.shell.views import Views
from converter.wire import json_text

CLOUD = ("api.anthropic.com", "api.openai.com")
"""Hosts that a forward proxy leaves alone: they need no help, and what passes them is not ours to
read.
"""


class ThinkAddon:
    """The addon."""

    def __init__(self) -> None:
        self._kept = UNDER_WAY
        self._settings = settings.read()
        self._filter: flowfilter.TFilter | None = None
        self._known = KnownServers()
        self._client = UpstreamClient(self._known)
        self._telling = ThoughtTeller()
        self._live = LiveView()
        self._terminal, self._recorder = Terminal(), Recorder()
        self.addons = [
            self._live,
            Views(self._live.replies),
            self._terminal,
            self._recorder,
            Commands(self._recorder),
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
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """Where people look at flows or keep them, streamed bodies are to be kept as well."""
        if self._looked_at():
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: HTTPFlow) -> None:
        """Decide by method and path whether to act; what is not ours passes unbuffered."""
        if not flow.live:
            return  # read from a file
        replays.forget(flow)
        exchange = self._exchange(flow)
        if exchange is None:
            flow.request.stream = True
        else:
            full = self._looked_at() or bool(self._settings.record)
            headers, printed = flow.request.headers.copy(), self._terminal.prints
            record = FlowRecord(exchange, headers, options.in_force(), full, printed)
            self._kept[flow.id] = record
            flow.request.headers["accept-encoding"] = "identity"

    async def request(self, flow: HTTPFlow) -> None:
        """Translate a Messages request, answer what the server cannot, refuse what breaks the
        format as the API itself would.
        """
        kept = self._kept.get(flow.id)
        if kept is None:
            return
        if replays.has_a_reply(flow):
            del self._kept[flow.id]  # mitmproxy's server replay has what the client got
            return
        kept.asks(flow.request)
        exchange = kept.exchange
        if exchange.endpoint in OURS:
            flow.response = messages.made(
                Answer(200, JSON, b"{}" if exchange.endpoint is Endpoint.TELEMETRY else b"")
            )
        elif exchange.translated and exchange.endpoint is not Endpoint.MODELS:
            flow.response = await self._answer_or_translate(flow, exchange)
        elif exchange.endpoint.is_chat:
            exchange.read_chat(messages.body(flow.request, exchange.notes))
        if not flow.response:
            self._prepare(flow, exchange)
        kept.hints += report(flow, exchange.notes, logging.INFO)
        exchange.notes.clear()
        if flow.response:
            self._kept.pop(flow.id, None)
            kept.finish(flow)

    def _prepare(self, flow: HTTPFlow, exchange: Exchange) -> None:
        if exchange.guesses:
            upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
            if upstream.direct and not exchange.native:  # no server renders a native prompt for us
                server = exchange.given_server
                self._client.ask_initial_state(upstream, client, exchange.body, server)
            prompted = exchange.prepare(self._known, upstream)
            if prompted:
                flow.request.content = json_text.write(prompted)

    async def responseheaders(self, flow: HTTPFlow) -> None:
        """Tap a streamed reply before its first byte; what is not ours passes unbuffered."""
        if not flow.live or flow.response is None or flow.error:
            return
        kept = self._kept.get(flow.id)
        streamed = is_stream(flow.response.headers.get("content-type", ""))
        if streamed:
            messages.use_connection_once(flow)
        if kept is None:
            flow.response.stream = True
            return
        if kept.exchange.guesses:
            kept.exchange.begins = await self._client.initial_state(
                messages.upstream(flow, kept.exchange), kept.exchange.body
            )
        kept.answers(flow)
        if (
            streamed
            and flow.response.status_code == 200
            and not messages.is_compressed(flow.response)
        ):
            self._tap(flow, kept)

    async def response(self, flow: HTTPFlow) -> None:
        """Rewrite a whole reply; say in one line what a person should know."""
        kept = self._kept.pop(flow.id, None)
        if kept is None or flow.response is None:
            return
        exchange = kept.exchange
        if (
            exchange.rewriter is None or not exchange.rewriter.closed
        ):  # not closed: the stream ended with its headers
            await self._rewrite_whole(flow, flow.response, kept)
        if exchange.rewriter:
            exchange.learn(self._known, messages.upstream(flow, exchange))
            if exchange.rewriter.findings.withheld:
                flow.metadata["think_whole"] = exchange.rewriter.whole_thoughts
            exchange.notes += [exchange.rewriter.failure, *exchange.rewriter.notes]
        kept.notes += report(flow, exchange.notes)
        self._end(flow, kept)

    def error(self, flow: HTTPFlow) -> None:
        """The server or the client left."""
        kept = self._kept.pop(flow.id, None)
        if kept is None or flow.error is None:
            return
        rewriter = kept.exchange.rewriter
        if rewriter and not rewriter.closed:
            rewriter.close()  # nobody gets these bytes, but its last thought is told
            self._hear(flow, kept, rewriter)
        left = flow.error.msg.startswith(CLIENT_LEFT)
        if not (
            left and rewriter and rewriter.summary.finish
        ):  # SDKs hang up at the last event: that is no end too early
            kept.hints += report(flow, [flow.error.msg], logging.INFO if left else logging.WARNING)
        self._end(flow, kept)

    def _hear(self, flow: HTTPFlow, kept: FlowRecord, rewriter: Rewriter) -> None:
        """Tell who listens what the rewriter's last call told the client."""
        self._telling.tell(rewriter, self._settings.events)
        if kept.printed:
            self._terminal.heard(flow, rewriter)

    def _end(self, flow: HTTPFlow, kept: FlowRecord) -> None:
        """The exchange is over: make its flow what people will look at, print it, keep it."""
        kept.finish(flow)
        self._terminal.ended(flow, kept.exchange)
        self._recorder.ended(flow)

    async def _rewrite_whole(self, flow: HTTPFlow, response: Response, kept: FlowRecord) -> None:
        exchange, at = kept.exchange, time.time() - flow.request.timestamp_start
        body = messages.body(response, exchange.notes)
        kept.came(body, at)
        if exchange.wants_count(response.status_code, body):
            upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
            exchange.counted = await self._client.count(
                upstream, client, exchange.server, exchange.body
            )
        answer = exchange.whole(
            response.status_code, response.headers.get("content-type", ""), body, at
        )
        if answer:
            messages.replace(response, answer)
        if exchange.rewriter:
            self._hear(flow, kept, exchange.rewriter)

    def _tap(self, flow: HTTPFlow, kept: FlowRecord) -> None:
        exchange = kept.exchange
        if flow.response is None or (exchange.translated and exchange.form is Form.WHOLE):
            return  # the client waits for one message, so all of the stream is needed first
        rewriter = exchange.rewrite(Form.STREAM)
        began = flow.request.timestamp_start
        flow.response.stream = Tap(rewriter, lambda: self._hear(flow, kept, rewriter), kept, began)
        messages.open_for_streaming(flow.request, flow.response)
        self._live.follow(flow, kept)

    def _looked_at(self) -> bool:
        viewed = (
            ctx.master.addons.get("view") is not None
        )  # not by its truth: an empty view is false
        return viewed or bool(getattr(ctx.options, "save_stream_file", None))

    def _exchange(self, flow: HTTPFlow) -> Exchange | None:
        if not self._acts_on(flow):
            return None
        reverse = isinstance(flow.client_conn.proxy_mode, ReverseMode)
        headers = {name.lower(): value for name, value in flow.request.headers.items()}
        return begin(
            flow.request.method, flow.request.path, headers, self._settings, flow.id, reverse
        )

    def _acts_on(self, flow: HTTPFlow) -> bool:
        if self._filter:
            matches: bool = flowfilter.match(self._filter, flow)
            return matches
        return (
            isinstance(flow.client_conn.proxy_mode, ReverseMode)
            or flow.request.pretty_host.lower().rstrip(".") not in CLOUD
        )

    async def _answer_or_translate(self, flow: HTTPFlow, exchange: Exchange) -> Response | None:
        """Return the answer to a request that goes no further; never raise, or it would go on as it
        came.
        """
        try:
            return await self._translate(flow, exchange)
        except Exception as error:
            words, answer = refusal(error)
            exchange.notes.append(words)
            return messages.made(answer)

    async def _translate(self, flow: HTTPFlow, exchange: Exchange) -> Response | None:
        """Make a Messages request a chat completion, or answer with the count of its tokens."""
        asked = exchange.read(messages.body(flow.request, exchange.notes))
        upstream, client = messages.upstream(flow, exchange), credentials(flow.request.headers)
        if exchange.settings.server:
            exchange.server = exchange.settings.server
        elif upstream.direct:
            exchange.server = await self._client.recognise(upstream, client)
        exchange.server_parses = self._known.takes_thinking_out(upstream)
        body = exchange.write(asked)
        if exchange.endpoint is Endpoint.COUNT_TOKENS:
            counted = await self._client.count(upstream, client, exchange.server, body)
            by = "estimate" if counted is None else exchange.server.name
            answer = messages.made(
                Answer(
                    200, JSON, json_text.write({"input_tokens": counted or estimate_tokens(body)})
                )
            )
            answer.headers["x-think-tokens-counted-by"] = by
            return answer
        flow.request.headers.update(client)
        flow.request.headers.pop("x-api-key", None)
        flow.request.path = exchange.path()
        flow.request.headers.pop("content-encoding", None)
        flow.request.headers["content-type"] = JSON
        flow.request.content = json_text.write(body)
        return None


addons = [ThinkAddon()]
