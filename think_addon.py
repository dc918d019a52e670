"""Thinking of a local model arrives where the client looks for it: `mitmdump -s think_addon.py --mode reverse:http://localhost:8000`.

The only file that meets mitmproxy: options, hooks, the tap through which a streamed body passes, and the questions to a server.
What a request or reply means is read and written by `converter`, which knows no proxy.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mitmproxy import ctx, exceptions, flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.hooks import Hook
from mitmproxy.http import HTTPFlow, Request, Response
from mitmproxy.proxy.mode_specs import ReverseMode

from converter import json_text, settings
from converter.asking import estimate_tokens
from converter.exchange import JSON, OURS, Answer, Exchange, begin, is_stream, refusal
from converter.network import KnownServers, Upstream, credentials
from converter.rewriter import Form, Rewriter
from converter.routes import Route
from converter.thoughts import ThoughtEvent

_log = logging.getLogger(__name__)

CLOUD = ("api.anthropic.com", "api.openai.com")
"""Hosts that a forward proxy leaves alone: they need no help, and what passes them is not ours to read."""


class Tap:
    """What mitmproxy calls with each chunk of a streamed body. It never raises, and never returns an empty piece in mid-stream."""

    def __init__(self, rewriter: Rewriter, tell: Callable[[Rewriter], None]) -> None:
        self._rewriter = rewriter
        self._tell = tell

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for this chunk, perhaps nothing yet; an empty chunk is the body's end."""
        pieces = self._rewriter.feed(chunk) if chunk else self._rewriter.close()
        try:
            self._tell(self._rewriter)
        except Exception:
            _log.exception("think: a thought could not be told")  # raised here, it would cost the client this chunk
        return [piece for piece in pieces if piece]


@dataclass
class ThoughtHook(Hook):
    """A thought has ended: any addon may have a method `thought(self, event)`."""

    name = "thought"
    event: ThoughtEvent


