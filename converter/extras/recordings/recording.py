"""`Recording` holds an exchange as the proxy received it, with the settings that rewrote its reply;
`replayed` rewrites the reply again. Here are also its parts (`Chunk`, `RecordedReply` ...) and
`RecordingError`. `flow_file.py` reads and writes recordings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange, begin
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.settings import Settings
from converter.addon.files import FileError
from converter.addon.keep.notes import NotedFacts
from converter.addon.servers.profiles import by_name
from converter.addon.servers.unread_replies import COMPLETION_PATH
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.request_facts import stop_strings
from converter.core.dialects.server_fields import CONTROL
from converter.core.dialects.table import DIALECTS, Dialect, Form
from converter.core.model.initial_state import InitialState
from converter.core.reply.rewriter import Rewriter
from converter.core.reply.summary import Summary
from converter.core.wire import json_text

REPLY_ID = "recording"
"""The id of a replayed reply to which the server gave no id."""


class RecordingError(FileError):
    """The error for a recording that cannot be read or written; its message is one line."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of the server's reply that arrived together."""

    at_seconds: float
    """The seconds from the beginning of the client's request to the arrival of the bytes."""
    data: bytes
    """The bytes."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """The request that the client sent, or the request that the addon sent to the server."""

    method: str
    """The HTTP method, such as `POST`."""
    path: str
    """The path of the URL, such as `/v1/chat/completions`."""
    headers: Mapping[str, str]
    """Name of a header, in lower case -> the header's value."""
    body: bytes
    """The request's body, decompressed if possible; empty if there is none."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """The reply that the client received, or the reply that the server sent."""

    status: int
    """The HTTP status, such as 200."""
    content_type: str
    """The value of the header `content-type`; empty without this header."""
    body: bytes = b""
    """The body that the client received. Empty for the server's reply, whose bytes are in
    `Recording.chunks`.
    """


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A chunk from the server, and the bytes that the client gets for it."""

    chunk: Chunk
    """The chunk from the server."""
    client_bytes: bytes
    """The bytes that the client gets when the chunk has been read. Empty if the addon holds or
    drops all of the chunk.
    """


@dataclass(frozen=True, slots=True)
class Replay:
    """A reply that was rewritten again from its recording."""

    steps: tuple[ReplayStep, ...]
    """A step for each chunk of the server's reply, in their order."""
    end: bytes
    """The bytes that the client gets after the last chunk, at the reply's end."""
    notes: tuple[str, ...] = ()
    """The addon's notes on the reply, for people."""
    summary: Summary = field(default_factory=Summary)
    """The reply's counts and times."""
    broke_off: bool = False
    """True if the reply broke off, so that the client did not get `end`."""

    @property
    def body(self) -> bytes:
        """The whole body that the client gets."""
        sent = b"".join(step.client_bytes for step in self.steps)
        return sent if self.broke_off else sent + self.end


