"""The last value of an exchange: all that decides how a reply is rewritten, before its first byte.

A recording stores the same values, so that a replay rewrites its reply in the same way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from converter.addon.exchange.exchange import JSON, Answer
from converter.addon.exchange.option_readers import FOLDED
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.servers import initial_state
from converter.addon.servers.initial_state import (
    Facts,
    ends_in_closed_thought,
    thinking_is_off,
    turns_thinking_off,
)
from converter.addon.servers.known_servers import KnownServers, Upstream
from converter.addon.servers.probes import estimate_tokens
from converter.addon.servers.profiles import GENERIC, Server
from converter.addon.servers.prompts import begun
from converter.core.dialects import context_length
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.request_facts import (
    COUNTING,
    INCLUDES_STOP,
    STOP_FIELDS,
    choices_of,
    forbids_calls,
    grammar_of,
    token_limit,
    wants_json,
)
from converter.core.dialects.server_fields import BUDGET_FIELDS
from converter.core.dialects.table import COMMON, TEXT_COMPLETIONS, UNCOUNTED, Dialect, Form
from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedCalls, ExpectedThoughts, ThoughtLimits
from converter.core.reading.stop_strings import STOPS_LIMIT
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object


@dataclass(frozen=True)
class AwaitedReply:
    """All that decides how a reply is rewritten.

    Attributes:
        request: the request as it was read.
        server: the profile by which the request was written.
        initial: where the text of the reply is expected to begin.
        counted: tokens of a prompt that the server found too long.
        prompted: words of the addon's asked the model to think.
        parses: the server is known to take thinking out of the text.
        sent: the fields of the request that the server gets.
        as_text: the server gets a text completion behind a prompt, and no chat.
        thinks_first: a thought comes before the answer of a request with stop strings.
        by_server: the server was asked to end a thought when it is told to.
    """

    request: ReadRequest
    server: Server = GENERIC
    initial: InitialState = InitialState.TEXT
    counted: int | None = None
    prompted: bool = False
    parses: bool = False
    sent: Mapping[str, object] = field(default_factory=dict)
    as_text: bool = False
    thinks_first: bool = False
    by_server: bool = False

    @property
    def expected(self) -> Expected:
        """The facts by which the text of the reply is read."""
        return self._expected(self.limits)

    def _expected(self, limits: ThoughtLimits) -> Expected:
        request, exchange = self.request, self.request.exchange
        model = str(request.body.get("model") or "")
        # The body has no `tools` where they are described in the system turn: by an option, or
        # because the server's own reader throws calls away.
        described = request.tells_tools or request.tools is not None
        offered = described or bool(request.body.get("tools"))
        unread = request.tools is None and exchange.settings.tools != "off"
        forbidden = unread and forbids_calls(request.body)
        return Expected(
            initial=self.initial,
            model=model,
            thoughts=ExpectedThoughts(
                limits=limits,
                hidden=request.hides_thinking,
                folds=exchange.client is COMMON and exchange.settings.fields == (FOLDED,),
                task=exchange.id,
                context=request.context,
            ),
            calls=ExpectedCalls(
                offered, request.schemas, request.tools, forbidden, request.call_ids
            ),
            off=thinking_is_off(request.body, exchange.settings.start),
            stops=() if self.keeps_stops else request.stops,
            cuts=self.cuts,
            cuts_behind=bool(request.body.get(INCLUDES_STOP)),
            wants_json=wants_json(request.body),
            grammar=grammar_of(request.body),
            no_thought_due=turns_thinking_off(request.body) or ends_in_closed_thought(request.body),
            choices=choices_of(request.body),
            limit=token_limit(self.sent or request.body),
        )

    @cached_property
    def limits(self) -> ThoughtLimits:
        """The limits of the reply's thoughts. One of several choices cannot be ended by itself."""
        exchange = self.request.exchange
        options = exchange.settings
        may_go_on = options.unanswered != "tell" and (self.keeps_stops or not self.request.stops)
        shows = may_go_on and options.unanswered == "show"
        if self.request.body.get("n") not in (None, 1):
            return ThoughtLimits(loops=options.loops, shows=shows).without_ends
        goes_on = bool(self.server.continues) and not exchange.native
        budget = self.request.ceiling if options.budget == "enforce" else None
        enough = options.enough if goes_on else ""
        answers = may_go_on and options.unanswered == "ask"
        ends = budget, options.loops, goes_on, enough, answers, shows
        return ThoughtLimits(*ends, by_server=self.by_server)

    @cached_property
    def cuts(self) -> tuple[str, ...]:
        """The stop strings at which the addon cuts the answer, because some servers ignore them."""
        request = self.request
        ours = request.exchange.settings.stops == "answer" and not request.exchange.native
        stops = request.stops if ours and request.body.get("n") in (None, 1) else ()
        return stops if sum(map(len, stops)) <= STOPS_LIMIT else ()

    @cached_property
    def keeps_stops(self) -> bool:
        """Return True if the addon keeps the stop strings from the server, which would also look
        for them in the thought.
        """
        return self.thinks_first and bool(self.cuts)

    @property
    def may_leave(self) -> bool:
        """Return True if the addon may leave the server in the middle of its reply."""
        return self.limits.ends or bool(self.cuts)

    @property
    def may_control(self) -> bool:
        """Return True if the server may know how to end a thought in the middle of its reply."""
        return self.limits.cuts and self.limits.goes_on and self.server.ends_thoughts

    @cached_property
    def watched(self) -> bool:
        """Return True if the server has to send a stream although the client wants one body,
        because a thought or the answer may have to be ended.
        """
        request = self.request
        whole = request.form is Form.WHOLE and not request.exchange.native
        return whole and (self.limits.ends or self.keeps_stops)

    @cached_property
    def kept_fields(self) -> frozenset[str]:
        """The fields that the server does not get: those of a budget, because a thought that the
        server ends has other words at its end, and stop strings.
        """
        limits = self.limits
        keeps = limits.goes_on and limits.budget is not None
        budgets = frozenset(self.request.body.keys() & BUDGET_FIELDS if keeps else ())
        return budgets | (STOP_FIELDS if self.thinks_first and self.cuts else frozenset[str]())

    @property
    def counts_for_us(self) -> bool:
        """Return True if only the addon requested the counts of a stream. The client gets counts in
        frames of its own dialect only where it requests them.
        """
        added = COUNTING not in self.request.body and COUNTING in self.sent
        return added and not self.request.exchange.translated

    def continued_body(
        self, body: Mapping[str, object], findings: Findings, tokens: int
    ) -> Mapping[str, object]:
        """Return the request that continues the reply behind a thought that was ended.

        `body`: the request that went out. `tokens`: the number of tokens that the model has
        written.
        """
        inside = self.request.exchange.settings.start.or_else(self.initial).inside
        marks = findings.marks
        turn = findings.ends.turn
        return begun(body, self.server, turn, marks=marks, inside=inside, tokens=tokens)

    def rewriter(
        self, server_form: Form, client: Dialect | None = None, form: Form | None = None
    ) -> Rewriter:
        """Return the rewriter of the reply. `client` and `form`: another dialect and form than
        those that the client requested.
        """
        request, exchange = self.request, self.request.exchange
        # ending a thought saves nothing in a reply that is complete
        limits = self.limits.without_ends if server_form is Form.WHOLE else self.limits
        expected = self._expected(limits)
        speaker, server = client or exchange.client, exchange.server_dialect
        if self.counts_for_us and speaker is server:
            speaker = server = UNCOUNTED
        count = self._prompt_tokens(speaker, form)
        rewriter = rewriter_of(
            exchange.settings,
            speaker,
            server_form,
            form or request.form,
            server=TEXT_COMPLETIONS if self.as_text else server,
            context=replace(request.reply_context, prompt_tokens=count),
            expected=expected,
        )
        if request.called:
            rewriter.call_model(request.called)
        return rewriter

    def _prompt_tokens(self, client: Dialect, form: Form | None) -> Callable[[], int] | None:
        """Return the estimate of the prompt's tokens; `None` for a client that wants no counts. A
        client of chat completions wants them if it requests them, or if its one body is made of a
        stream.
        """
        request = self.request
        requested = as_object(request.body.get(COUNTING)).get("include_usage")
        whole = (form or request.form) is Form.WHOLE and self.watched
        if client in (COMMON, UNCOUNTED) and not (requested or whole):
            return None
        return partial(estimate_tokens, request.body)

    def wants_count(self, status: int, body: bytes) -> bool:
        """Return True if the server found the prompt too long and reported no exact count, which a
        client of another dialect needs.
        """
        if not self.request.exchange.translated or status < 400:
            return False
        too_long = context_length.find(server_message(body))
        return too_long is not None and too_long.bound

    def whole(self, status: int, content_type: str, body: bytes, at: float = 0.0) -> "Rewritten":
        """Return the client's form of a reply that is complete. `at`: seconds since the request."""
        exchange = self.request.exchange
        if exchange.endpoint.lists_models:
            return Rewritten(exchange.models(status, body))
        if not 200 <= status < 300:
            message = server_message(body) or "no message"
            # a body that is no JSON is a gateway's page, which the client does not get
            page = f"the server answered with status {status}: {message}"
            notes = () if json_text.readable(body) else (page,)
            return Rewritten(exchange.error(status, body, self.counted), notes=notes)
        rewriter = self.rewriter(Form.STREAM if is_stream(content_type, body) else Form.WHOLE)
        rewritten = b"".join(rewriter.whole(body, at))
        if rewriter.failure and not (rewriter.end.begun and rewriter.form is Form.STREAM):
            return Rewritten(self._failed(rewriter, rewritten), rewriter)
        streamed = rewriter.form is Form.STREAM
        kind = self._kind(content_type, streamed)
        unchanged = rewritten == body and kind == content_type
        return Rewritten(None if unchanged else Answer(200, kind, rewritten), rewriter)

    def held(self, rewriter: Rewriter, written: bytes) -> Answer:
        """Return the one body that was made of a stream."""
        failed = rewriter.failure
        return self._failed(rewriter, written) if failed else Answer(200, JSON, written)

    def _kind(self, content_type: str, streamed: bool) -> str:
        """Return the content type of the client's reply: the server's own, if it is right and the
        dialect is the same.
        """
        exchange = self.request.exchange
        framing = exchange.client.wire.framing
        named = content_type.lower().startswith(JSON)
        fits = framing.is_named(content_type) if streamed else named
        if fits and exchange.client is exchange.server_dialect:
            return content_type
        return f"{framing.content_type}; charset=utf-8" if streamed else JSON

    def _failed(self, rewriter: Rewriter, written: bytes) -> Answer:
        """Return an error in place of a reply that has no content."""
        # clients act on 400, and a server may report a prompt that is too long with 200
        status = 400 if context_length.find(rewriter.end.reason) else rewriter.end.status
        if rewriter.form is Form.WHOLE:
            return Answer(status, JSON, written)
        client = self.request.exchange.client
        return Answer(status, JSON, client.answers.error(rewriter.failure, "api_error", status))

    def learn(self, findings: Findings, servers: KnownServers, upstream: Upstream) -> None:
        """Remember the facts that the reply showed of its server and model."""
        if findings.native:
            servers.saw_thinking(upstream, self.request.body)
        if findings.thought and not self.prompted:
            servers.saw_thought(upstream, self.request.body)
        begun = findings.beginning.confirmed or findings.beginning.correction
        if begun is None or self.as_text or not self.request.exchange.guesses:
            return
        prompt_state = servers.facts(upstream, self.request.body).prompt
        if lesson := self._lesson(begun, findings, prompt_state):
            servers.correct(upstream, self.request.body, lesson)

    def _lesson(
        self, begun: InitialState, findings: Findings, prompt_state: InitialState | None
    ) -> InitialState | None:
        """Return the initial state that this reply shows for replies of its kind; `None` where it
        shows nothing, because the request continues a turn or wants an answer by a grammar.

        A closer without an opener may also stand in an answer about thinking. So it shows nothing
        in the middle of a line, or where the request itself speaks of closers. Elsewhere the lesson
        stays a guess, which costs no answer, unless the server's prompt (`prompt_state`) is known
        to open a thought. The model's name is no evidence, because an answer may quote a closer on
        a line of its own.
        """
        body = self.request.body
        if initial_state.request(Facts(body)) or grammar_of(body) is not Grammar.NONE:
            return None
        if not begun.inside:
            return begun
        if not findings.beginning.closer_apart or initial_state.speaks_of_closers(body):
            return None
        sure = findings.beginning.confirmed and prompt_state and prompt_state.inside
        return begun if sure else InitialState.LIKELY_THINKING


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A complete reply for the client. `answer` is `None` where the client gets the server's bytes
    unchanged.
    """

    answer: Answer | None
    rewriter: Rewriter | None = None
    notes: tuple[str, ...] = ()
