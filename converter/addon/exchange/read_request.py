"""The second value of an exchange, `ReadRequest`: the request with its body. `read` reads a body
into a conversation, which `translate` writes for the server; `read_in_dialect` reads a request that
stays in its dialect.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from converter.addon.exchange.conversation_id import conversation_id
from converter.addon.exchange.earlier_thoughts import (
    NO_EARLIER,
    EarlierThoughts,
    HashOf,
    restore_thoughts,
    with_switches,
)
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.option_readers import FOLDED
from converter.addon.servers import initial_state, prompts, refusals
from converter.addon.servers.earlier_calls import with_object_arguments
from converter.addon.servers.known_servers import KnownServers, Upstream
from converter.addon.servers.model_names import OFF, ModelRow
from converter.addon.servers.profiles import (
    EFFORT_CEILINGS,
    Server,
    request_settings,
    thinking_fields,
)
from converter.addon.servers.unread_replies import READER, RENDERED
from converter.core.dialects.dialect import RequestContext, read_anew
from converter.core.dialects.request_facts import expected_calls, stop_strings
from converter.core.dialects.server_fields import BUDGET_FIELDS, EFFORT, TEMPLATE, with_template
from converter.core.dialects.table import Form, ReplyContext, join_texts, request_writer
from converter.core.model.conversation import (
    Conversation,
    RedactedThinking,
    ThinkingBlock,
    ThinkingMode,
    ThinkingSwitch,
    Turn,
)
from converter.core.model.memory import Memory
from converter.core.model.raw_messages import map_messages
from converter.core.model.repeated_turns import RepeatedTurns
from converter.core.reading.earlier_folds import remove_folds
from converter.core.reading.folding import without_folds
from converter.core.reading.reading import ExpectedCalls
from converter.core.wire import json_text
from converter.core.wire.half_escapes import has_half_characters
from converter.core.wire.known_json import KeptObject

_THINKING_FIELDS = frozenset((*BUDGET_FIELDS, EFFORT))
"""The fields of a request that set how much the model thinks. They are dropped if a row of
`think_models` sets the effort or the budget.
"""

SEARCHED = 1 << 17
"""The longest request, in bytes, that is searched for half a surrogate pair (a lone `\\ud83d`),
which is no valid text and which some servers refuse. The search takes some 50 microseconds. A
longer request is mended only after the server refuses it.
"""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request with its body read."""

    exchange: Exchange
    """The facts from the request's path and headers."""
    body: Mapping[str, object] = field(default_factory=dict)
    """The fields of the body that the server gets, in chat completions, or in the client's dialect
    if the request is native (`Exchange.is_native`). Empty for a translated request until
    `translate` fills it.
    """
    conversation: Conversation | None = None
    """The conversation of a translated request; `None` for a request that stays in its dialect."""
    conversation_id: str = ""
    """The id of the conversation, which is the same in each of its requests."""
    asks_to_think: bool = False
    """True if the client requests thinking: in a translated request by its dialect's switch, in any
    other by the field `reasoning_effort`. A row of `think_models` may decide it in their place.
    """
    budget_tokens: int | None = None
    """How many tokens of thinking the client, or a row of `think_models` in its place, allows;
    `None`: no limit is set.
    """
    notes: tuple[str, ...] = ()
    """Lines for the log about changes of the request."""
    calls: ExpectedCalls = ExpectedCalls()  # noqa: RUF009  # it is frozen
    """Facts about the reply's calls, from the offered tools and the calls in the history."""
    describes_tools: bool = False
    """True if the addon has put a description of the tools into the system turn, in place of the
    field `tools`.
    """
    served_model: str = ""
    """The server's name for the model, if the client uses another name; else empty."""
    client_model: str = ""
    """The client's name for the model, if the addon has replaced it by the server's name in the
    body of a request that is not translated.
    """
    omits_thinking: bool = False
    """True if the request is native and asks for a reply without the text of its thoughts."""
    body_changed: bool = False
    """True if the addon has changed the body, so that the client's bytes cannot be sent as they
    came.
    """
    effort: str = ""
    """The effort that a row of `think_models` sets; empty if none does, or if the row turns
    thinking off.
    """
    earlier_thoughts: EarlierThoughts = NO_EARLIER
    """How many earlier thoughts were put back, and where this request's reply will keep its own."""
    repeated_turns: RepeatedTurns[Turn, KeptObject] | None = field(
        default=None, compare=False, repr=False
    )
    """The parsed turns of this request and of an earlier one, so that turns which both have are
    read and translated once; `None`: no turns are kept.
    """

    @property
    def form(self) -> Form | None:
        """The form in which the client wants the reply, a stream or one body; `None` for a request
        whose body was not read, could not be read, or has no fields.
        """
        if self.conversation is None and not self.body:
            return None
        if self.conversation:
            return Form.STREAM if self.conversation.stream else Form.WHOLE
        wanted = self.body.get("stream")
        streams = self.exchange.client_dialect.requests.streams if wanted is None else wanted
        return Form.STREAM if streams else Form.WHOLE

    @property
    def requested_model(self) -> str:
        """The client's name for the model."""
        if self.conversation:
            return self.conversation.model
        return self.client_model or str(self.body.get("model") or "")

    @property
    def model(self) -> str:
        """The server's name for the model."""
        return self.served_model or self.requested_model

    def with_served_model(self, name: str) -> "ReadRequest":
        """Return the request for the model that the server calls `name`."""
        if self.conversation:
            return replace(self, served_model=name)
        renamed = replace(self, served_model=name, client_model=self.requested_model)
        return replace(renamed, body={**self.body, "model": name}, body_changed=True)

    def with_effort_of(self, row: ModelRow, server: Server, parses: bool) -> "ReadRequest":
        """Return the request with the effort and budget of `row`, a row of the option
        `think_models`, in place of the client's effort and budget. `parses`: True if the server
        sends thoughts in a field of their own.
        """
        thinks = row.effort != OFF
        effort = row.effort if thinks else ""
        mode: ThinkingMode = "enabled" if thinks else "disabled"
        switch = ThinkingSwitch(mode, row.budget, self.shows_thinking)
        wished = replace(self, asks_to_think=thinks, budget_tokens=row.budget, effort=effort)
        if self.conversation:
            conversation = replace(self.conversation, thinking=switch, effort=effort or None)
            return replace(wished, conversation=conversation)
        body = {name: value for name, value in self.body.items() if name not in _THINKING_FIELDS}
        fields = thinking_fields(server, switch, effort or None, self.requested_model, parses)
        if TEMPLATE in fields:
            body = with_template(body, fields.pop(TEMPLATE))
        return replace(wished, body={**body, **fields}, body_changed=True)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """The stop strings of the request."""
        return stop_strings(self.body)

    @property
    def thinking_limit(self) -> int | None:
        """The most thinking tokens: the client's budget, else the limit that belongs to the effort
        (`EFFORT_CEILINGS`), else the option `think_budget_tokens`. `None`: no limit. The addon
        obeys the limit only if the option `think_budget` is `enforce`.
        """
        own_effort = self.conversation.effort if self.conversation else self.body.get(EFFORT)
        effort = self.effort or own_effort
        ceilings = (self.budget_tokens, EFFORT_CEILINGS.get(str(effort)))
        ceiling = next((tokens for tokens in ceilings if tokens is not None), None)
        return self.exchange.settings.budget_tokens if ceiling is None else ceiling

    @property
    def shows_thinking(self) -> bool:
        """Return True unless the request asks for replies without the text of their thoughts."""
        thinking = self.conversation.thinking if self.conversation else None
        return not self.omits_thinking and (thinking is None or thinking.shown)

    @property
    def reply_context(self) -> ReplyContext:
        """The facts of the request and the options that the reply's encoder needs."""
        own, exchange = self.conversation and self.conversation.own, self.exchange
        settings = exchange.settings
        return ReplyContext(
            self.conversation.model if self.conversation else "",
            exchange.id,
            self.shows_thinking,
            settings.fields,
            settings.signature,
            created_at=exchange.created_at,
            own=own,
            map=settings.map,
            features=exchange.features,
            alive=exchange.sign_of_life,
        )

    @property
    def hides_thinking(self) -> bool:
        """Return True if the client gets no thinking: it requested none, and the option
        `think_unasked` is `hide`.
        """
        asks = self.asks_to_think or initial_state.asks_for_thinking(self.body)
        return self.exchange.settings.unasked == "hide" and not asks

    @property
    def removable_traits(self) -> frozenset[str]:
        """The names of the request's traits that may be removed if the server refuses the request
        because of them (`converter.addon.servers.refusals`).
        """
        options, must = self.exchange.settings, set[str]()
        if options.pictures != "text":
            must |= {refusals.PICTURES, refusals.PICTURES_ONCE}
        # If the addon does not read calls from the reply's text, the server must parse them.
        if self.calls.read is None:
            must |= {refusals.TOOL_CHOICE, READER}
        if options.tools == "off":
            must.add(RENDERED)
        return (refusals.NATIVE_TRAITS if self.exchange.is_native else refusals.REFUSABLE) - must

    def translate(
        self, server: Server, parses: bool, memory: Memory | None = None
    ) -> "ReadRequest":
        """Return a translated request with its body, a chat-completions request with only such
        fields as this server takes.

        `parses`: True if the server sends thoughts in a field of their own. `memory`: has the
        thoughts that the client dropped; `None`: no thoughts are put back. None are put back either
        if the conversation has a thought, or if `wants_earlier_thoughts` is False.
        """
        assert self.conversation
        conversation = self.conversation
        if self.served_model:
            conversation = replace(conversation, model=self.served_model)
        options, earlier = self.exchange.settings, NO_EARLIER
        history = options.history.history_for(conversation.model, server)
        order = options.history.order
        settings = request_settings(server, conversation, history.form, order, parses)
        run_of = (self.repeated_turns.translated,) if self.repeated_turns else ()
        chat, notes = request_writer.write(conversation, settings, *run_of)
        body: Mapping[str, object] = chat
        wanted = history.wanted and options.restore != "off"
        if memory and wanted and not any(map(_has_thought, conversation.turns)):
            body, earlier = restore_thoughts(chat, history, memory, join_texts, self._hash_of)
        if history.switches:
            body = with_switches(body, history)
        return self._with_body(body, notes, earlier)

    def wants_earlier_thoughts(self, server: Server | None = None) -> bool:
        """Return True if earlier thoughts that the client dropped are to be put back into requests.
        `server`: the server that gets the request; `None` if it is not known yet.
        """
        chosen = self.exchange.settings
        return chosen.restore != "off" and chosen.history.history_for(self.model, server).wanted

    def with_restored_thoughts(self, memory: Memory, server: Server | None) -> "ReadRequest":
        """Return a chat-completions request with the thoughts that its client has dropped, which
        `memory` has kept.
        """
        settings = self.exchange.settings
        history = settings.history.history_for(self.model, server)
        join = without_folds if settings.fields == (FOLDED,) else "".join
        body, earlier = restore_thoughts(self.body, history, memory, join, self._hash_of)
        if earlier.restored_thoughts:
            body = with_switches(body, history)
        notes, changed = (*self.notes, *earlier.notes), self.body_changed or body is not self.body
        return replace(self, body=body, earlier_thoughts=earlier, notes=notes, body_changed=changed)

    @property
    def _hash_of(self) -> HashOf | None:
        """The function that returns the hash of a conversation up to a message, from a cache if an
        earlier request had the same messages. `None`: there is no cache.
        """
        return self.repeated_turns.hash if self.repeated_turns else None

    def _with_body(
        self,
        body: Mapping[str, object],
        notes: Sequence[str] = (),
        earlier: EarlierThoughts = NO_EARLIER,
    ) -> "ReadRequest":
        """Return the request with `body`, and with the facts about the tools and calls in it. If
        the option `think_tools` is `told`, the system turn of the new body describes the tools,
        except in a native request. `notes` are added to the request's own, and so are those of
        `earlier`, which becomes `earlier_thoughts`.
        """
        settings = self.exchange.settings
        calls = expected_calls(body)
        if settings.tools == "off":
            calls = replace(calls, read=None, forbidden=False)
        tells = settings.tools == "told" and not self.exchange.is_native
        rewritten = prompts.describe_tools(body) if tells else None
        return replace(
            self,
            body=rewritten or body,
            calls=calls,
            notes=(*self.notes, *notes, *(() if earlier is NO_EARLIER else earlier.notes)),
            describes_tools=rewritten is not None,
            body_changed=self.body_changed or rewritten is not None,
            earlier_thoughts=earlier,
        )

    def with_prompt(self, servers: KnownServers, upstream: Upstream) -> Mapping[str, object] | None:
        """Return the body with an instruction to think in its system turn. Return `None` if no
        instruction is added:

        - The client does not request thinking, or the option `think_prompt` is `off`.
        - The request is native.
        - The model thinks by itself, or a system turn has the tag `<thinking>` already.
        - The body has no list of messages.
        """
        wanted = self.asks_to_think and self.exchange.settings.prompt != "off"
        if not wanted or self.exchange.is_native or servers.thinks(upstream, self.body):
            return None
        return prompts.ask_to_think(self.body, self.budget_tokens)


