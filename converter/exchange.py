"""One exchange: a client's request and the reply to it, from dialect to dialect. Values in, values
out; the shell carries them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.conversation import Conversation, RequestError
from converter.dialects.anthropic import models as anthropic_models
from converter.dialects.anthropic import request_reader as anthropic_request
from converter.dialects.anthropic.errors import error_body, error_reply
from converter.dialects.error_words import server_words
from converter.dialects.openai_chat import request_writer as openai_request
from converter.dialects.reasoning_fields import without
from converter.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect, Form, by_name
from converter.endpoints import Endpoint, find
from converter.initial_state import InitialState
from converter.observe.thought_events import conversation_id
from converter.parsing.reading import Expected
from converter.rewriter import Rewriter
from converter.servers import context_length as overflow
from converter.servers import think_prompt
from converter.servers.known_servers import KnownServers, Upstream
from converter.servers.profiles import GENERIC, Server
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


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole body for the client."""

    status: int
    content_type: str
    body: bytes


@dataclass(slots=True)
class Exchange:
    """One request that the addon acts on, until its reply is complete.

    `prefix`: what stands before the endpoint in the path. `id`: a name for a reply that the server
    gives none. `body`: the chat completion asked for. `begins`: where its reply is expected to
    begin. `watched`: somebody reads what the rewriter has `said`.
    """

    endpoint: Endpoint
    settings: Settings
    prefix: str = ""
    id: str = "0"
    client: Dialect = OPENAI_CHAT
    server: Server = GENERIC
    server_parses: bool = False
    form: Form = Form.WHOLE
    model: str = ""
    shown: bool = True
    counted: int | None = None
    body: Mapping[str, object] = field(default_factory=dict)
    begins: InitialState = InitialState.TEXT
    budget: int | None = None
    context: str = ""
    asks_to_think: bool = False
    asked_budget: int | None = None
    prompted: bool = False
    notes: list[str] = field(default_factory=list)
    rewriter: Rewriter | None = None

    @property
    def translated(self) -> bool:
        """Tell whether the client's dialect is not the server's."""
        return self.client is ANTHROPIC and not self.native

    @property
    def native(self) -> bool:
        """Tell whether a Messages request goes to the server's own endpoint."""
        return self.client is ANTHROPIC and self.settings.messages == "native"

    @property
    def guesses(self) -> bool:
        """Tell whether it must be found out where the reply begins."""
        return self.endpoint.is_chat and self.settings.start is InitialState.AUTO

    def read_chat(self, body: bytes) -> None:
        """Take note of a request that goes on as it came."""
        try:
            said = json_text.read(body)
        except json_text.UnreadableError:
            return
        self.body = said if isinstance(said, dict) else {}
        self.context = conversation_id(self.body)
        self.asks_to_think = self.body.get("reasoning_effort") not in (None, "none")
        self._keep(
            next((value for name in _BUDGETS if type(value := self.body.get(name)) is int), None)
        )

    def _keep(self, budget: int | None) -> None:
        self.asked_budget = budget
        self.budget = budget if self.settings.budget == "proxy" else None

    @property
    def given_server(self) -> Server | None:
        """The server's row where it needs no recognising: a translated request was written for it,
        or the user has named it.
        """
        return self.server if self.translated else self.settings.server

    def prepare(self, known: KnownServers, upstream: Upstream) -> Mapping[str, object] | None:
        """Return what to send in place of the request, when the model is to be asked to think and
        does not do so by itself.
        """
        if self.native or self.settings.prompt == "off" or not self.asks_to_think:
            return None
        if known.thinks(upstream, self.body):
            return None
        prompted = think_prompt.add(self.body, self.asked_budget)
        self.prompted = prompted is not None
        return prompted

    def learn(self, known: KnownServers, upstream: Upstream) -> bool:
        """Remember what the reply showed of its server and model; tell whether it was misread."""
        self.server = known.server(upstream) or self.server
        found = self.rewriter.findings if self.rewriter else None
        if found and found.native:
            known.saw_thinking(upstream)
        if found and found.thought and not self.prompted:
            known.saw_thought(upstream, self.body)
        if not found or not found.correction or not self.guesses:
            return False
        known.correct(upstream, self.body, found.correction)
        return True

    def read(self, body: bytes) -> Conversation:
        """Read a Messages request. Raises RequestError or UnreadableError when it breaks the
        format.
        """
        said = without(
            json_text.read(body), {mapped.block for mapped in self.settings.map.values()}
        )
        asked = anthropic_request.read(said, counting=self.endpoint is Endpoint.COUNT_TOKENS)
        self.context = conversation_id(said if isinstance(said, dict) else {})
        self.notes += asked.notes
        self.form = Form.STREAM if asked.stream else Form.WHOLE
        self.model = asked.model
        self.shown = asked.thinking is None or asked.thinking.shown
        return asked

    def write(self, asked: Conversation) -> Mapping[str, object]:
        """Return the chat completion that asks the same of the server."""
        manner = openai_request.RequestSettings(
            history=self.settings.history,
            order=self.settings.order,
            server=self.server,
            server_parses=self.server_parses,
        )
        self.notes += openai_request.notes(asked, manner)
        self.body = openai_request.write(asked, manner)
        self.asks_to_think = asked.thinking is not None and asked.thinking.mode in (
            "enabled",
            "adaptive",
        )
        self._keep(asked.thinking.budget if asked.thinking else None)
        return self.body

    def wants_count(self, status: int, body: bytes) -> bool:
        """Tell whether the server found the prompt too long without counting it: then the client
        needs a count to act on.
        """
        too_long = overflow.find(server_words(body)) if self.translated and status == 400 else None
        return too_long is not None and too_long.bound

    def path(self) -> str:
        """Return where a translated request goes."""
        return self.prefix + _CHAT_PATH

    def rewrite(self, server_form: Form) -> Rewriter:
        """Return what rewrites the reply; remembered as this exchange's."""
        server = OPENAI_CHAT
        if self.native:
            server, self.form = ANTHROPIC, server_form
        self.rewriter = Rewriter(
            self.settings,
            self.client,
            server_form,
            self.form,
            server=server,
            model=self.model,
            shown=self.shown,
            reply_id=self.id,
            expected=Expected(
                self.begins,
                str(self.body.get("model") or ""),
                self.budget,
                self.id,
                self.context,
            ),
        )
        return self.rewriter

    def whole(self, status: int, content_type: str, body: bytes, at: float = 0.0) -> Answer | None:
        """Return what the client gets for a reply that is all there, `at` so many seconds; None: as
        it came.
        """
        if self.endpoint is Endpoint.MODELS:
            return _models(status, body)
        if not 200 <= status < 300:
            return self._error(status, body)
        rewriter = self.rewrite(Form.STREAM if is_stream(content_type, body) else Form.WHOLE)
        rewritten = b"".join(rewriter.whole(body, at))
        if self.client is OPENAI_CHAT:
            return Answer(status, content_type, rewritten) if rewritten != body else None
        if self.form is Form.STREAM:
            return Answer(200, EVENT_STREAM + "; charset=utf-8", rewritten)
        return Answer(502 if rewriter.failure else 200, JSON, rewritten)

    def _error(self, status: int, body: bytes) -> Answer | None:
        if not json_text.readable(body):  # a gateway's page; an error object needs no line
            self.notes.append(
                f"the server answered with status {status}: {server_words(body) or 'no words'}"
            )
        if self.client is OPENAI_CHAT:
            return None
        status, error = error_reply(status, body, self.counted)
        return Answer(status, JSON, json_text.write(error))


