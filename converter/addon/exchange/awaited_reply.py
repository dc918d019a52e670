"""The third and last value of an exchange, `AwaitedReply`: the facts, known before the reply's
first byte, that decide how it is rewritten. It makes the rewriter (by `rewriting.py`), rewrites
complete responses (`Rewritten`), and stores what a reply has shown about its server.

A recording stores the same values, so that a replay rewrites its reply in the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from converter.addon.exchange.exchange import JSON, Answer
from converter.addon.exchange.option_readers import FOLDED
from converter.addon.exchange.read_request import ReadRequest
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.servers import initial_state
from converter.addon.servers.known_servers import KnownServers, Upstream
from converter.addon.servers.probes import estimate_tokens
from converter.addon.servers.profiles import GENERIC, Server
from converter.addon.servers.prompts import with_begun_turn
from converter.core.dialects import context_length
from converter.core.dialects.error_words import server_message
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.request_facts import (
    COUNTING,
    INCLUDES_STOP,
    STOP_FIELDS,
    allowed_answers,
    grammar_of,
    token_limit,
    wants_json,
)
from converter.core.dialects.server_fields import BUDGET_FIELDS
from converter.core.dialects.table import COMMON, TEXT_COMPLETIONS, Dialect, Form
from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedThoughts, ThoughtLimits
from converter.core.reading.stop_strings import STOPS_LIMIT
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text


@dataclass(frozen=True)
class AwaitedReply:
    """The request, and all other facts that decide how its reply is rewritten."""

    request: ReadRequest
    """The client's request with its body."""
    server: Server = GENERIC
    """The profile of the server for which the request was written."""
    initial: InitialState = InitialState.TEXT
    """Where the text of the reply is expected to begin, in a thought or in the answer."""
    counted_tokens: int | None = None
    """How many tokens the prompt has, if they were counted because the server refused the prompt as
    too long; else `None`.
    """
    has_think_prompt: bool = False
    """True if the addon put an instruction to think into the request."""
    has_thinking_field: bool = False
    """True if the server is known to send this model's thoughts in a field of their own."""
    sent_fields: Mapping[str, object] = field(default_factory=dict)
    """The fields of the body for the server, of which `kept_fields` may still be left out; empty if
    they are not known.
    """
    is_text_completion: bool = False
    """True if the server gets a text-completions request with the rendered prompt, and not a
    chat-completions request, so that the server does not parse the reply's calls.
    """
    thinks_first: bool = False
    """True if a thought is expected before the answer. Always False for a request without stop
    strings, because only their treatment depends on it.
    """
    has_reasoning_control: bool = False
    """True if the request to the server has the field `reasoning_control`. The addon may then ask
    the server to end the thought, by a request of its own.
    """

    @property
    def expected(self) -> Expected:
        """The facts about the reply that the stages need to read its text, such as the stop
        strings, the tools and the initial state.
        """
        return self._expected(self.limits)

    def _expected(self, limits: ThoughtLimits) -> Expected:
        """Return the facts of `expected`, but with `limits` as the limits of the thoughts. They
        differ from `self.limits` if the server sends the reply whole: no thought can then be ended.
        """
        request, exchange = self.request, self.request.exchange
        return Expected(
            initial=self.initial,
            model=request.model,
            thoughts=ExpectedThoughts(
                limits=limits,
                hidden=request.hides_thinking,
                folds=exchange.client_dialect is COMMON and exchange.settings.fields == (FOLDED,),
                task=exchange.id,
                context=request.conversation_id,
            ),
            calls=request.calls,
            off=initial_state.thinking_is_off(request.body, exchange.settings.start),
            stops=() if self.withholds_stops else request.stop_strings,
            cuts=self.cuts,
            cuts_behind=bool(request.body.get(INCLUDES_STOP)),
            wants_json=wants_json(request.body),
            grammar=grammar_of(request.body),
            no_thought_due=(
                initial_state.turns_thinking_off(request.body)
                or initial_state.ends_in_closed_thought(request.body)
            ),
            choices=allowed_answers(request.body),
            limit=token_limit(self.sent_fields or request.body),
        )

    @cached_property
    def limits(self) -> ThoughtLimits:
        """The limits (a budget of tokens, repetition) at which the addon ends the reply's thoughts,
        and its steps if the reply has no answer. If the request wants several choices (`n`), no
        thought is ended, because the addon can only end the whole reply, with all its choices.
        """
        exchange = self.request.exchange
        options = exchange.settings
        server_stops = self.request.stop_strings and not self.withholds_stops
        shows = options.unanswered == "show" and not server_stops
        if self.request.body.get("n") not in (None, 1):
            return ThoughtLimits(loops=options.loops, shows=shows).without_ends
        goes_on = bool(self.server.continues) and not exchange.is_native
        budget = self.request.thinking_limit if options.budget == "enforce" else None
        enough = options.enough if goes_on else ""
        answers = options.unanswered == "ask" and not server_stops
        ends = budget, options.loops, goes_on, enough, answers, shows
        return ThoughtLimits(*ends, by_server=self.has_reasoning_control)

    @cached_property
    def cuts(self) -> tuple[str, ...]:
        """The request's stop strings at which the addon itself cuts the answer, because some
        servers ignore stop strings. Empty if the option `think_stops` is `server`, if the request
        is native or wants several choices, or if the strings have more than `STOPS_LIMIT`
        characters together.
        """
        request = self.request
        ours = request.exchange.settings.stops == "answer" and not request.exchange.is_native
        stops = request.stop_strings if ours and request.body.get("n") in (None, 1) else ()
        return stops if sum(map(len, stops)) <= STOPS_LIMIT else ()

    @cached_property
    def withholds_stops(self) -> bool:
        """Return True if the server does not get the stop strings, because it would also stop at
        them in the thought before the answer.
        """
        return self.thinks_first and bool(self.cuts)

    @property
    def may_leave_server(self) -> bool:
        """Return True if the addon may have to stop reading in the middle of the server's reply and
        close the connection, to end a thought or the answer; also if it may have the server
        continue a reply that has no answer.
        """
        return self.limits.ends or bool(self.cuts)

    @property
    def may_ask_server_to_end(self) -> bool:
        """Return True if the addon may have to end a thought at a limit, and can ask the server by
        another request to end it (`Server.ends_thought_on_request`). Always False for a native
        request, and for a server that cannot continue a reply.
        """
        return self.limits.cuts and self.limits.goes_on and self.server.ends_thought_on_request

    @cached_property
    def is_buffered(self) -> bool:
        """Return True if the server is asked for a stream although the client wants one body: the
        addon may have to end a thought, or the answer at a stop string that the server does not
        get, and only a stream can be ended midway. Always False for a native request.
        """
        request = self.request
        whole = request.form is Form.WHOLE and not request.exchange.is_native
        return whole and (self.limits.ends or self.withholds_stops)

    @cached_property
    def kept_fields(self) -> frozenset[str]:
        """The names of the request's fields that the addon obeys itself and does not send to the
        server:

        - the fields of a budget that the addon enforces, because the server would close the thought
          with a text of its own; but not if the request is native, or if the server cannot continue
          a reply,
        - the fields of stop strings, if `withholds_stops` is True.
        """
        limits = self.limits
        keeps = limits.goes_on and limits.budget is not None
        budgets = frozenset(self.request.body.keys() & BUDGET_FIELDS if keeps else ())
        return budgets | (STOP_FIELDS if self.thinks_first and self.cuts else frozenset[str]())

    @property
    def hides_counts(self) -> bool:
        """Return True if the addon, and not the client, requested the counts of tokens at a
        stream's end (`stream_options`). Then the counts are not sent to the client. Always False
        for a translated request, because clients of other dialects always get counts.
        """
        added = COUNTING not in self.request.body and COUNTING in self.sent_fields
        return added and not self.request.exchange.is_translated

    def continued_body(
        self, body: Mapping[str, object], findings: Findings, tokens: int
    ) -> Mapping[str, object]:
        """Return the body of a second request, by which the server continues the reply behind a
        thought that the addon ended.

        `body`: the first request, as the server got it. `findings`: have the text of the reply so
        far, and the marks of its thought. `tokens`: how many tokens the model has written so far.
        """
        inside = self.request.exchange.settings.start.or_else(self.initial).inside
        marks = findings.marks
        turn = findings.ends.turn
        return with_begun_turn(body, self.server, turn, marks=marks, inside=inside, tokens=tokens)

    def rewriter(
        self, server_form: Form, client_dialect: Dialect | None = None, form: Form | None = None
    ) -> Rewriter:
        """Return a new rewriter of the reply.

        `server_form`: the form (stream or whole) in which the server sends it.
        `client_dialect` and `form`: the dialect and form to write; `None`: those of the client's
        request.
        """
        request, exchange = self.request, self.request.exchange
        # A reply that comes whole has no thought that could still be ended: it has been written
        limits = self.limits.without_ends if server_form is Form.WHOLE else self.limits
        speaker, server = client_dialect or exchange.client_dialect, exchange.server_dialect
        form = form or request.form
        # Clients of other dialects always get a count of the prompt's tokens. A client of chat
        # completions gets one if it requests counts, or if its body is made from a stream.
        requested = json_text.as_object(request.body.get(COUNTING)).get("include_usage")
        counts = speaker is not COMMON or requested or (form is Form.WHOLE and self.is_buffered)
        context = replace(
            request.reply_context,
            prompt_tokens=partial(estimate_tokens, request.body) if counts else None,
            uncounted=self.hides_counts and speaker is server,
        )
        rewriter = rewriter_of(
            exchange.settings,
            speaker,
            server_form,
            form,
            server=TEXT_COMPLETIONS if self.is_text_completion else server,
            context=context,
            expected=self._expected(limits),
        )
        if request.client_model:
            rewriter.rename_model(request.client_model)
        return rewriter

    def needs_prompt_count(self, status: int, body: bytes) -> bool:
        """Return True if the addon has to count the prompt's tokens, because the client's error
        will name them. This is so for a translated request, if the server's response (`status`,
        `body`) refuses the prompt as too long and does not give its exact length.
        """
        if not self.request.exchange.is_translated or status < 400:
            return False
        too_long = context_length.overflow_in(server_message(body))
        return too_long is not None and too_long.at_least

    def rewrite(self, status: int, content_type: str, body: bytes, at: float = 0.0) -> "Rewritten":
        """Return the client's version of a complete response of the server (`status`,
        `content_type`, `body`): a rewritten reply, a list of models or an error. `at`: when the
        response came, in seconds after the request.
        """
        exchange = self.request.exchange
        if exchange.endpoint.lists_models:
            return Rewritten(exchange.models_answer(status, body))
        if not 200 <= status < 300:
            message = server_message(body) or "no message"
            # A body that is not JSON is mostly a gateway's web page. The client may get an error in
            # its own dialect in place of the page, so the log gets the status and the message.
            page = f"the server answered with status {status}: {message}"
            notes = () if json_text.readable(body) else (page,)
            return Rewritten(exchange.error_answer(status, body, self.counted_tokens), notes=notes)
        rewriter = self.rewriter(Form.STREAM if is_stream(content_type, body) else Form.WHOLE)
        rewritten = b"".join(rewriter.whole(body, at))
        if rewriter.failure and not (rewriter.end.begun and rewriter.form is Form.STREAM):
            return Rewritten(self._error_response(rewriter, rewritten), rewriter)
        # The server's content type stays if it fits the body and the client speaks the server's
        # dialect. Else the client gets the content type of its own dialect.
        framing, kind = exchange.client_dialect.wire.framing, content_type
        if rewriter.form is Form.STREAM:
            fits, own = framing.is_named(kind), f"{framing.content_type}; charset=utf-8"
        else:
            fits, own = kind.lower().startswith(JSON), JSON
        if not fits or exchange.client_dialect is not exchange.server_dialect:
            kind = own
        unchanged = rewritten == body and kind == content_type
        return Rewritten(None if unchanged else Answer(200, kind, rewritten), rewriter)

    def collected_answer(self, rewriter: Rewriter, written: bytes) -> Answer:
        """Return the response for a client that wants one body, made from the server's stream; an
        error if the rewriter failed. `written`: the body that the rewriter has made.
        """
        failed = rewriter.failure
        return self._error_response(rewriter, written) if failed else Answer(200, JSON, written)

    def _error_response(self, rewriter: Rewriter, written: bytes) -> Answer:
        """Return the error response for a reply that could not be rewritten. `written`: the bytes
        that the rewriter returned, which are the error's body if the client wants one body.
        """
        # A server may report a prompt that is too long with the status 200. The client gets 400,
        # because clients shorten their prompt only for a 400.
        status = 400 if context_length.overflow_in(rewriter.end.reason) else rewriter.end.status
        if rewriter.form is Form.WHOLE:
            return Answer(status, JSON, written)
        dialect = self.request.exchange.client_dialect
        return Answer(status, JSON, dialect.answers.error(rewriter.failure, "api_error", status))

    def learn(self, findings: Findings, servers: KnownServers, upstream: Upstream) -> None:
        """Store in `servers` the facts that the reply has shown: that the server sends thoughts in
        a field, that the model thinks by itself, and where replies to such requests begin. Nothing
        is stored about the beginning if the user has set it (`think_start`), or if the reply is a
        text completion.
        """
        if findings.native:
            servers.learn_thinking_field(upstream, self.request.body)
        if findings.has_thinking and not self.has_think_prompt:
            servers.learn_thinking_model(upstream, self.request.body)
        begun = findings.beginning.confirmed or findings.beginning.correction
        if begun is None or self.is_text_completion or not self.request.exchange.guesses_start:
            return
        prompt_state = servers.facts(upstream, self.request.body).prompt
        if lesson := self._shown_beginning(begun, findings, prompt_state):
            servers.learn_initial_state(upstream, self.request.body, lesson)

    def _shown_beginning(
        self, begun: InitialState, findings: Findings, prompt_state: InitialState | None
    ) -> InitialState | None:
        """Return the state in which the next replies to such requests should begin, as this reply
        shows it. Return `None` if it shows nothing: the request continues a turn, a grammar
        restricts the reply, or the only evidence is a closer that may belong to the answer.

        `begun`: the state in which this reply began, as the stages found. `prompt_state`: the state
        that the end of the rendered prompt shows; `None` if unknown.

        A closer without an opener usually ends a thought, but an answer about thinking may quote
        one. So the closer shows nothing if it stands amid other words, or if the request mentions a
        closer. Otherwise the result is only a guess, `LIKELY_THINKING`, with which no answer can be
        hidden. The result is the certain `begun` only if the prompt's end opens a thought, and the
        reply has confirmed a guess that it begins in one.
        """
        body = self.request.body
        if (
            initial_state.state_by_request(initial_state.Facts(body))
            or grammar_of(body) is not Grammar.NONE
        ):
            return None
        if not begun.inside:
            return begun
        if not findings.beginning.closer_apart or initial_state.mentions_closer(body):
            return None
        sure = findings.beginning.confirmed and prompt_state and prompt_state.inside
        return begun if sure else InitialState.LIKELY_THINKING


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A complete response of the server, rewritten for the client."""

    answer: Answer | None
    """The response; `None`: the client gets the server's bytes unchanged."""
    rewriter: Rewriter | None = None
    """The rewriter that read the reply; `None` for a list of models, and for a response with the
    status of an error.
    """
    notes: tuple[str, ...] = ()
    """Lines for the log and for the flow's comment."""