class ThinkAddon:
    """The addon."""

    def __init__(self) -> None:
        self._exchanges: dict[str, Exchange] = {}
        self._settings = settings.read()
        self._filter: flowfilter.TFilter | None = None
        self._servers = KnownServers()
        self._telling: set[asyncio.Future[None]] = set()

    def load(self, loader: Loader) -> None:
        """Declare the options."""
        for option in settings.OPTIONS:
            choices = option.choices if option.type is str else ()
            loader.add_option(f"think_{option.name}", option.type, option.default, option.meaning, choices or None)
        _refuse_unreadable()
        try:
            _chosen()
        except ValueError as error:
            _log.error("think: %s", error)  # an error at start stops mitmproxy, without the traceback of a failing hook
            ctx.options.update(**{f"think_{option.name}": option.default for option in settings.OPTIONS})

    def configure(self, updated: set[str]) -> None:
        """Take options over, for the next reply; refuse bad ones."""
        if not any(name.startswith("think_") for name in updated):
            return
        try:
            self._settings, self._filter = _chosen()
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """Where people look at flows or keep them, streamed bodies are to be kept as well."""
        viewed = ctx.master.addons.get("view") is not None  # not by its truth: an empty view is false
        if viewed or ctx.options.save_stream_file:
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: HTTPFlow) -> None:
        """Decide by method and path whether to act; what is not ours passes unbuffered."""
        if not flow.live:
            return  # read from a file
        exchange = self._exchange(flow)
        if exchange is None:
            flow.request.stream = True
        else:
            self._exchanges[flow.id] = exchange
            flow.request.headers["accept-encoding"] = "identity"

    async def request(self, flow: HTTPFlow) -> None:
        """Translate a Messages request, answer what the server cannot, refuse what breaks the format as the API itself would."""
        exchange = self._exchanges.get(flow.id)
        if exchange is None:
            return
        if exchange.route in OURS:
            flow.response = _response(Answer(200, JSON, b"{}" if exchange.route is Route.TELEMETRY else b""))
        elif exchange.translated and exchange.route is not Route.MODELS:
            flow.response = await self._answer_or_translate(flow, exchange)
        elif exchange.route in (Route.CHAT, Route.MESSAGES):
            exchange.read_chat(_body(flow.request, exchange))
        if exchange.guesses and not flow.response:
            prompted = exchange.prepare(self._servers, _upstream(flow, exchange), credentials(flow.request.headers))
            if prompted:
                flow.request.content = json_text.write(prompted)
        if flow.response:
            self._exchanges.pop(flow.id, None)
        _report(flow, exchange.notes, logging.INFO)
        exchange.notes.clear()

    async def responseheaders(self, flow: HTTPFlow) -> None:
        """Tap a streamed reply before its first byte; what is not ours passes unbuffered."""
        if not flow.live or flow.response is None or flow.error:
            return
        streamed = is_stream(flow.response.headers.get("content-type", ""))
        if streamed:
            _use_connection_once(flow)
        exchange = self._exchanges.get(flow.id)
        if exchange and exchange.guesses:
            exchange.begins = await self._servers.start(_upstream(flow, exchange), exchange.body)
        if exchange is None:
            flow.response.stream = True
        elif streamed and flow.response.status_code == 200 and not _is_compressed(flow.response):
            _tap(flow.request, flow.response, exchange, self._tell)

    async def response(self, flow: HTTPFlow) -> None:
        """Rewrite a whole reply; say in one line what a person should know."""
        exchange = self._exchanges.pop(flow.id, None)
        if exchange is None or flow.response is None:
            return
        if exchange.rewriter is None or not exchange.rewriter.closed:  # not closed: the stream ended with its headers
            body = _body(flow.response, exchange)
            if exchange.wants_count(flow.response.status_code, body):
                upstream, client = _upstream(flow, exchange), credentials(flow.request.headers)
                exchange.counted = await self._servers.count(upstream, client, exchange.server, exchange.body)
            answer = exchange.whole(flow.response.status_code, flow.response.headers.get("content-type", ""), body)
            if answer:
                _replace(flow.response, answer)
        if exchange.rewriter:
            if exchange.learn(self._servers, _upstream(flow, exchange)):
                flow.marked = ":warning:"
            if exchange.rewriter.stage.withheld:
                flow.metadata["think_whole"] = exchange.rewriter.stage.whole
            self._tell(exchange.rewriter)
            exchange.notes += [exchange.rewriter.failure, *exchange.rewriter.notes]
        _report(flow, exchange.notes)

    def _tell(self, rewriter: Rewriter) -> None:
        """Pass on the thoughts that have ended: to any addon with a `thought` hook, and to the file of `think_events`."""
        told, rewriter.stage.told = rewriter.stage.told, []
        for event in told:
            task = asyncio.ensure_future(ctx.master.addons.trigger_event(ThoughtHook(event)))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)
            if path := self._settings.events:
                _append(path, event)

    def error(self, flow: HTTPFlow) -> None:
        """The server or the client left."""
        exchange = self._exchanges.pop(flow.id, None)
        if exchange and exchange.rewriter and not exchange.rewriter.closed:
            exchange.rewriter.close()  # nobody gets these bytes, but its last thought is told
            self._tell(exchange.rewriter)
        if exchange and flow.error:
            left = "Client disconnected" in flow.error.msg
            _report(flow, [flow.error.msg], logging.INFO if left else logging.WARNING)

    def _exchange(self, flow: HTTPFlow) -> Exchange | None:
        if not self._acts_on(flow):
            return None
        reverse = isinstance(flow.client_conn.proxy_mode, ReverseMode)
        headers = {name.lower(): value for name, value in flow.request.headers.items()}
        return begin(flow.request.method, flow.request.path, headers, self._settings, flow.id, reverse)

    def _acts_on(self, flow: HTTPFlow) -> bool:
        if self._filter:
            matches: bool = flowfilter.match(self._filter, flow)
            return matches
        return isinstance(flow.client_conn.proxy_mode, ReverseMode) or flow.request.pretty_host.lower().rstrip(".") not in CLOUD

    async def _answer_or_translate(self, flow: HTTPFlow, exchange: Exchange) -> Response | None:
        """Return the answer to a request that goes no further; never raise, or it would go on as it came."""
        try:
            return await self._translate(flow, exchange)
        except Exception as error:
            words, answer = refusal(error)
            exchange.notes.append(words)
            return _response(answer)

    async def _translate(self, flow: HTTPFlow, exchange: Exchange) -> Response | None:
        """Make a Messages request a chat completion, or answer with the count of its tokens."""
        asked = exchange.read(_body(flow.request, exchange))
        upstream, client = _upstream(flow, exchange), credentials(flow.request.headers)
        if exchange.settings.server:
            exchange.server = exchange.settings.server
        elif upstream.direct:
            exchange.server = await self._servers.recognise(upstream, client)
        exchange.server_parses = self._servers.parses(upstream)
        body = exchange.write(asked)
        if exchange.route is Route.COUNT_TOKENS:
            counted = await self._servers.count(upstream, client, exchange.server, body)
            by = "estimate" if counted is None else exchange.server.name
            answer = _response(Answer(200, JSON, json_text.write({"input_tokens": counted or estimate_tokens(body)})))
            answer.headers["x-think-tokens-counted-by"] = by
            return answer
        flow.request.headers.update(client)
        flow.request.headers.pop("x-api-key", None)
        flow.request.path = exchange.path()
        flow.request.headers.pop("content-encoding", None)
        flow.request.headers["content-type"] = JSON
        flow.request.content = json_text.write(body)
        return None