def begin(
    method: str, path: str, headers: Mapping[str, str], settings: Settings, name: str, reverse: bool
) -> Exchange | None:
    """Return the exchange that a request begins, None for one that is not ours.

    `headers`: names in lower case. `name`: for a reply that has none. `reverse`: all that comes is
    for one server.
    """
    endpoint, prefix = find(method, path) or (None, "")
    if (
        endpoint is None
        or (endpoint in OURS and not reverse)
        or (endpoint is Endpoint.MODELS and not speaks_anthropic(headers))
    ):
        return None
    exchange = Exchange(endpoint, settings, prefix, name, by_name(endpoint.dialect))
    return None if exchange.native and endpoint is Endpoint.COUNT_TOKENS else exchange


def refusal(error: Exception) -> tuple[str, Answer]:
    """Return the words for the log and the answer to a Messages request that goes no further."""
    status, kind, words = (
        500,
        "api_error",
        f"fault of the addon, please report it: {type(error).__name__}: {error}",
    )
    if isinstance(error, RequestError | json_text.UnreadableError):
        status, kind, words = 400, "invalid_request_error", str(error)
    elif isinstance(error, ConnectionError):
        status, words = 502, f"no server there: {error}"
    return words, Answer(status, JSON, json_text.write(error_body(words, kind)))


def _models(status: int, body: bytes) -> Answer | None:
    if status != 200:
        status, error = error_reply(status, body)
        return Answer(status, JSON, json_text.write(error))
    listed = anthropic_models.write(body)
    return Answer(200, JSON, json_text.write(listed)) if listed else None


def is_stream(content_type: str, body: bytes = b"") -> bool:
    """Tell a stream by what it is called, or by how it begins: servers mislabel."""
    return content_type.lower().startswith(EVENT_STREAM) or body.lstrip().startswith(
        (b"data:", b"event:", b":")
    )


def speaks_anthropic(headers: Mapping[str, str]) -> bool:
    """Tell whether a request's headers are those of the Messages API; names in lower case."""
    return "anthropic-version" in headers or "x-api-key" in headers
