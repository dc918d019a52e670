"""Settings and facts by which one reply is read, all of them known before the reply comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.calls_read import Tools

_MODES = {
    InitialState.THINKING: Mode.THINKING,
    InitialState.LIKELY_THINKING: Mode.GUESSED,
}


@dataclass(frozen=True, slots=True)
class ThoughtLimits:
    """The limits at which the addon ends thoughts.

    Attributes:
        budget: the most tokens of all thoughts of the reply; `None`: no limit.
        loops: `end` to end a thought that repeats itself, `tell` to report it, or `off`.
        goes_on: True if the server can continue a turn, so that the reply goes on behind a thought
            that was ended.
        sentence: the text that is put at the end of such a thought.
        answers: True if the server is asked to continue a reply that is a thought without answer.
        shows: True if a thought without answer is also sent as the answer.
        by_server: True if the server ends a thought when it is told to, and goes on in the same
            reply.
    """

    budget: int | None = None
    loops: str = "off"
    goes_on: bool = False
    sentence: str = ""
    answers: bool = False
    shows: bool = False
    by_server: bool = False

    @property
    def cuts(self) -> bool:
        """True if a thought may be ended before the model ends it."""
        return self.budget is not None or self.loops == "end"

    @property
    def ends(self) -> bool:
        """True if a thought may be ended, or a reply without answer continued."""
        return self.cuts or self.answers

    @property
    def without_ends(self) -> "ThoughtLimits":
        """The limits of a reply whose thoughts cannot be ended: loops are only reported."""
        loops = "off" if self.loops == "off" else "tell"
        return ThoughtLimits(loops=loops, shows=self.shows)


NO_LIMITS = ThoughtLimits()


@dataclass(frozen=True, slots=True)
class ExpectedThoughts:
    """Facts about a reply's thoughts.

    Attributes:
        limits: the limits at which thoughts are ended.
        hidden: True if the client gets no thinking, because it did not ask for any.
        folds: True if the client gets thinking as folded text (`folding`).
        task, context: the ids of the exchange and of its conversation, for thought events. Without
            `task` no thought events are made.
    """

    limits: ThoughtLimits = NO_LIMITS
    hidden: bool = False
    folds: bool = False
    task: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """Facts about a reply's tool calls.

    Attributes:
        offered: True if the request offers tools.
        schemas: the JSON schemas of all offered tools, by name.
        read: the tools whose calls are read from the text; `None`: no calls are read.
        forbidden: True if the request allows no call.
        ids: the ids of the calls in earlier turns.
    """

    offered: bool = False
    schemas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    read: Tools | None = None
    forbidden: bool = False
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expected:
    """Facts about a reply that are known before it comes.

    Attributes:
        initial: the state in which the reply begins, as the addon knows or guesses it.
        model: the name of the model in the client's request.
        thoughts, calls: facts about its thoughts and tool calls.
        off: True if thinking is turned off, so that the reply begins with the answer.
        no_thought_due: True if the request has a field that turns thinking off, or if its last
            message ends in a closed thought.
        stops: the stop strings that the server gets.
        cuts: the stop strings at which the addon cuts the answer, in place of the server.
        cuts_behind: True if the stop string itself stays in the answer.
        wants_json: True if the request asks for an answer in JSON.
        grammar: the grammar to which the server constrains the answer.
        choices: all possible answers, if the grammar allows only a few.
        limit: the most tokens of the reply; 0 if the request sets no limit.
    """

    initial: InitialState = InitialState.TEXT
    model: str = ""
    thoughts: ExpectedThoughts = ExpectedThoughts()  # can be shared: the class is frozen
    calls: ExpectedCalls = ExpectedCalls()  # can be shared: the class is frozen
    off: bool = False
    no_thought_due: bool = False
    stops: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    cuts_behind: bool = False
    wants_json: bool = False
    grammar: Grammar = Grammar.NONE
    choices: tuple[str, ...] = ()
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings and facts by which one reply is read.

    Attributes:
        tags: the families that the user chose; `family_choice.families_of` adds those of the model.
        attributes: True if tags with attributes are read.
        phrases: True if phrases such as "Let me think" begin a thought.
        chosen_start: the state in which replies begin, as the user set it.
        whole: True if the whole text is there before any of it must be sent.
        expected: facts about the reply.
        trims_blanks: True if blanks next to a thought are removed from the answer.
        types_values: True if the values of arguments get the types of the tool's schema.
    """

    tags: tuple[ThoughtRow, ...]
    attributes: bool = True
    phrases: bool = False
    chosen_start: InitialState = InitialState.AUTO
    whole: bool = False
    expected: Expected = Expected()
    trims_blanks: bool = False
    types_values: bool = True

    @property
    def inside(self) -> bool:
        """True if the reply begins in a thought: as the user set it, else as it is expected."""
        return self.chosen_start.or_else(self.expected.initial).inside

    @property
    def mode(self) -> Mode:
        """The mode in which the engine begins.

        A state that the user set or that is known counts for streams and whole replies alike. A
        whole reply that is only expected to begin as text is UNDECIDED: its own marks decide.
        """
        state = self.chosen_start.or_else(self.expected.initial)
        if state.inside:
            return _MODES[state]
        if self.expected.off:
            return Mode.CLOSED
        silent_closers = self.chosen_start is InitialState.AUTO
        return Mode.UNDECIDED if self.whole and silent_closers else Mode.ANSWERING