def _refuse_unreadable() -> None:
    """Have mitmproxy stop on a value that it cannot read: by itself it would go on without this addon, and say nothing (12.2)."""
    try:
        ctx.options.process_deferred()
    except exceptions.OptionsError as error:
        _log.error("think: %s", error)
        for name in [name for name in ctx.options.deferred if name.startswith("think_")]:
            del ctx.options.deferred[name]


def _chosen() -> tuple[settings.Settings, flowfilter.TFilter | None]:
    """Return what the options say; raise ValueError for the first bad one."""
    chosen = settings.read({option.name: getattr(ctx.options, f"think_{option.name}") for option in settings.OPTIONS})
    try:
        return chosen, flowfilter.parse(chosen.flows) if chosen.flows.strip() else None
    except ValueError as error:
        raise ValueError(f"think_flows: {error}") from None


def _is_compressed(response: Response) -> bool:
    return response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")


def _use_connection_once(flow: HTTPFlow) -> None:
    """Have the server's connection closed after this reply, unseen by the client.

    llama.cpp closes its connection after every streamed reply and announces the opposite; a next request that is quicker
    than mitmproxy's notice of it would be lost (seen on llama.cpp 11549: every second one). The layer that reads from the
    server keeps the response it made; the client's gets a copy.
    """
    assert flow.response
    from_server = flow.response
    flow.response = from_server.copy()
    from_server.headers["connection"] = "close"


def _tap(request: Request, response: Response, exchange: Exchange, tell: Callable[[Rewriter], None]) -> None:
    if exchange.translated and exchange.form is Form.WHOLE:
        return  # the client waits for one message, so all of the stream is needed first
    response.stream = Tap(exchange.rewrite(Form.STREAM), tell)
    response.headers.pop("content-length", None)
    response.headers.pop("transfer-encoding", None)
    if request.is_http11:
        response.http_version = "HTTP/1.1"
        response.headers["transfer-encoding"] = "chunked"


def _body(message: Request | Response, exchange: Exchange) -> bytes:
    """Return the body, uncompressed; as it came when it is not what its encoding says."""
    try:
        return message.get_content() or b""
    except ValueError:
        exchange.notes.append(f"the body is no {message.headers['content-encoding']}, though its content-encoding says so")
        return message.raw_content or b""


def _replace(response: Response, answer: Answer) -> None:
    response.headers.pop("content-encoding", None)
    response.headers.pop("transfer-encoding", None)
    response.headers["content-type"] = answer.content_type
    response.status_code, response.reason = answer.status, Response.make(answer.status).reason
    response.content = answer.body


def _append(path: str, event: ThoughtEvent) -> None:
    """Write one line, at once; a file that cannot be written costs a log line and no reply."""
    try:
        with Path(path).expanduser().open("ab") as file:
            file.write(json_text.write(event) + b"\n")
    except OSError as error:
        _log.error("think: think_events: %s", error)


def _response(answer: Answer) -> Response:
    return Response.make(answer.status, answer.body, {"content-type": answer.content_type})


def _upstream(flow: HTTPFlow, exchange: Exchange) -> Upstream:
    request = flow.request
    direct = not flow.server_conn.via
    return Upstream(request.scheme, request.host, request.port, exchange.prefix, bool(ctx.options.ssl_insecure), direct)


def _report(flow: HTTPFlow, words: Sequence[str], level: int = logging.WARNING) -> None:
    """Say in one line of the log, and in the flow's comment, what a person should know."""
    said = " ".join("; ".join(filter(None, words)).split())
    if said:
        _log.log(level, "think: %s %s: %s", flow.request.method, flow.request.path.partition("?")[0], said)
        flow.comment = flow.comment or said


addons = [ThinkAddon()]
