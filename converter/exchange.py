"""One exchange, step by step: values in, values out; the shell carries them.

`Exchange` is what method, path and headers tell; reading its body gives a `ReadRequest`; what comes
of it is an `AwaitedReply` (`converter.awaited_reply`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from converter.conversation import Conversation, RequestError
from converter.dialects.anthropic import models
from converter.dialects.dialect import KeptRequest
from converter.dialects.offered_tools import offered
from converter.dialects.openai_chat import request_writer
from converter.dialects.openai_chat.request_writer import RequestSettings
from converter.dialects.table import OPENAI_CHAT, Dialect, Form, ReplyContext, by_name
from converter.endpoints import Endpoint, find
from converter.initial_state import InitialState
from converter.memory import Memory
from converter.observe.thought_events import conversation_id
from converter.parsing.tool_calls.stage import Tools
from converter.servers import think_prompt, tools_prompt
from converter.servers.known_servers import KnownServers, Upstream
from converter.servers.model_names import Entry, entries, with_aliases
from converter.servers.model_names import find as find_model
from converter.servers.profiles import Server
from converter.settings import Settings
from converter.wire import json_text

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
OURS = (Endpoint.HELLO, Endpoint.TELEMETRY)
"""Endpoints that the addon answers by itself; only where it stands before one server, a host of its
own elsewhere.
"""
_BUDGETS = ("thinking_token_budget", "thinking_budget_tokens")
"""Where chat completions hold a budget of thinking: for vLLM, for llama.cpp."""
_CHAT_PATH = "/v1/chat/completions"

type Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole body for the client."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that the addon acts on, before its body is read.

    `prefix`: what stands before the endpoint in the path. `id`: a name for a reply that the server
    gives none. `created_at`: when it came, in seconds since 1970. `model_id`: the one model that is
    asked about.
    """

    endpoint: Endpoint
    settings: Settings
    prefix: str = ""
    id: str = "0"
    client: Dialect = OPENAI_CHAT
    created_at: int = 0
    model_id: str = ""

    @property
    def native(self) -> bool:
        """Tell whether the request goes to the server's own endpoint of the client's dialect."""
        option = self.client.native_option
        return bool(option) and getattr(self.settings, option) == "native"

    @property
    def translated(self) -> bool:
        """Tell whether the client's dialect is not the server's."""
        return self.client is not OPENAI_CHAT and not self.native

    @property
    def server_dialect(self) -> Dialect:
        """What the server is asked in."""
        return self.client if self.native else OPENAI_CHAT

    @property
    def guesses(self) -> bool:
        """Tell whether it must be found out where the reply begins."""
        return self.endpoint.is_chat and self.settings.start is InitialState.AUTO

    @property
    def path(self) -> str:
        """Where a translated request goes."""
        return self.prefix + _CHAT_PATH

    def note(self, body: bytes) -> "ReadRequest":
        """Take note of a request that goes on as it came; one that is no JSON says nothing."""
        try:
            said = json_text.read(body)
        except json_text.UnreadableError:
            return ReadRequest(self)
        asked = said if isinstance(said, dict) else {}
        budgets = (value for name in _BUDGETS if type(value := asked.get(name)) is int)
        request = ReadRequest(
            self,
            asked,
            context=conversation_id(asked),
            asks_to_think=asked.get("reasoning_effort") not in (None, "none"),
            budget=next(budgets, None),
        )
        return request.with_tools()

    def read(self, body: bytes, memory: Memory | None = None) -> "ReadRequest":
        """Read a request of another dialect. `memory`: replies that it may refer to. Raises
        RequestError or UnreadableError when it breaks the format.
        """
        said = json_text.read(body)
        counting = self.endpoint.is_count
        asked = self.client.read_request(said, self.settings.map, counting, memory)
        thinking = asked.thinking
        return ReadRequest(
            self,
            conversation=asked,
            context=conversation_id(said if isinstance(said, dict) else {}),
            asks_to_think=thinking is not None and thinking.mode in ("enabled", "adaptive"),
            budget=thinking.budget if thinking else None,
            notes=asked.notes,
        )

    def kept(self, method: str, path: str, body: bytes, memory: Memory) -> Answer | None:
        """Return the answer to a request about replies that are kept; None: it is about none."""
        if not self.endpoint.is_kept or self.native or self.client.kept is None:
            return None
        asked = KeptRequest(method, path, body, self.id, self.created_at)
        status, said = self.client.kept(asked, memory)
        return Answer(status, JSON, json_text.write(said))

    def counted(self, tokens: int) -> Answer:
        """Return the answer to a request whose tokens were counted."""
        return Answer(200, JSON, json_text.write(self.client.counted(tokens)))

    def refusal(self, error: Exception) -> tuple[str, Answer]:
        """Return the words for the log and the answer to a request that goes no further."""
        if isinstance(error, RequestError) and self.client.refusal:
            refused, said = self.client.refusal(error)
            return str(error), Answer(refused, JSON, json_text.write(said))
        status, kind = 500, "api_error"
        words = f"fault of the addon, please report it: {type(error).__name__}: {error}"
        if isinstance(error, RequestError | json_text.UnreadableError):
            status, kind, words = 400, "invalid_request_error", str(error)
        elif isinstance(error, ConnectionError):
            status, words = 502, f"no server there: {error}"
        return words, Answer(status, JSON, self.client.error(words, kind, status))

    def models(self, status: int, body: bytes) -> Answer | None:
        """Return the server's list of models in the client's dialect; None: as it came."""
        if status != 200:
            return self.error(status, body)
        if not json_text.readable(body) or not (served := entries(json_text.read(body))):
            said: object = models.write(body)
        elif self.model_id and not find_model(served, self.settings.models, self.model_id):
            words = f"no model {self.model_id}"
            return Answer(404, JSON, self.client.error(words, "not_found_error", 404))
        else:
            said = self._listed(served)
        return Answer(200, JSON, json_text.write(said)) if said else None

    def _listed(self, served: Sequence[Entry]) -> object:
        rows = self.settings.models
        listed = {"object": "list", "data": with_aliases(served, rows)}
        said = find_model(served, rows, self.model_id) if self.model_id else listed
        return said if self.client is OPENAI_CHAT else models.write(json_text.write(said))

    def error(self, status: int, body: bytes, counted: int | None = None) -> Answer | None:
        """Return a server's error in the client's dialect; None: as it came. `counted`: tokens of
        the prompt, where the server told only a lower bound.
        """
        answer = self.client.error_reply(status, body, counted)
        return Answer(answer[0], JSON, answer[1]) if answer else None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request whose body was read. `body`: the chat completion that the server is asked for.

    `context`: an id of the conversation. `budget`: of thinking, in tokens, as the client asks.
    `tools`: those whose calls are read from the reply's text; `tells_tools`: the server is told of
    them in words. `served_model`: the server's name for the model, where the client has another,
    which is `called` in a request that else goes on as it came.
    """

    exchange: Exchange
    body: Body = field(default_factory=dict)
    conversation: Conversation | None = None
    context: str = ""
    asks_to_think: bool = False
    budget: int | None = None
    notes: tuple[str, ...] = ()
    tools: Tools | None = None
    tells_tools: bool = False
    served_model: str = ""
    called: str = ""

    @property
    def form(self) -> Form:
        """How the client wants the reply of another dialect."""
        streamed = self.conversation is not None and self.conversation.stream
        return Form.STREAM if streamed else Form.WHOLE

    @property
    def model(self) -> str:
        """The name that the client asked for; empty where the server's own name stays."""
        return self.conversation.model if self.conversation else ""

    @property
    def asked_model(self) -> str:
        """The model as the client calls it."""
        return self.model or self.called or str(self.body.get("model") or "")

    def served_as(self, name: str) -> "ReadRequest":
        """Return the request for the server's own name of the model."""
        if self.conversation:
            return replace(self, served_model=name)
        body = {**self.body, "model": name}
        return replace(self, served_model=name, called=self.asked_model, body=body)

    @property
    def shown(self) -> bool:
        """Tell whether the client wants to see thinking."""
        thinking = self.conversation.thinking if self.conversation else None
        return thinking is None or thinking.shown

    @property
    def reply_context(self) -> ReplyContext:
        """The facts that the reply takes from the request."""
        asked, exchange = self.conversation, self.exchange
        own, at = asked.own if asked else None, exchange.created_at
        return ReplyContext(self.model, exchange.id, self.shown, created_at=at, own=own)

    @property
    def hides_thinking(self) -> bool:
        """Tell whether the client is to get no thinking, because it did not ask for any."""
        asks = self.asks_to_think or think_prompt.asks_for_thinking(self.body)
        return self.exchange.settings.unasked == "hide" and not asks

    def written(self, server: Server, parses: bool) -> "ReadRequest":
        """Return the request with the chat completion that asks the same of this server. `parses`:
        it takes the thinking out of the text itself.
        """
        assert self.conversation
        served = self.served_model or self.conversation.model
        conversation = replace(self.conversation, model=served)
        settings = self.exchange.settings
        manner = RequestSettings(
            history=settings.history, order=settings.order, server=server, server_parses=parses
        )
        notes = request_writer.notes(conversation, manner)
        body = request_writer.write(conversation, manner)
        return replace(self, body=body, notes=(*self.notes, *notes)).with_tools()

    def with_tools(self) -> "ReadRequest":
        """Return the request with what its tools ask of the addon: to read their calls from text,
        to tell of them in words.
        """
        settings = self.exchange.settings
        tools = offered(self.body) if settings.tools == "auto" else None
        tells = settings.tools_prompt == "on" and not self.exchange.native
        told = tools_prompt.add(self.body) if tells else None
        return replace(self, body=told or self.body, tools=tools, tells_tools=told is not None)

    def prompted(self, known: KnownServers, upstream: Upstream) -> Body | None:
        """Return what to send in its place, when the model is to be asked to think and does not do
        so by itself.
        """
        wanted = self.asks_to_think and self.exchange.settings.prompt != "off"
        if not wanted or self.exchange.native or known.thinks(upstream, self.body):
            return None
        return think_prompt.add(self.body, self.budget)


