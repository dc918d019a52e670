"""Defines `Dialect`, the record that describes a dialect, and the records of its parts: `Label`
(names, headers), `Requests`, `Answers`, and each `Endpoint` with its `Purpose`; `wire_form.py` has
`WireForm`, for replies. Also the inputs of a request's reader (`RequestContext`, `TurnOf`,
`read_anew`), and `OwnRequest`, which the addon answers itself.
"""

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from converter.core.dialects.error_words import server_message
from converter.core.dialects.wire_form import Mapped, WireForm
from converter.core.model.conversation import Block, Conversation, RequestError, Turn
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.core.wire.checked import Fields


class Purpose(enum.Enum):
    """The purpose of a request: the result that the client wants."""

    REPLY = enum.auto()
    """A reply of the model."""
    COUNT = enum.auto()
    """The number of the request's tokens."""
    COMPACTION = enum.auto()
    """A summary of the conversation, by the model."""
    MODELS = enum.auto()
    """The server's list of models."""
    OWN = enum.auto()
    """Another answer: the addon writes it itself, as for Ollama's `/api/version`, or translates the
    answer of the server's `Counterpart`.
    """


@dataclass(frozen=True)
class Counterpart:
    """The endpoint of chat-completions servers that does the same as an endpoint of another
    dialect: `/v1/embeddings` for Ollama's `/api/embed`.
    """

    path: str
    """The path of the server's endpoint."""
    request: Callable[[Fields], dict[str, object]]
    """Turns the body of the client's request into that of the server's request. Raises RequestError
    for a body that it cannot read.
    """
    reply: Callable[[Fields, int], dict[str, object]]
    """Turns the body of the server's reply into that of the client's reply. It also gets the
    nanoseconds that the server's reply took. Raises RequestError for a body that it cannot read.
    """


@dataclass(frozen=True, eq=False)
class Endpoint:
    """A method and a path, and the purpose of the requests to it. In a request the path may stand
    behind a prefix, by default behind any prefix; a query is ignored.
    """

    dialect: str
    """The name of the dialect that the endpoint's clients speak."""
    purpose: Purpose
    """The purpose of the requests to this endpoint."""
    method: str
    """A regular expression for the HTTP method."""
    path: str
    """A regular expression for the endpoint's own path."""
    kind: str = "exchange"
    """The word that stands for the endpoint in the names of recordings: `chat`."""
    prefix: str = r"(?P<prefix>[^?]*?)"
    """A regular expression for the text that may stand before `path` in a request's path. The text
    of its group `prefix` is the result of `prefix_of`.
    """
    shared: bool = False
    """True if several dialects have this endpoint. Then a request's headers show which of them its
    client speaks.
    """
    counterpart: Counterpart | None = None
    """The server's endpoint that gets a request of `Purpose.OWN`, translated. None if there is no
    such endpoint: then the addon writes the answer itself.
    """

    @cached_property
    def is_chat(self) -> bool:
        """True if a model generates the reply to a request."""
        return self.purpose in (Purpose.REPLY, Purpose.COMPACTION)

    @cached_property
    def is_request(self) -> bool:
        """True if the body of a request to this endpoint holds a conversation."""
        return self.is_chat or self.purpose is Purpose.COUNT

    @cached_property
    def is_own(self) -> bool:
        """True if the addon answers a request itself, or by the server's `counterpart`. A server
        whose own API this dialect is (`Requests.native_of`) gets the request all the same.
        """
        return self.purpose is Purpose.OWN

    @cached_property
    def lists_models(self) -> bool:
        """True if the response is the server's list of models."""
        return self.purpose is Purpose.MODELS

    def prefix_of(self, method: str, path: str) -> str | None:
        """Return the part of a path before this endpoint's own path: `/proxy/v1/messages` ->
        `/proxy`. None if the request is to another endpoint. `path` has no query.
        """
        slash = f"/{'?' if self.path else ''}"
        match = re.fullmatch(rf"{self.prefix}{self.path}{slash}", path)
        if not match or not re.fullmatch(self.method, method):
            return None
        return match["prefix"].rstrip("/")