@dataclass(frozen=True)
class Recording:
    """One exchange: the requests of client and addon, the replies of server and addon, and the
    options and facts by which the reply is rewritten.
    """

    name: str
    """The recording's name."""
    request: RecordedRequest
    """The request that the client sent."""
    sent_request: RecordedRequest
    """The request that the addon sent to the server."""
    server_reply: RecordedReply
    """The status and content type of the server's reply, whose body is in `chunks`."""
    chunks: tuple[Chunk, ...]
    """The body of the server's reply, in chunks as they arrived."""
    client_reply: RecordedReply
    """The reply that the client received."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The addon's options in force: name without `think_` -> value."""
    facts: NotedFacts = field(default_factory=NotedFacts)
    """Further facts by which the reply is read, such as the name of the server's profile."""
    abort_reason: str = ""
    """The reason why the reply broke off; empty if the reply is complete."""
    hosts: frozenset[str] = frozenset()
    """The host names and addresses in the flow. The redaction hides them in all texts; a redacted
    recording has none.
    """
    flow_id: str = field(default="", compare=False)
    """The id of the flow from which the recording was read."""
    reply_id: str = REPLY_ID
    """The id that the rewritten reply gets if the server gave it none. Not kept in files: only a
    replay that repeats a live reply sets it, to the flow's id.
    """
    created_at: int = 0
    """The time that the rewritten reply gets if the server gave it none, in seconds since 1970. Not
    kept in files: it is 0, or the time of the live exchange.
    """

    @cached_property
    def body(self) -> bytes:
        """The whole body of the server's reply."""
        return b"".join(chunk.data for chunk in self.chunks)

    @cached_property
    def second_chunks(self) -> tuple[Chunk, ...]:
        """The chunks of the second reply, which the addon requested after it had ended a thought in
        the first. Empty if the addon ended no thought.
        """
        if {"budget", "loops", "unanswered"} & self.options.keys() and self.awaited().limits.ends:
            rewriter = self.rewriter(self.client, self.client_form)
            rewriter.continuation.pauses = True
            for count, chunk in enumerate(self.chunks, 1):
                rewriter.feed(chunk.data)
                if rewriter.continuation.stopped:
                    return self.chunks[count:]
        return ()

    @cached_property
    def settings(self) -> Settings:
        """The options as `Settings`. Raises RecordingError for an unknown value."""
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
        """The form of the server's reply: a stream or a whole body."""
        return Form.STREAM if is_stream(self.server_reply.content_type, self.body) else Form.WHOLE

    @property
    def client(self) -> Dialect:
        """The dialect that the client speaks."""
        return self.exchange().client_dialect

    @property
    def client_form(self) -> Form:
        """The form of the client's reply: a stream or a whole body."""
        got = self.client_reply
        return Form.STREAM if is_stream(got.content_type, got.body) else Form.WHOLE

    def exchange(self) -> Exchange:
        """Return the exchange that the client's request begins. Raises RecordingError if the addon
        does not act on such a request.
        """
        request, at = self.request, self.created_at
        head = (request.method, request.path, request.headers)
        exchange = begin(*head, self.settings, self.reply_id, reverse=True, created_at=at)
        if exchange is None:
            what = f"{request.method} {request.path}"
            raise RecordingError(f"{self.name}: {what} is no request that the addon acts on")
        native = exchange.client_dialect.requests.native_of == self.facts.server
        return replace(exchange, has_native_server=True) if native else exchange

    def awaited(self, client_dialect: Dialect | None = None) -> AwaitedReply:
        """Return the `AwaitedReply` that decides how the reply is rewritten, for a client of
        `client_dialect`, by default for the recorded client.

        Counts of tokens stay in the rewritten reply even if only the addon, and not the client, had
        requested them. Raises RecordingError if the request cannot be read.
        """
        facts, server, exchange = self.facts, by_name(self.facts.server), self.exchange()
        if exchange.endpoint.lists_models:
            request = ReadRequest(exchange)
        elif not (exchange.is_translated and exchange.endpoint.is_chat):
            request = read_request.read_in_dialect(exchange, self.request.body)
        else:
            try:
                read = read_request.read(exchange, self.request.body)
                request = read.translate(server, facts.parses)
            except ValueError as error:
                raise RecordingError(f"{self.name}: its request cannot be read: {error}") from None
        wanted = client_dialect or request.exchange.client_dialect
        exchange = replace(request.exchange, client_dialect=wanted)
        sent = json_text.object_in(self.sent_request.body)
        return AwaitedReply(
            replace(request, exchange=exchange),
            server,
            InitialState(facts.begins),
            facts.counted,
            facts.prompted,
            is_text_completion=self.sent_request.path.endswith(COMPLETION_PATH),
            thinks_first=bool(sent and request.stop_strings and not stop_strings(sent)),
            has_reasoning_control=CONTROL in sent,
        )

    def rewriter(self, client_dialect: Dialect, form: Form) -> Rewriter:
        """Return a rewriter of the reply for a client of `client_dialect`. `form`: the form, stream
        or whole, in which the client gets the reply.
        """
        return self.awaited().rewriter(self.server_form, client_dialect, form)

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects in which this reply can be written for a client: in most cases all of them.
        Only the client's dialect if the server answered at its own endpoint of that dialect, or if
        the reply is a list of models.
        """
        exchange = self.exchange()
        own = exchange.is_native or exchange.endpoint.lists_models
        return (exchange.client_dialect,) if own else DIALECTS

    def form_for(self, client_dialect: Dialect) -> Form:
        """Return the form (stream or whole) in which a client of `client_dialect` gets the reply:
        the form of the server's reply, with one exception. The recorded client's dialect gets the
        recorded form if the server speaks another dialect, or streamed only because the addon asked
        for a stream (`AwaitedReply.is_buffered`).
        """
        if client_dialect is not self.client:
            return self.server_form
        own = client_dialect is self.server_dialect and not self.awaited().is_buffered
        return self.server_form if own else self.client_form

    def replayed(self, client_dialect: Dialect | None = None) -> Replay:
        """Rewrite the reply for a client of `client_dialect`, by default for the recorded client.
        `form_for` says whether this client gets a stream or a whole body. Return the replay, which
        is cached.

        Raises RecordingError for a recording that this version cannot read.
        """
        client_dialect = client_dialect or self.client
        if client_dialect not in self._replays:
            try:
                self._replays[client_dialect] = self._new_replay(client_dialect)
            except RecordingError:
                raise
            except ValueError as error:
                raise RecordingError(f"{self.name}: {error}") from None
        return self._replays[client_dialect]

    def replayed_as_received(self) -> Replay:
        """Rewrite the reply exactly as the recorded client got it; return the replay. It differs
        from the replay of `replayed` in one case: if only the addon, and not the client, had
        requested counts of tokens, the result has no counts.
        """
        awaited = replace(self.awaited(), sent_fields=json_text.object_in(self.sent_request.body))
        return self._new_replay(self.client, awaited) if awaited.hides_counts else self.replayed()

    @cached_property
    def _replays(self) -> dict[Dialect, Replay]:
        """The replays that `replayed` has computed, by the dialect of the client."""
        return {}

    def _new_replay(self, client_dialect: Dialect, awaited: AwaitedReply | None = None) -> Replay:
        """Rewrite the reply for a client of `client_dialect`; return the replay. `awaited`: the
        `AwaitedReply` that decides how the reply is rewritten; None stands for `self.awaited()`.
        """
        broken, answered = bool(self.abort_reason), self.server_reply
        all_held = tuple(ReplayStep(chunk, b"") for chunk in self.chunks)
        if self.exchange().endpoint.lists_models or not 200 <= answered.status < 300:
            # The addon reads an error or a list of models as a whole, so the client gets all bytes
            # after the last chunk.
            rewritten = self.awaited(client_dialect).rewrite(
                answered.status, answered.content_type, self.body
            )
            end = rewritten.answer.body if rewritten.answer else self.body
            return Replay(all_held, end, rewritten.notes, broke_off=broken)
        form = self.form_for(client_dialect)
        rewriter = (awaited or self.awaited()).rewriter(self.server_form, client_dialect, form)
        if broken and Form.WHOLE in (self.server_form, form):
            return Replay(all_held, b"", broke_off=True)
        steps = tuple(
            ReplayStep(chunk, b"".join(rewriter.feed(chunk.data, chunk.at_seconds)))
            for chunk in self.chunks
        )
        end = b"".join(rewriter.close())
        notes = filter(None, dict.fromkeys([rewriter.failure, *rewriter.notes]))
        return Replay(steps, end, tuple(notes), rewriter.summary, broken)
