"""One exchange as values, free of mitmproxy: the request's head, read body, and awaited reply.

An `Exchange` is a request as its method, path and headers describe it. Its body is read into a
`ReadRequest` (`converter.addon.exchange.read_request`), from which comes an `AwaitedReply`
(`converter.addon.exchange.awaited_reply`).
"""

import enum
import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from converter.addon.exchange.settings import Settings
from converter.addon.servers.model_names import (
    GATEWAY_CLIENTS,
    entries,
    with_aliases,
    with_gateway_names,
    with_variants,
)
from converter.addon.servers.model_names import find as find_model
from converter.core.dialects.dialect import Counterpart, Endpoint, OwnRequest, Purpose
from converter.core.dialects.signs_of_life import COMMENT, form_of
from converter.core.dialects.table import COMMON, Dialect, by_headers, by_name, find
from converter.core.model.conversation import RequestError
from converter.core.model.initial_state import InitialState
from converter.core.model.memory import AwayError, Memory
from converter.core.wire import json_text
from converter.core.wire.bounds import fault_of
from converter.core.wire.checked import Fields

JSON = "application/json"
AWAY = "the memory is away, so earlier replies cannot be looked up: try again later"

_KEYS = ("authorization", "x-api-key")
"""Headers that hold a client's key."""


class RequestTooLargeError(Exception):
    """A request has more bytes than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the request has more than {limit >> 20} megabytes; "
            "think_limits=request_mb=NUMBER allows more"
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole body for the client. `retry_after`: seconds after which a retry may succeed."""

    status: int
    content_type: str
    body: bytes
    retry_after: int = 0


