"""The first value of an exchange, `Exchange`, which `begin` makes from a request's method, path and
headers. It decides the `Kind`, and makes responses that are no rewritten replies (`Answer`), such
as lists of models and errors. `JSON` is their usual content type.

An exchange has three values, none of which imports mitmproxy. When the body has come, it is read
into a `ReadRequest` (`converter.addon.exchange.read_request`). When the request is written for the
server, the `ReadRequest` is put into an `AwaitedReply`
(`converter.addon.exchange.awaited_reply`).
"""

import enum
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote

from converter.addon.exchange.settings import Settings
from converter.addon.servers.model_names import (
    GATEWAY_CLIENTS,
    find_model,
    model_entries,
    with_aliases,
    with_gateway_names,
    with_variants,
)
from converter.core.dialects.dialect import Endpoint, OwnRequest, Purpose
from converter.core.dialects.signs_of_life import COMMENT, form_for
from converter.core.dialects.table import COMMON, Dialect, by_headers, by_name, find_endpoint
from converter.core.model.conversation import RequestError
from converter.core.model.initial_state import InitialState
from converter.core.model.memory import AwayError, Memory
from converter.core.wire import json_text
from converter.core.wire.bounds import fault_of
from converter.core.wire.checked import Fields

JSON = "application/json"
"""The content type of JSON."""
MEMORY_AWAY = "the memory is away, so earlier replies cannot be looked up: try again later"
"""The error's message for a request that refers to kept replies while the memory cannot be reached.
"""

_KEY_HEADERS = ("authorization", "x-api-key")
"""The headers in which a client sends its key."""


class RequestTooLargeError(Exception):
    """A request has more bytes than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the request has more than {limit >> 20} megabytes; "
            "think_limits=request_mb=NUMBER allows more"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response that the addon makes for the client."""

    status: int
    """The HTTP status."""
    content_type: str
    body: bytes
    """The whole body, not compressed."""
    retry_after: int = 0
    """Seconds after which a retry may succeed; 0: the response has no such header."""


class Kind(enum.Enum):
    """The kinds of exchange, each with its own steps."""

    OWN = enum.auto()
    """The addon answers the request itself, unless `Exchange.own_answer` leaves it to the server.
    """
    COUNTERPART = enum.auto()
    """The request is for no reply (but for embeddings, say), and goes to the endpoint of OpenAI's
    API that has the same purpose.
    """
    MODELS = enum.auto()
    """The client gets the server's list of models, or one model of it, in the client's dialect."""
    COUNTED = enum.auto()
    """The client gets the count of a prompt's tokens."""
    TRANSLATED = enum.auto()
    """A request for a reply, in any dialect but chat completions, is translated into one of chat
    completions.
    """
    CHAT = enum.auto()
    """A request for a reply comes in chat completions, and is sent in chat completions."""
    NATIVE = enum.auto()
    """A request for a reply is sent in the client's own dialect, which is not that of chat
    completions but which the server speaks too.
    """
    PASSED = enum.auto()
    """The request is for no reply, and goes to the server unchanged, because the server speaks the
    client's dialect.
    """

    __hash__ = object.__hash__
    """Enum's own `__hash__` is slow Python code, and each exchange looks its kind up
    twenty times.
    """