type TurnOf = Callable[[object, Callable[[], tuple[Turn, bool]], object], Turn]
"""Returns the turn of a message, perhaps the turn that was read for the conversation's previous
request. It takes

- the message,
- its reader, which returns the turn, and True if the message must be read anew in each request
  because reading it adds a line for the user to `Conversation.notes`,
- the facts of other messages on which the reader depends: with other facts the turn is read anew.
"""


def read_anew(_message: object, reader: Callable[[], tuple[Turn, bool]], _others: object) -> Turn:
    """Return the turn that `reader` returns. Callers that keep no turns between requests take
    this function as their `TurnOf`: it reads each message of each request.
    """
    return reader()[0]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The facts, beside a request's JSON, that decide how the request is read."""

    purpose: Purpose = Purpose.REPLY
    """The purpose of the request, by its endpoint."""
    map: Mapping[str, Mapped] = field(default_factory=dict)
    """The user's field map (`think_map`)."""
    memory: Memory | None = None
    """The kept replies; None if the request cannot refer to earlier replies."""
    turn_of: TurnOf = read_anew
    """Returns the turn of a message: it reads the message, or returns the turn that was read for
    the same message in the conversation's previous request.
    """


NO_CONTEXT = RequestContext()
"""The context if only the request's JSON is known."""


type RequestReader = Callable[[object, RequestContext], Conversation]
"""Takes a request's JSON and its context. Raises RequestError if the request breaks the format."""
type ErrorWriter = Callable[[str, str, int], Mapping[str, object]]
"""Takes a message, a kind (of the Messages API) and an HTTP status; returns an error body."""
type ErrorReplyWriter = Callable[[int, bytes, int | None], tuple[int, Mapping[str, object]] | None]
"""Takes the status and body of a server's error, and the count of the prompt's tokens if they were
counted. Returns the client's status and body; None if the server's answer may pass as it came.
"""


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """A request to an endpoint of `Purpose.OWN`, for the function `Answers.own`."""

    method: str
    """The HTTP method."""
    path: str
    """The path of the URL, which may have a query."""
    body: bytes = b""
    """The body of the request as it came."""
    id: str = "0"
    """The id for an object that the request creates."""
    created_at: int = 0
    """The time of the request, in seconds since 1970."""
    model_entries: Sequence[dict[str, object]] = ()
    """The entries of the server's list of models; empty unless the answer needs them."""
    wants_page: bool = False
    """True if a browser asks for a page, and not a client for an answer of the API."""


