"""Thinking of a local model arrives where the client looks for it: `mitmdump -s think_addon.py --mode reverse:http://localhost:8000`.

The only file that meets mitmproxy: options, hooks, and the tap through which a streamed body passes. What a reply means is read and
written by `converter`, which knows no proxy.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mitmproxy import ctx, exceptions, flowfilter, http
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy.mode_specs import ReverseMode

from converter import json_text, settings
from converter.conversation import RequestError
from converter.dialects import anthropic_request, openai_request
from converter.dialects.anthropic_errors import error_body, error_reply
from converter.rewriter import Client, Form, Rewriter

_log = logging.getLogger(__name__)

CLOUD = ("api.anthropic.com", "api.openai.com")
"""Hosts that a forward proxy leaves alone: they need no help, and what passes them is not ours to read."""

_CHAT = re.compile(r"[^?]*/chat/completions/?(\?.*)?")
_MESSAGES = re.compile(r"(?P<prefix>[^?]*)/v1/messages/?(\?.*)?")


@dataclass(slots=True)
class Exchange:
    """One request that the addon acts on, until its reply is complete."""

    client: Client
    settings: settings.Settings
    target: str = ""
    model: str = ""
    form: Form = Form.WHOLE
    rewriter: Rewriter | None = None


class Tap:
    """What mitmproxy calls with each chunk of a streamed body. It never raises, and never returns an empty piece in mid-stream."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for this chunk, perhaps nothing yet; an empty chunk is the body's end."""
        pieces = self._rewriter.feed(chunk) if chunk else self._rewriter.close()
        return [piece for piece in pieces if piece]


class ThinkAddon:
    """The addon."""

    def __init__(self) -> None:
        self._exchanges: dict[str, Exchange] = {}
        self._settings = settings.read()
        self._filter: flowfilter.TFilter | None = None

    def load(self, loader: Loader) -> None:
        """Declare the options."""
        for option in settings.OPTIONS:
            loader.add_option(f"think_{option.name}", option.type, option.default, option.meaning, option.choices or None)

    def configure(self, updated: set[str]) -> None:
        """Take options over, for the next reply; refuse bad ones."""
        if not any(name.startswith("think_") for name in updated):
            return
        written = {option.name: getattr(ctx.options, f"think_{option.name}") for option in settings.OPTIONS}
        try:
            chosen = settings.read(written)
            self._filter = flowfilter.parse(chosen.flows) if chosen.flows else None
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None
        self._settings = chosen

    def running(self) -> None:
        """Where people look at flows or keep them, streamed bodies are to be kept as well."""
        if ctx.master.addons.get("view") or ctx.options.save_stream_file:
            ctx.options.update(store_streamed_bodies=True)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Decide by method and path whether to act; what is not ours passes unbuffered."""
        if not flow.live:
            return  # read from a file
        exchange = self._exchange(flow)
        if exchange is None:
            flow.request.stream = True
        else:
            self._exchanges[flow.id] = exchange
            flow.request.headers["accept-encoding"] = "identity"

    def request(self, flow: http.HTTPFlow) -> None:
        """Translate a Messages request, or refuse one that breaks the format as the API itself would."""
        exchange = self._exchanges.get(flow.id)
        if exchange is None or exchange.client is not Client.ANTHROPIC:
            return
        try:
            _translate(flow.request, exchange)
        except (RequestError, json_text.UnreadableError) as error:
            del self._exchanges[flow.id]
            flow.response = _json_response(400, error_body(str(error), "invalid_request_error"))

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Tap a streamed reply before its first byte; what is not ours passes unbuffered."""
        if not flow.live or flow.response is None or flow.error:
            return
        streamed = _is_event_stream(flow.response)
        if streamed:
            _use_connection_once(flow)
        exchange = self._exchanges.get(flow.id)
        if exchange is None:
            flow.response.stream = True
        elif streamed and flow.response.status_code == 200 and "content-encoding" not in flow.response.headers:
            self._tap(flow, flow.response, exchange)

    def response(self, flow: http.HTTPFlow) -> None:
        """Rewrite a whole reply; say in one line what a person should know."""
        exchange = self._exchanges.pop(flow.id, None)
        if exchange is None or flow.response is None:
            return
        if exchange.rewriter is None:
            _rewrite_whole(flow.response, exchange)
        if exchange.rewriter:
            _report(flow, [exchange.rewriter.failure, *exchange.rewriter.notes])

    def error(self, flow: http.HTTPFlow) -> None:
        """The server or the client left."""
        if self._exchanges.pop(flow.id, None) and flow.error:
            left = "Client disconnected" in flow.error.msg
            _report(flow, [flow.error.msg], logging.INFO if left else logging.WARNING)

    def _exchange(self, flow: http.HTTPFlow) -> Exchange | None:
        if flow.request.method != "POST" or not self._acts_on(flow):
            return None
        if _CHAT.fullmatch(flow.request.path):
            return Exchange(Client.OPENAI, self._settings)
        if found := _MESSAGES.fullmatch(flow.request.path):
            return Exchange(Client.ANTHROPIC, self._settings, target=found["prefix"] + "/v1/chat/completions")
        return None

    def _acts_on(self, flow: http.HTTPFlow) -> bool:
        if self._filter:
            matches: bool = flowfilter.match(self._filter, flow)
            return matches
        return isinstance(flow.client_conn.proxy_mode, ReverseMode) or flow.request.pretty_host not in CLOUD

    def _tap(self, flow: http.HTTPFlow, response: http.Response, exchange: Exchange) -> None:
        if exchange.client is Client.ANTHROPIC and exchange.form is Form.WHOLE:
            return  # the client waits for one message, so all of the stream is needed first
        exchange.rewriter = Rewriter(exchange.settings, exchange.client, Form.STREAM, model=exchange.model)
        response.stream = Tap(exchange.rewriter)
        response.headers.pop("content-length", None)
        if flow.request.is_http11:
            response.http_version = "HTTP/1.1"
            response.headers["transfer-encoding"] = "chunked"