def begin(
    method: str,
    path: str,
    headers: Mapping[str, str],
    settings: Settings,
    name: str,
    reverse: bool,
    *,
    created_at: int = 0,
) -> Exchange | None:
    """Return the exchange that a request begins, None for one that is not ours.

    `headers`: names in lower case. `name`: for a reply that has none. `reverse`: all that comes is
    for one server. `created_at`: in seconds since 1970.
    """
    endpoint, prefix = find(method, path) or (None, "")
    if endpoint is None or (not reverse and (endpoint in OURS or endpoint.is_kept)):
        return None
    anthropic = speaks_anthropic(headers)
    if endpoint is Endpoint.MODELS and not (anthropic or settings.models):
        return None
    client = by_name(endpoint.dialect)
    exchange = Exchange(endpoint, settings, prefix, name, client, created_at)
    if endpoint is Endpoint.MODELS:
        client = exchange.client if anthropic else OPENAI_CHAT
        exchange = replace(exchange, client=client, model_id=_model_id(path, prefix))
    return None if exchange.native and not endpoint.is_chat else exchange


def _model_id(path: str, prefix: str) -> str:
    rest = path.partition("?")[0].removeprefix(prefix).removeprefix("/v1/models")
    return unquote(rest.strip("/"))


def is_stream(content_type: str, body: bytes = b"") -> bool:
    """Tell a stream by what it is called, or by how it begins: servers mislabel."""
    begins = body.lstrip().startswith((b"data:", b"event:", b":"))
    return content_type.lower().startswith(EVENT_STREAM) or begins


def speaks_anthropic(headers: Mapping[str, str]) -> bool:
    """Tell whether a request's headers are those of the Messages API; names in lower case."""
    return "anthropic-version" in headers or "x-api-key" in headers