SAMPLING: Mapping[str, object] = {"seed": 1, "temperature": 0.7}
"""Fields in the dialects' example requests. The fixed seed makes the replies to an example alike.
"""
QUESTION: Mapping[str, object] = {"messages": [{"role": "user", "content": "12 * 7"}]}
"""The field with the only message of an example request."""


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """The requests of a dialect that ask a model for a reply."""

    read: RequestReader
    """Reads a request's JSON into a conversation."""
    path: str
    """The path of the dialect's endpoint for replies, such as `/v1/messages`."""
    example: Mapping[str, object]
    """A short request, without the field `model`, that users get as a curl command."""
    streams: bool = False
    """True if a request without the field `stream` asks for a stream."""
    refers: tuple[str, ...] = ()
    """Regular expressions for the fields by which a request refers to a kept reply, such as
    `"thread"`. They are searched in the request's bytes, so that kept replies are looked up only
    for a request that may refer to one.
    """
    native_option: str = ""
    """Name of the dialect in the option `think_native`, which lets a server's own endpoint of this
    dialect answer. Empty if the option does not have this dialect.
    """
    native_of: str = ""
    """Name of the server whose own API this dialect is, such as `ollama`. That server gets requests
    of this dialect untranslated, even if the user sets no option. Empty if there is no such server.
    """
    native: Callable[[Mapping[str, object]], Mapping[str, object]] = lambda body: body
    """Returns a request in a form that servers' own endpoints of this dialect accept; the same
    object if nothing has to change. Raises RequestError for a request that they would answer
    wrongly.
    """
    blocks: Mapping[str, Callable[[Fields], Block]] = field(default_factory=dict)
    """Type -> reader of a message's block of this type. Views, which show requests to people, read
    the blocks of every dialect with these readers.
    """
    omits_thinking: Callable[[Mapping[str, object]], bool] = lambda _: False
    """Returns True if a request asks that thinking is not shown. It is called for a request that
    goes to the server untranslated, because no reader of this dialect then reads this wish.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of a dialect that are no reply of a model."""

    error_body: ErrorWriter
    """Writes the body of an error that the addon itself reports."""
    error_reply: ErrorReplyWriter
    """Translates a server's answer that is no reply, such as an error, for the client."""
    refusal: Callable[[RequestError], tuple[int, Mapping[str, object]]] | None = None
    """Returns the status and body of the answer to a request that breaks the format. The field is
    None if the answer is the usual one, written by `error_body`.
    """
    models: Callable[[bytes], Mapping[str, object] | None] | None = None
    """Takes the body of a server's list of models, and returns the list in this dialect; None if
    the body may pass as it came. The field is None if every such body may.
    """
    counted: Callable[[int], Mapping[str, object]] = lambda tokens: {"input_tokens": tokens}
    """Takes the number of a request's tokens, and returns the body of the answer that reports this
    number.
    """
    own: (
        Callable[[OwnRequest, Memory], tuple[int, Mapping[str, object] | str | None] | None] | None
    ) = None
    """Answers a request to an endpoint of `Purpose.OWN`. Returns a status and a body (JSON, a text
    or none), or None if the server has to answer. The field is None if the dialect has no such
    endpoint.
    """
    own_of_models: str = ""
    """A regular expression for the paths of `Purpose.OWN` whose answers are made from the server's
    list of models (`OwnRequest.model_entries`).
    """

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer. `kind`: the error's type in the Messages API.
        `status`: the answer's HTTP status.
        """
        return json_text.write(self.error_body(message, kind, status))


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """Names and headers by which a dialect is shown or recognised."""

    title: str
    """The dialect's name for people. It fits behind *an*: `Anthropic`."""
    reply: str = "reply"
    """Name for a reply of this dialect, for people. It fits behind *no*: `chat completion`."""
    headers: tuple[str, ...] = ()
    """Names of request headers that only this dialect has. Servers of other dialects do not get
    them.
    """
    shown_by: tuple[str, ...] = ()
    """Names of request headers by which the dialect is chosen if several dialects have the
    request's endpoint, such as `/v1/models`. One of the headers is enough.
    """
    features: str = ""
    """Name of the request header that lists the features which a client wants, such as
    `anthropic-beta`; empty if the API has none.
    """
    version: tuple[str, str] = ("", "")
    """Name and value of the request header with the API's version; both empty if the API has none.
    """
    request_id: str = ""
    """Name of the response header with the id of the request; empty if the API has none."""
    head: frozenset[str] = frozenset(("id", "object", "created", "model"))
    """Usual fields of a reply's head. A view for people does not show them; behind the reply it
    lists only the other fields of the head, such as llama.cpp's `timings`.
    """
    blocks: str = ""
    """The field of a reply's head (`Start.own`) that holds the blocks of a whole reply: `content`
    in the Messages API. Empty if the head never holds blocks.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One dialect: the wire format of an API."""

    name: str
    """The dialect's name in commands and in the names of files: `anthropic`."""
    label: Label
    """Names and headers, for people and to recognise the dialect."""
    wire: WireForm
    """The rules by which the dialect writes replies as bytes."""
    requests: Requests
    """The requests that ask a model for a reply."""
    answers: Answers
    """The answers that are no reply of a model, such as errors."""
    endpoints: tuple[Endpoint, ...] = ()
    """The endpoints, in the order in which they are compared with a request."""

    @property
    def reply(self) -> str:
        """Name for a reply of this dialect, for people. It fits behind *no*: `chat completion`."""
        return self.label.reply

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer. `kind`: the error's type in the Messages API.
        `status`: the answer's HTTP status.
        """
        return self.answers.error(message, kind, status)

    def message_in(self, raw: bytes) -> str:
        """Return the message for people in the bytes of an error answer; empty if there is none."""
        return server_message(raw)

    def __repr__(self) -> str:
        """Return the name, which is all that a test's output shows of a dialect."""
        return self.name