def _is_event_stream(response: http.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


def _use_connection_once(flow: http.HTTPFlow) -> None:
    """Have the server's connection closed after this reply, unseen by the client.

    llama.cpp closes its connection after every streamed reply and announces the opposite; a next request that is quicker
    than mitmproxy's notice of it would be lost (seen on llama.cpp 11549: every second one). The layer that reads from the
    server keeps the response it made; the client's gets a copy.
    """
    assert flow.response
    from_server = flow.response
    flow.response = from_server.copy()
    from_server.headers["connection"] = "close"


def _translate(request: http.Request, exchange: Exchange) -> None:
    """Make a Messages request a chat completion."""
    asked = anthropic_request.read(json_text.read(request.get_content(strict=False) or b""))
    for note in asked.notes:
        _log.info("think: %s: %s", request.path, note)
    exchange.form = Form.STREAM if asked.stream else Form.WHOLE
    exchange.model = asked.model
    request.path = exchange.target
    request.headers.pop("content-encoding", None)
    request.headers["content-type"] = "application/json"
    request.content = json_text.write(openai_request.write(asked, openai_request.RequestSettings()))
    if key := request.headers.pop("x-api-key", None):
        request.headers.setdefault("authorization", f"Bearer {key}")


def _rewrite_whole(response: http.Response, exchange: Exchange) -> None:
    """Rewrite a body that is all there; an error status in the words of the client's dialect."""
    try:
        body = response.get_content() or b""
    except ValueError:
        body = response.raw_content or b""
    if not 200 <= response.status_code < 300:
        if exchange.client is Client.ANTHROPIC:
            status, error = error_reply(response.status_code, body)
            _replace(response, json_text.write(error), "application/json", status)
        return
    streamed = _is_event_stream(response) or body.lstrip().startswith((b"data:", b"event:", b":"))
    rewriter = exchange.rewriter = Rewriter(
        exchange.settings, exchange.client, Form.STREAM if streamed else Form.WHOLE, exchange.form, exchange.model
    )
    rewritten = b"".join([*rewriter.feed(body), *rewriter.close()])
    if exchange.client is Client.OPENAI:
        if rewritten != body:
            _replace(response, rewritten, response.headers.get("content-type", ""), response.status_code)
        return
    whole = exchange.form is Form.WHOLE
    status = 502 if whole and rewriter.failure else 200
    _replace(response, rewritten, "application/json" if whole else "text/event-stream; charset=utf-8", status)


def _replace(response: http.Response, body: bytes, content_type: str, status: int) -> None:
    response.headers.pop("content-encoding", None)
    response.headers.pop("transfer-encoding", None)
    response.headers["content-type"] = content_type
    response.status_code, response.reason = status, http.Response.make(status).reason
    response.content = body


def _json_response(status: int, body: object) -> http.Response:
    return http.Response.make(status, json_text.write(body), {"content-type": "application/json"})


def _report(flow: http.HTTPFlow, words: Sequence[str], level: int = logging.WARNING) -> None:
    said = "; ".join(filter(None, words))
    if said:
        _log.log(level, "think: %s %s: %s", flow.request.method, flow.request.path.partition("?")[0], said)


addons = [ThinkAddon()]