def _has_thought(turn: Turn) -> bool:
    """Return True if a turn has a thought. A thinking block without text does not count: a client
    has such a block if it had requested replies without the text of thoughts.
    """
    return any(
        isinstance(block, RedactedThinking) or (isinstance(block, ThinkingBlock) and block.text)
        for block in turn.blocks
    )


type Repeats = Callable[[bytes], tuple[object, RepeatedTurns[Turn, KeptObject] | None]]
"""Takes a request's body. Returns its JSON value, and a cache that has the turns which the body
repeats from an earlier request; `None` in place of the cache if there can be none. Raises
UnreadableError.
"""


def read_in_dialect(exchange: Exchange, body: bytes, repeats: Repeats | None = None) -> ReadRequest:
    """Return a request that is not translated: one of chat completions, or a native one, for which
    the server has an endpoint of the client's dialect. Faults in its body that servers refuse are
    mended, such as a call whose arguments are no JSON object. If the option `think_fields` is
    `text`, folded thoughts are removed from earlier turns.

    `ReadRequest.body` is empty if the bytes are no JSON object. `repeats`: parses the body, but not
    the turns that it repeats from an earlier request; `None`: all of the body is parsed. Raises
    RequestError for a native request that the server would answer wrongly.
    """
    try:
        value, repeated = repeats(body) if repeats else (json_text.read(body), None)
    except json_text.UnreadableError:
        return ReadRequest(exchange)
    fields = json_text.as_object(value)
    budgets = (value for name in BUDGET_FIELDS if type(value := fields.get(name)) is int)
    requests = exchange.client_dialect.requests
    if exchange.is_native:
        mended = requests.native(fields)
    else:
        mend = with_object_arguments
        mended = map_messages(fields, partial(repeated.mended, mend=mend) if repeated else mend)
    if exchange.settings.fields == (FOLDED,):
        mended = remove_folds(mended)
    return ReadRequest(
        exchange,
        conversation_id=conversation_id(fields),
        asks_to_think=fields.get(EFFORT) not in (None, "none"),
        budget_tokens=next(budgets, None),
        omits_thinking=exchange.is_native and requests.omits_thinking(fields),
        body_changed=mended is not fields or (len(body) <= SEARCHED and has_half_characters(body)),
        repeated_turns=repeated,
    )._with_body(mended)


def read(
    exchange: Exchange,
    body: bytes,
    memory: Memory | None = None,
    repeats: Repeats | None = None,
) -> ReadRequest:
    """Return a request that will be translated, with its conversation.

    `memory`: has earlier replies to which the request may refer by their ids. `repeats`: parses the
    body, but not the turns that it repeats from an earlier request; `None`: all of the body is
    parsed. Raises RequestError or UnreadableError for a body that breaks the dialect's format.
    """
    value, repeated = repeats(body) if repeats else (json_text.read(body), None)
    around = RequestContext(
        exchange.endpoint.purpose,
        exchange.settings.map,
        memory,
        repeated.read if repeated else read_anew,
    )
    conversation = exchange.client_dialect.requests.read(value, around)
    thinking = conversation.thinking
    return ReadRequest(
        exchange,
        conversation=conversation,
        repeated_turns=repeated,
        conversation_id=conversation_id(json_text.as_object(value)),
        asks_to_think=thinking is not None and thinking.mode in ("enabled", "adaptive"),
        budget_tokens=thinking.budget if thinking else None,
        notes=conversation.notes,
    )
