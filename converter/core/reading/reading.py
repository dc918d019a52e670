"""The settings and facts by which one reply is read. All are known before the reply comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.calls_read import Tools


@dataclass(frozen=True, slots=True)
class ThoughtLimits:
    """The limits at which the addon ends thoughts."""

    budget: int | None = None
    """The most tokens that all thoughts of the reply may have together; `None` for no limit."""
    loops: str = "off"
    """`end` if a thought that repeats itself is ended, `tell` if it is only reported, `off` if
    loops are not searched for.
    """
    goes_on: bool = False
    """True if the server can continue a turn. Behind a thought that was ended, the addon then asks
    the server to continue.
    """
    sentence: str = ""
    """The text that is put at the end of a thought that was ended."""
    answers: bool = False
    """True if the server is asked to continue a reply that has a thought and no answer."""
    shows: bool = False
    """True if, in a reply that has thoughts and no answer, the text of the thoughts is also sent as
    the answer.
    """
    by_server: bool = False
    """True if the server can end a thought when the addon asks it to. It then goes on with the
    answer in the same reply.
    """

    @property
    def cuts(self) -> bool:
        """True if a thought may be ended at a limit, before the model ends it."""
        return self.budget is not None or self.loops == "end"

    @property
    def ends(self) -> bool:
        """True if a thought may be ended at a limit, or a reply without an answer continued."""
        return self.cuts or self.answers

    @property
    def without_ends(self) -> "ThoughtLimits":
        """The limits for a reply whose thoughts cannot be ended and which cannot be continued:
        loops, if they are searched for, are only reported. Its thoughts may still be sent as the
        answer (`shows`).
        """
        loops = "off" if self.loops == "off" else "tell"
        return ThoughtLimits(loops=loops, shows=self.shows)


NO_LIMITS = ThoughtLimits()
"""The limits with which no thought is ended and nothing is reported."""


@dataclass(frozen=True, slots=True)
class ExpectedThoughts:
    """Facts about the thoughts of a reply."""

    limits: ThoughtLimits = NO_LIMITS
    """The limits at which the addon ends thoughts."""
    hidden: bool = False
    """True if the client gets no thinking, because it did not ask for any."""
    folds: bool = False
    """True if the client gets thinking as folded text (`folding`)."""
    task: str = ""
    """The id of the exchange in thought events (`ThoughtEventStage`); empty if none are made."""
    context: str = ""
    """The id of the conversation in thought events."""


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """Facts about the tool calls of a reply."""

    offered: bool = False
    """True if the request offers tools."""
    schemas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The JSON schemas of all offered tools, by name."""
    read: Tools | None = None
    """The tools whose calls are read from the text: those that the request allows, except tools
    that take free text. `None` if no calls are read.
    """
    forbidden: bool = False
    """True if the request allows no call."""
    ids: frozenset[str] = frozenset()
    """The ids of the calls in earlier turns, which no new call may get."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Facts about a reply that are known before it comes."""

    initial: InitialState = InitialState.TEXT
    """The state in which the reply begins, as the addon knows or guesses it."""
    model: str = ""
    """The name of the model in the client's request."""
    thoughts: ExpectedThoughts = ExpectedThoughts()  # can be shared: the class is frozen
    """Facts about the thoughts of the reply."""
    calls: ExpectedCalls = ExpectedCalls()  # can be shared: the class is frozen
    """Facts about the tool calls of the reply."""
    off: bool = False
    """True if thinking is turned off, by the request or by the user's option, so that a closer in
    the reply is text.
    """
    no_thought_due: bool = False
    """True if the server should send no thought, because a field of the request turns thinking off,
    or the request's last message ends in a closed thought. Thinking in a field may then be the
    answer.
    """
    stops: tuple[str, ...] = ()
    """The stop strings that the server gets."""
    cuts: tuple[str, ...] = ()
    """The stop strings at which the addon ends the answer, in place of the server."""
    cuts_behind: bool = False
    """True if the stop string at which the addon ends the answer stays in the answer."""
    wants_json: bool = False
    """True if the request asks for an answer in JSON."""
    grammar: Grammar = Grammar.NONE
    """The grammar to which the server constrains the answer."""
    choices: tuple[str, ...] = ()
    """All answers that the grammar allows, if the grammar is a list of answers; else empty."""
    limit: int = 0
    """The most tokens that the request allows for the reply; 0 if it sets no limit."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings and facts by which one reply is read."""

    tags: tuple[ThoughtRow, ...]
    """The families that the user chose. `family_choice.families_of` adds those for the model's
    name.
    """
    attributes: bool = True
    """True if tags with attributes (`<thinking thought="...">`) are read."""
    phrases: bool = False
    """True if phrases such as "Let me think" begin a thought."""
    chosen_start: InitialState = InitialState.AUTO
    """The state in which replies begin, if the user set one; else AUTO."""
    whole: bool = False
    """True if the reply comes whole and not as a stream, so that all its text may be held."""
    expected: Expected = Expected()
    """Facts about the reply that are known before it comes."""
    trims_blanks: bool = False
    """True if blanks before and behind a thought are removed from the answer."""
    types_values: bool = True
    """True if values of arguments are converted to the types of the tool's schema."""

    @property
    def inside(self) -> bool:
        """True if the reply is read as one that begins in a thought: because the user set it, or
        because it is expected.
        """
        return self.chosen_start.or_else(self.expected.initial).inside

    @property
    def mode(self) -> Mode:
        """The mode in which the engine begins to read the reply.

        If the user set the state, or if a thought is expected, the mode is the same for streams and
        whole replies. A whole reply that is only expected to begin as text is UNDECIDED, because
        its own marks can decide.
        """
        state = self.chosen_start.or_else(self.expected.initial)
        if state.inside:
            return Mode.THINKING if state is InitialState.THINKING else Mode.GUESSED
        if self.expected.off:
            return Mode.CLOSED
        marks_decide = self.chosen_start is InitialState.AUTO
        return Mode.UNDECIDED if self.whole and marks_decide else Mode.ANSWERING
