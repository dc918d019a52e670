"""A dialect as everybody else knows it: one record of four, and the endpoints in it."""

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from converter.core.dialects.error_words import server_message
from converter.core.dialects.tolerant_readers import BlockReader, ItemRow
from converter.core.dialects.wire_form import Mapped, WireForm
from converter.core.model.conversation import Block, Conversation, RequestError, Turn
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.core.wire.checked import Fields


class Purpose(enum.Enum):
    """The aim of a request: a reply, the count of its tokens, its conversation made shorter, the
    list of models, or an answer that the addon gives by itself.
    """

    REPLY = enum.auto()
    COUNT = enum.auto()
    COMPACTION = enum.auto()
    MODELS = enum.auto()
    OWN = enum.auto()


@dataclass(frozen=True)
class Counterpart:
    """The endpoint of chat-completions servers that does the same as a client's endpoint.

    Attributes:
        request: writes the server's request.
        reply: writes the client's answer for a reply that took so many nanoseconds. Both raise
            RequestError.
    """

    path: str
    request: Callable[[Fields], dict[str, object]]
    reply: Callable[[Fields, int], dict[str, object]]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """Method, path and purpose; prefixes and queries are free.

    Attributes:
        dialect: the name of the dialect that its clients speak.
        method, path, prefix: regular expressions.
        kind: in the name of a recording.
        shared: its clients' headers show their dialect, which may be another one.
        counterpart: the server's endpoint that is asked in place of an own answer of the addon.
    """

    dialect: str
    purpose: Purpose
    method: str
    path: str
    kind: str = "exchange"
    prefix: str = r"(?P<prefix>[^?]*?)"
    shared: bool = False
    counterpart: Counterpart | None = None

    @cached_property
    def is_chat(self) -> bool:
        """Return True if the reply is a model's."""
        return self.purpose in (Purpose.REPLY, Purpose.COMPACTION)

    @cached_property
    def is_request(self) -> bool:
        """Return True if the body asks a model something."""
        return self.is_chat or self.purpose is Purpose.COUNT

    @cached_property
    def is_own(self) -> bool:
        """Return True if the addon answers by itself."""
        return self.purpose is Purpose.OWN

    @cached_property
    def lists_models(self) -> bool:
        """Return True if the reply is the server's list of models."""
        return self.purpose is Purpose.MODELS

    def prefix_of(self, method: str, path: str) -> str | None:
        """Return the part of a request's path, without its query, before the endpoint; None for a
        request that is to another endpoint.
        """
        slash = f"/{'?' if self.path else ''}"
        match = re.fullmatch(rf"{self.prefix}{self.path}{slash}", path)
        if not match or not re.fullmatch(self.method, method):
            return None
        return match["prefix"].rstrip("/")


type TurnOf = Callable[[object, Callable[[], tuple[Turn, bool]], object], Turn]
"""Takes a request's next message, its reader, and the facts of other messages on which the reading
depends; returns the turn, perhaps of the request before. The reader also returns True if the
message must be read in each request, because its reading makes a note.
"""


def read_anew(_message: object, reader: Callable[[], tuple[Turn, bool]], _others: object) -> Turn:
    """Return the turn of a message as if no request had been before."""
    return reader()[0]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """All beside its JSON that decides how a request is read."""

    purpose: Purpose = Purpose.REPLY  # of the endpoint
    map: Mapping[str, Mapped] = field(default_factory=dict)  # the user's field map
    memory: Memory | None = None  # of earlier replies; None: the request stands alone
    turn_of: TurnOf | None = None  # the turns that the request repeats, if any


type RequestReader = Callable[[object, RequestContext], Conversation]
"""Takes a request's JSON and its context. Raises RequestError for a break of the format."""
type ErrorWriter = Callable[[str, str, int], Mapping[str, object]]
"""Takes a message, a kind (of the Messages API) and an HTTP status; returns an error body."""
type ErrorReplyWriter = Callable[[int, bytes, int | None], tuple[int, Mapping[str, object]] | None]
"""Takes a server's status and body, and the prompt's tokens if they were counted; returns those of
the client, None for an error that may pass as it came.
"""


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """A request that needs no model.

    Attributes:
        id: a name for its result, at `created_at`, in seconds since 1970.
        served: the server's models, where the dialect asks for them.
        page: a browser wants a page.
    """

    method: str
    path: str
    body: bytes = b""
    id: str = "0"
    created_at: int = 0
    served: Sequence[dict[str, object]] = ()
    page: bool = False