class Kind(enum.Enum):
    """The kinds of exchange, each with its own steps.

    Attributes:
        OWN: the addon answers by itself.
        COUNTERPART: another endpoint of the server does the same, and gets the request.
        MODELS: the server lists its models.
        COUNTED: the tokens of a translated request are counted.
        TRANSLATED: a request of another dialect becomes a chat completion.
        CHAT: a chat completion goes on as one.
        NATIVE: a request goes to the server's own endpoint of the client's dialect.
        PASSED: another request of the dialect goes unchanged to a server that speaks the dialect.
    """

    OWN = enum.auto()
    COUNTERPART = enum.auto()
    MODELS = enum.auto()
    COUNTED = enum.auto()
    TRANSLATED = enum.auto()
    CHAT = enum.auto()
    NATIVE = enum.auto()
    PASSED = enum.auto()

    __hash__ = object.__hash__
    """The one of Enum is written in Python, and a request's way asks it twenty times."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that the addon acts on, before its body is read.

    Attributes:
        endpoint: the row of the request's path.
        settings: the options in force.
        prefix: the path before the endpoint.
        id: the name of a reply that the server gives none.
        client: the client's dialect.
        created_at: when the request came, in seconds since 1970.
        model_id: the one model that a request for the list names.
        owner: a hash of the client's credentials; entries of the memory belong to it.
        features: the features that the client turns on in a header of its dialect.
        alive: the form of a sign of life; see `ReplyContext`.
        gateway_names: the client lists no names but Anthropic's.
        at_home: the server itself speaks the client's dialect.
        kind: the kind of exchange, which decides its steps.
        native: the request goes to the server's own endpoint of the client's dialect.
        translated: the client's dialect is not the server's.
        server_dialect: the dialect of the request that the server gets.
        guesses: the addon has to find out where the reply begins.

    The last five are worked out once, from the others.
    """

    endpoint: Endpoint
    settings: Settings
    prefix: str = ""
    id: str = "0"
    client: Dialect = COMMON
    created_at: int = 0
    model_id: str = ""
    owner: str = ""
    features: frozenset[str] = frozenset()
    alive: str = COMMENT
    gateway_names: bool = False
    at_home: bool = False
    kind: Kind = field(init=False)
    native: bool = field(init=False)
    translated: bool = field(init=False)
    server_dialect: Dialect = field(init=False)
    guesses: bool = field(init=False)

    def __post_init__(self) -> None:
        endpoint = self.endpoint
        native = self.at_home or self.client.requests.native_option in self.settings.native
        translated = self.client is not COMMON and not native
        kind = Kind.MODELS
        if endpoint.is_own:
            own_kind = Kind.COUNTERPART if endpoint.counterpart else Kind.OWN
            kind = Kind.PASSED if self.at_home else own_kind
        elif endpoint.is_chat:
            as_it_came = Kind.NATIVE if native else Kind.CHAT
            kind = Kind.TRANSLATED if translated else as_it_came
        elif endpoint.is_request and translated:
            kind = Kind.COUNTED
        guesses = endpoint.is_chat and self.settings.start is InitialState.AUTO
        decided = {
            "kind": kind,
            "native": native,
            "translated": translated,
            "server_dialect": self.client if native else COMMON,
            "guesses": guesses,
        }
        for name, value in decided.items():
            object.__setattr__(self, name, value)  # the class is frozen

    @property
    def path(self) -> str:
        """The path of a translated request."""
        return self.prefix + COMMON.requests.path

    def may_refer(self, body: bytes) -> bool:
        """Return True if the body may refer to replies that are kept. JSON escapes may spell any
        word.
        """
        patterns = self.client.requests.refers
        if patterns and rb"\u00" in body:
            return True
        # one by one, because a search for one first character takes a fifth of the time
        return any(re.search(pattern.encode(), body, re.DOTALL) for pattern in patterns)

    def tells_models(self, path: str) -> bool:
        """Return True if the addon's own answer to this path lists the server's models."""
        return bool(re.match(self.client.answers.own_of_models or "(?!)", path[len(self.prefix) :]))

    def own(self, request: OwnRequest, memory: Memory) -> Answer | None:
        """Return the addon's own answer; `None` where the server has to answer."""
        if not self.endpoint.is_own or self.client.answers.own is None:
            return None
        rows = self.settings.models
        request = replace(request, id=self.id, created_at=self.created_at)
        if request.served:
            request = replace(request, served=with_aliases(request.served, rows))
        answer = self.client.answers.own(request, memory)
        if answer is None:
            return None
        status, body = answer
        if isinstance(body, str):
            return Answer(status, "text/plain; charset=utf-8", body.encode())
        return Answer(status, JSON, b"" if body is None else json_text.write(body))

    def counterpart_answer(
        self, counterpart: Counterpart, status: int, body: bytes, took: int = 0
    ) -> Answer | None:
        """Return the answer of an endpoint's counterpart in the client's dialect; `None` for an
        error that goes on unchanged. `took`: nanoseconds.
        """
        if status == 200:
            with suppress(RequestError):
                reply = counterpart.reply(Fields(json_text.read_or_none(body)), took)
                return Answer(200, JSON, json_text.write(reply))
        return self.error(status, body)

    def counted(self, tokens: int) -> Answer:
        """Return the answer to a request to count tokens."""
        return Answer(200, JSON, json_text.write(self.client.answers.counted(tokens)))

    def refusal(self, error: Exception) -> tuple[str, Answer]:
        """Return the line for the log and the answer to a request that goes no further."""
        if isinstance(error, RequestError) and self.client.answers.refusal:
            refused, refusal = self.client.answers.refusal(error)
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
            status, message, retry_after = 503, f"{AWAY} ({error})", 1
        body = self.client.answers.error(message, kind, status)
        return message, Answer(status, JSON, body, retry_after)

    def models(self, status: int, body: bytes) -> Answer | None:
        """Return the server's list of models in the client's dialect; `None` where it goes on
        unchanged.
        """
        if status != 200:
            return self.error(status, body)
        rows, served = self.settings.models, entries(json_text.read_or_none(body))
        if served and self.model_id and not find_model(served, rows, self.model_id):
            message = f"no model {self.model_id}"
            return Answer(404, JSON, self.client.answers.error(message, "not_found_error", 404))
        listed = self._listed(served, body)
        return Answer(200, JSON, json_text.write(listed)) if listed else None

    def _listed(self, served: Sequence[dict[str, object]], body: bytes) -> object:
        """Return the list, or the one model that the path names; `None` where the body goes on
        unchanged.
        """
        rows, write = self.settings.models, self.client.answers.models
        models = with_aliases(served, rows)
        models = with_variants(models) if self.settings.variants else models
        models = with_gateway_names(models) if self.gateway_names else models
        listed: object = {"object": "list", "data": models}
        if served and self.model_id:
            listed = find_model(served, rows, self.model_id)
        elif len(models) == len(served):
            return write(body) if write else None
        return (write and write(json_text.write(listed))) or listed

    def error(self, status: int, body: bytes, counted: int | None = None) -> Answer | None:
        """Return a server's error in the client's dialect; `None` where it goes on unchanged.
        `counted`: tokens of the prompt, where the server reported only a lower bound.
        """
        answer = self.client.answers.error_reply(status, body, counted)
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
    """Return the exchange that a request begins; `None` for a request that is not the addon's.

    `headers`: by names in lower case. `name`: the id of a reply that has none. `reverse`: the proxy
    stands before one server. `created_at`: seconds since 1970.
    """
    endpoint, prefix = find(method, path) or (None, "")
    if endpoint is None or (endpoint.is_own and not (reverse or endpoint.counterpart)):
        return None  # behind a forward proxy, the host itself answers
    lists = endpoint.lists_models
    client = by_headers(headers) if endpoint.shared else by_name(endpoint.dialect)
    unchanged = client is COMMON and not (settings.models or settings.variants)
    rest = path.partition("?")[0].removeprefix(prefix).removeprefix("/v1/models")
    model_id = unquote(rest.strip("/")) if lists and not unchanged else ""
    alive = form_of(settings.alive, headers.get("user-agent", "")) if client is COMMON else COMMENT
    gateway = lists and GATEWAY_CLIENTS.match(headers.get("user-agent", "")) is not None
    # the names of features in the header that the client's dialect has for them
    listed = headers.get(client.label.features, "") if client.label.features else ""
    features = frozenset(name.strip() for name in listed.split(",")) if listed else frozenset[str]()
    own = (model_id, _owner(headers), features, alive, gateway)
    exchange = Exchange(endpoint, settings, prefix, name, client, created_at, *own)
    return None if exchange.native and endpoint.purpose is not Purpose.REPLY else exchange


def _owner(headers: Mapping[str, str]) -> str:
    """Return the hash of a client's credentials. A client without credentials has an owner as well:
    else an id that the client makes up could name another's entry, or the addon's own.
    """
    keys = [headers.get(name, "") for name in _KEYS]
    return hashlib.sha256("\n".join(keys).encode("utf-8", "surrogateescape")).hexdigest()
