"""A recording: one exchange as it was, with all that decided how its reply was rewritten."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from converter.dialects.table import Dialect, Form
from converter.exchange import read_request, settings
from converter.exchange.exchange import Exchange, begin, is_stream
from converter.exchange.read_request import ReadRequest
from converter.exchange.settings import Settings
from converter.model.initial_state import InitialState
from converter.reply.awaited_reply import AwaitedReply
from converter.reply.rewriter import Rewriter
from converter.servers.profiles import Server, by_name

REPLY_ID = "recording"
"""Names a reply to which the server gave no id."""


class RecordingError(ValueError):
    """A recording that cannot be had; its one line says why."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as they arrived, `at` so many seconds after the client's request began."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request: to the proxy, or on to the server. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply's head, and its body if it is the client's; the server's is in chunks."""

    status: int
    content_type: str
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Found:
    """Facts that the addon had found out about the server and the reply's beginning."""

    server: str = "generic"
    parses: bool = False
    begins: str = InitialState.TEXT.value
    counted: int | None = None
    prompted: bool = False


@dataclass(frozen=True)
class Recording:
    """One exchange. `asked` by the client, `sent` to the server; `answered` by the server in
    `chunks`, `got` by the client.

    `options`: those in force, by their short names. `ended`: empty when the reply is complete, else
    why it broke off. `places`: the hosts and addresses that it went through, which are in no
    recording that was redacted. `reply_id`, `created_at`: the live exchange's name and its second
    since 1970, which no file keeps.
    """

    name: str
    asked: RecordedRequest
    sent: RecordedRequest
    answered: Answered
    chunks: tuple[Chunk, ...]
    got: Answered
    options: Mapping[str, object] = field(default_factory=dict)
    found: Found = field(default_factory=Found)
    ended: str = ""
    places: frozenset[str] = frozenset()
    reply_id: str = REPLY_ID
    created_at: int = 0

    @cached_property
    def body(self) -> bytes:
        """The server's body, in one piece."""
        return b"".join(chunk.data for chunk in self.chunks)

    @cached_property
    def second(self) -> tuple[Chunk, ...]:
        """The chunks behind a thought that was ended: the reply to another request."""
        if {"budget", "loops"} & self.options.keys() and self.awaited().limits.ends:
            rewriter = self.rewriter(self.client, self.client_form)
            rewriter.pauses = True
            for count, chunk in enumerate(self.chunks, 1):
                rewriter.feed(chunk.data)
                if rewriter.stopped:
                    return self.chunks[count:]
        return ()

    @cached_property
    def settings(self) -> Settings:
        """The options, read. Raises RecordingError for one that this version does not know the
        value of.
        """
        try:
            return settings.read(self.options)
        except (ValueError, TypeError) as error:
            raise RecordingError(f"{self.name}: {error}") from None

    @property
    def server_dialect(self) -> Dialect:
        """The dialect that the server speaks."""
        return self.exchange().server_dialect

    @property
    def server_form(self) -> Form:
        """The form in which the server sent."""
        return Form.STREAM if is_stream(self.answered.content_type, self.body) else Form.WHOLE

    @property
    def client(self) -> Dialect:
        """The dialect that the client speaks."""
        return self.exchange().client

    @property
    def client_form(self) -> Form:
        """The form in which the client got the reply."""
        return Form.STREAM if is_stream(self.got.content_type, self.got.body) else Form.WHOLE

    def exchange(self) -> Exchange:
        """Return the exchange. Raises RecordingError for a request that is not ours."""
        request, at = self.asked, self.created_at
        asked = (request.method, request.path, request.headers)
        made = begin(*asked, self.settings, self.reply_id, reverse=True, created_at=at)
        if made is None:
            what = f"{request.method} {request.path}"
            raise RecordingError(f"{self.name}: {what} is no request that the addon acts on")
        home = made.client.requests.native_of
        return replace(made, at_home=True) if home and home == self.found.server else made

    def awaited(self) -> AwaitedReply:
        """Return the knowledge with which the reply began. Raises RecordingError for a request that
        cannot be read.
        """
        facts, server = self.found, by_name(self.found.server)
        request = self._request(self.exchange(), server)
        initial = InitialState(facts.begins)
        return AwaitedReply(request, server, initial, facts.counted, facts.prompted)

    def _request(self, exchange: Exchange, server: Server) -> ReadRequest:
        if exchange.endpoint.lists_models:
            return ReadRequest(exchange)
        if not (exchange.translated and exchange.endpoint.is_chat):
            return read_request.note(exchange, self.asked.body)
        try:
            return read_request.read(exchange, self.asked.body).written(server, self.found.parses)
        except ValueError as error:
            raise RecordingError(f"{self.name}: its request cannot be read: {error}") from None

    def rewriter(self, client: Dialect, form: Form) -> Rewriter:
        """Return a rewriter of the reply for a client of this dialect that wants this form.

        For the server's own dialect the form is the server's.
        """
        return self.awaited().rewriter(self.server_form, client, form)