@dataclass(frozen=True)
class Exchange:
    """A request that the addon acts on, before its body is read."""

    endpoint: Endpoint
    """The API's endpoint that the request's path names."""
    settings: Settings
    """The user's options at the time of the request."""
    base_path: str = ""
    """The part of the path before the endpoint's own path: `/api` for `/api/v1/messages`."""
    id: str = "0"
    """The id of the exchange, which the client also gets as the reply's id if the server sends
    none.
    """
    client_dialect: Dialect = COMMON
    """The client's dialect."""
    created_at: int = 0
    """When the request came, in seconds since 1970."""
    model_id: str = ""
    """The model's id in the path `/v1/models/ID`; empty for any other path, and if the server's
    answer needs no change.
    """
    owner: str = ""
    """A hash of the client's credentials. The client's entries in the memory have this owner."""
    features: frozenset[str] = frozenset()
    """The features that the client turns on in a header of its dialect (`anthropic-beta`)."""
    sign_of_life: str = COMMENT
    """The form of the frame that is sent in a silent stream, `comment`, `delta` or `none`
    (`converter.core.dialects.signs_of_life`).
    """
    needs_gateway_names: bool = False
    """True if the request is for models, and the client shows its user only those whose names begin
    with `claude` or `anthropic`, so that the list needs such names.
    """
    has_native_server: bool = False
    """True if the server was recognised as one that speaks the client's dialect itself."""

    @cached_property
    def kind(self) -> Kind:
        """The kind of exchange, which decides its steps."""
        endpoint = self.endpoint
        if endpoint.is_own and self.has_native_server:
            return Kind.PASSED
        if endpoint.is_own:
            return Kind.COUNTERPART if endpoint.counterpart else Kind.OWN
        if not endpoint.is_chat:
            return Kind.COUNTED if endpoint.is_request and self.is_translated else Kind.MODELS
        as_it_came = Kind.NATIVE if self.is_native else Kind.CHAT
        return Kind.TRANSLATED if self.is_translated else as_it_came

    @cached_property
    def is_native(self) -> bool:
        """True if the request is not one of chat completions, and goes untranslated to the server,
        which has an endpoint of the client's dialect.
        """
        option = self.client_dialect.requests.native_option
        return self.has_native_server or option in self.settings.native

    @cached_property
    def is_translated(self) -> bool:
        """True if the client's dialect is not the server's."""
        return self.client_dialect is not COMMON and not self.is_native

    @cached_property
    def server_dialect(self) -> Dialect:
        """The dialect of the request that the server gets."""
        return self.client_dialect if self.is_native else COMMON

    @cached_property
    def guesses_start(self) -> bool:
        """True if the addon has to find out whether the reply begins in a thought, because the
        option `think_start` is `auto`.
        """
        return self.endpoint.is_chat and self.settings.start is InitialState.AUTO

    @property
    def path(self) -> str:
        """The path of the server's chat-completions endpoint."""
        return self.base_path + COMMON.requests.path

    def may_refer_to_kept(self, body: bytes) -> bool:
        """Return True if the request's body may refer to kept replies, as the field
        `previous_response_id` does. A body in which ASCII characters are written as JSON escapes
        counts as such, because the escapes may hide the field's name.
        """
        patterns = self.client_dialect.requests.refers
        if patterns and rb"\u00" in body:
            return True
        # one pattern after another, because `re` searches a pattern that begins with a literal five
        # times as fast as an alternation of all patterns
        return any(re.search(pattern.encode(), body, re.DOTALL) for pattern in patterns)

    def answers_with_models(self, path: str) -> bool:
        """Return True if the addon itself answers a request for this path, and needs the server's
        list of models for the answer.
        """
        pattern = self.client_dialect.answers.own_of_models
        return bool(pattern and re.match(pattern, path[len(self.base_path) :]))

    def own_answer(self, request: OwnRequest, memory: Memory) -> Answer | None:
        """Return the addon's own answer to a request that needs no model, such as one for a reply
        that the memory keeps. Return `None` if the request has to go to the server.
        """
        if self.client_dialect.answers.own is None:
            return None
        served = request.model_entries and with_aliases(request.model_entries, self.settings.models)
        request = replace(request, id=self.id, created_at=self.created_at, model_entries=served)
        answer = self.client_dialect.answers.own(request, memory)
        if answer is None:
            return None
        status, body = answer
        if isinstance(body, str):
            return Answer(status, "text/plain; charset=utf-8", body.encode())
        return Answer(status, JSON, b"" if body is None else json_text.write(body))

    def counterpart_answer(self, status: int, body: bytes, took: int) -> Answer | None:
        """Return the server's response (`status`, `body`) in the client's dialect; `None` if it
        goes to the client unchanged, as some errors do. The client's request, such as one for
        embeddings, was sent to the endpoint of OpenAI's API that has the same purpose
        (`Endpoint.counterpart`). `took`: how many nanoseconds the server needed for the response.
        """
        if status == 200 and self.endpoint.counterpart:
            with suppress(RequestError):
                reply = self.endpoint.counterpart.reply(Fields(json_text.read_or_none(body)), took)
                return Answer(200, JSON, json_text.write(reply))
        return self.error_answer(status, body)

    def count_answer(self, tokens: int) -> Answer:
        """Return the response to a request to count a prompt's tokens. `tokens`: the count."""
        return Answer(200, JSON, json_text.write(self.client_dialect.answers.counted(tokens)))

    def refusal_answer(self, error: Exception) -> tuple[str, Answer]:
        """Return a line for the log, and the error response to a request that could not be sent to
        the server because of `error`.
        """
        if isinstance(error, RequestError) and self.client_dialect.answers.refusal:
            refused, refusal = self.client_dialect.answers.refusal(error)
            return str(error), Answer(refused, JSON, json_text.write(refusal))
        message, status = fault_of(error)
        kind, retry_after = "api_error", 0
        if isinstance(error, RequestTooLargeError):
            status, kind, message = 413, "request_too_large", str(error)
        elif isinstance(error, (RequestError, json_text.UnreadableError)):
            status, kind, message = 400, "invalid_request_error", str(error)
        elif isinstance(error, ConnectionError):
            status, message = 502, str(error)
        elif isinstance(error, AwayError):
            status, message, retry_after = 503, f"{MEMORY_AWAY} ({error})", 1
        body = self.client_dialect.answers.error(message, kind, status)
        return message, Answer(status, JSON, body, retry_after)

    def models_answer(self, status: int, body: bytes) -> Answer | None:
        """Return the response to a request for models, in the client's dialect: the server's list,
        one model of the list, or an error. Return `None` if the server's response (`status`,
        `body`) goes to the client unchanged.
        """
        if status != 200:
            return self.error_answer(status, body)
        rows, answers = self.settings.models, self.client_dialect.answers
        served = model_entries(json_text.read_or_none(body))
        models = with_aliases(served, rows)
        models = with_variants(models) if self.settings.variants else models
        models = with_gateway_names(models) if self.needs_gateway_names else models
        listed: object = {"object": "list", "data": models}
        if served and self.model_id:
            listed = find_model(served, rows, self.model_id)
            if not listed:
                message = f"no model {self.model_id}"
                return Answer(404, JSON, answers.error(message, "not_found_error", 404))
        elif len(models) == len(served):
            listed = answers.models(body) if answers.models else None
            return Answer(200, JSON, json_text.write(listed)) if listed else None
        listed = (answers.models and answers.models(json_text.write(listed))) or listed
        return Answer(200, JSON, json_text.write(listed))

    def error_answer(self, status: int, body: bytes, counted: int | None = None) -> Answer | None:
        """Return a server's error in the client's dialect; `None` if it goes to the client
        unchanged. `counted`: how many tokens the prompt has, if the server refused it as too long
        without an exact count, so that the addon has counted them; else `None`.
        """
        answer = self.client_dialect.answers.error_reply(status, body, counted)
        return Answer(answer[0], JSON, json_text.write(answer[1])) if answer else None


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
    """Return the exchange that a request begins; `None` for a request that is passed unchanged.

    Arguments:
        headers: name in lower case -> value.
        name: the id of the exchange.
        reverse: True if mitmproxy is the reverse proxy of one server.
        created_at: when the request came, in seconds since 1970.
    """
    endpoint, prefix = find_endpoint(method, path) or (None, "")
    if endpoint is None or (endpoint.is_own and not (reverse or endpoint.counterpart)):
        # `is_own`: the addon answers such a request itself, but only as a reverse proxy. In a
        # forward proxy, the requested host answers it.
        return None
    dialect = by_headers(headers) if endpoint.shared else by_name(endpoint.dialect)
    unchanged = dialect is COMMON and not (settings.models or settings.variants)
    rest = path.partition("?")[0].removeprefix(prefix).removeprefix("/v1/models")
    model_id = unquote(rest.strip("/")) if endpoint.lists_models and not unchanged else ""
    agent = headers.get("user-agent", "")
    alive = form_for(settings.alive, agent) if dialect is COMMON else COMMENT
    gateway = endpoint.lists_models and GATEWAY_CLIENTS.match(agent) is not None
    # `label.features` is the dialect's header that lists features, such as `anthropic-beta`
    listed = headers.get(dialect.label.features, "") if dialect.label.features else ""
    features = frozenset(name.strip() for name in listed.split(",")) if listed else frozenset[str]()
    # A client without credentials has an owner too: with an empty owner, an id that the client
    # invents could match an entry of another client, or one of the addon's own.
    keys = "\n".join(headers.get(name, "") for name in _KEY_HEADERS)
    owner = hashlib.sha256(keys.encode("utf-8", "surrogateescape")).hexdigest()
    own = (model_id, owner, features, alive, gateway)
    exchange = Exchange(endpoint, settings, prefix, name, dialect, created_at, *own)
    return None if exchange.is_native and endpoint.purpose is not Purpose.REPLY else exchange