SAMPLING: Mapping[str, object] = {"seed": 1, "temperature": 0.7}
"""Fields of the dialects' example requests, so that each call gives the same answer."""
QUESTION: Mapping[str, object] = {"messages": [{"role": "user", "content": "12 * 7"}]}
"""The only message of an example request."""


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests for a reply."""

    read: RequestReader
    path: str
    example: Mapping[str, object]
    """A short request, but for its model."""
    streams: bool = False
    """True if a request without `stream` wants one."""
    refers: tuple[str, ...] = ()
    """Patterns of the text of a request that refers to kept replies."""
    native_option: str = ""
    """Its name in `think_native`, which keeps a server's own endpoint."""
    native_of: str = ""
    """The server that speaks the dialect itself, so that it always gets its requests as they are.
    """
    native: Callable[[Mapping[str, object]], Mapping[str, object]] = lambda body: body
    """Returns a request as servers' own endpoints take it: the same one if it may go as it came."""
    natively_refused: Callable[[Mapping[str, object]], RequestError | None] = lambda _: None
    """Returns the error of a request that must not go to a server's own endpoint."""
    blocks: Mapping[str, Callable[[Fields], Block]] = field(default_factory=dict)
    """Readers of a message's parts, by type, because people are shown a request by them as well."""
    shown_blocks: Mapping[str, BlockReader] = field(default_factory=dict)
    """Readers for views of a request, in place of those, by the ends of types."""
    shown_items: Mapping[str, ItemRow] = field(default_factory=dict)
    """Items that are no messages, by the ends of their types, as people are shown them."""
    omits_thinking: Callable[[Mapping[str, object]], bool] = lambda _: False
    """Returns True if a request that goes on as it came wants no thinking shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers that are no model's reply."""

    error_body: ErrorWriter
    error_reply: ErrorReplyWriter
    refusal: Callable[[RequestError], tuple[int, Mapping[str, object]]] | None = None
    """Answers a request that breaks the format, where an error's message alone is not enough."""
    models: Callable[[bytes], Mapping[str, object] | None] | None = None
    """Writes a server's list of models; `None`: the list passes as it came."""
    counted: Callable[[int], Mapping[str, object]] = lambda tokens: {"input_tokens": tokens}
    """Writes the count of a request's tokens."""
    own: (
        Callable[[OwnRequest, Memory], tuple[int, Mapping[str, object] | str | None] | None] | None
    ) = None
    """Answers the dialect's endpoints of `Purpose.OWN`: with a status and a body, if there is one,
    or a text; None: the server is to answer.
    """
    own_of_models: str = ""
    """A pattern of the paths among them whose answers hold facts of the server's models."""

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer."""
        return json_text.write(self.error_body(message, kind, status))


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """Names by which people, requests and replies show the dialect."""

    title: str
    """Name for people, behind the word *an*."""
    reply: str = "reply"
    """A reply, for people, behind the word *no*."""
    headers: tuple[str, ...] = ()
    """Names of the headers that are its own."""
    shown_by: tuple[str, ...] = ()
    """Headers by which a request without a body shows its dialect."""
    features: str = ""
    """The header in which a client names the features that it wants."""
    version: tuple[str, str] = ("", "")
    """One of those headers, with a value."""
    request_id: str = ""
    """The header by which its replies name a request."""
    head: frozenset[str] = frozenset(("id", "object", "created", "model"))
    """Fields of a reply's head that views show otherwise, or not at all."""
    blocks: str = ""
    """The field of the head that holds a whole reply's blocks."""


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One wire format: all that the rest asks of it. `name`: in commands and file names."""

    name: str
    label: Label
    wire: WireForm
    requests: Requests
    answers: Answers
    endpoints: tuple[Endpoint, ...] = ()
    """In the order in which a request is held against them."""

    @property
    def reply(self) -> str:
        """A reply of it, for people, behind the word *no*."""
        return self.label.reply

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer."""
        return self.answers.error(message, kind, status)

    def message_in(self, raw: bytes) -> str:
        """Return the message for people in bytes that are no reply; empty where there is none."""
        return server_message(raw)

    def __repr__(self) -> str:
        """Return the name, as tests show it."""
        return self.name
