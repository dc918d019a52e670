"""The reading of one reply's text: the user's choices, and the facts known beforehand."""

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
    """Limits of a reply's thoughts: `budget`, in tokens for all of them; `loops`: `end` a thought
    that repeats itself, `tell` of it, or `off`. `goes_on`: the server can be asked to go on behind
    a thought that was ended; `sentence`: the words that close it then. `answers`: it is asked to
    behind a thought that has no answer. `shows`: such a thought is the answer as well.
    """

    budget: int | None = None
    loops: str = "off"
    goes_on: bool = False
    sentence: str = ""
    answers: bool = False
    shows: bool = False

    @property
    def cuts(self) -> bool:
        """Return True if any thought may be ended before it is over."""
        return self.budget is not None or self.loops == "end"

    @property
    def ends(self) -> bool:
        """Return True if any thought may be ended, or gone on behind."""
        return self.cuts or self.answers

    @property
    def without_ends(self) -> "ThoughtLimits":
        """The limits of a reply of which nothing can be ended."""
        loops = "off" if self.loops == "off" else "tell"
        return ThoughtLimits(loops=loops, shows=self.shows)


NO_LIMITS = ThoughtLimits()


@dataclass(frozen=True, slots=True)
class ExpectedThoughts:
    """The facts known of a reply's thoughts before it comes.

    `limits`: what ends a thought. `hidden`: the client is to get none, because it did not ask for
    any. `folds`: it gets them as text. `task` and `context`: ids of the exchange and its
    conversation in thought events; without a task none are made.
    """

    limits: ThoughtLimits = NO_LIMITS
    hidden: bool = False
    folds: bool = False
    task: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """The facts known of a reply's tool calls before it comes.

    `offered`: the request offers tools; `schemas`: of all of these, by name; `read`: those whose
    calls are to be read from the text; `forbidden`: the request wants no call. `ids`: those of the
    calls in its history.
    """

    offered: bool = False
    schemas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    read: Tools | None = None
    forbidden: bool = False
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expected:
    """The facts known of a reply before it comes.

    `initial`: the best guess at where it begins. `model`: the name that the client asked for.
    `off`: thinking is turned off, so that no thought comes before the text; `no_thought_due`: the
    request turns it off, of a model that can be told so, or ends in a thought that is closed.
    `stops`: the stop strings that the server has; `cuts`: those at which the addon cuts the answer,
    behind them if `cuts_behind`. `wants_json`: the request asks for an answer in JSON. `grammar`:
    how the server makes the answer;
    `choices`: the answers that it can be, if these are few.
    `limit`: the tokens that the server may write; 0: the request does not say.
    """

    initial: InitialState = InitialState.TEXT
    model: str = ""
    thoughts: ExpectedThoughts = ExpectedThoughts()  # it is frozen
    calls: ExpectedCalls = ExpectedCalls()  # it is frozen
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
    """All that decides how one reply is read.

    `tags`: the families chosen; `family_choice.families_of` adds those of the model's name.
    `chosen_start`: the user's word on where replies begin. `whole`: the text is in hand before any
    must go out. `trims_blanks`: those that touch a thought are left out of the text.
    `types_values`: the values of calls get the types of the tools' schemas.
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
        """Return True if the reply begins inside a thought, by what the user says, else by the best
        guess.
        """
        return self.chosen_start.or_else(self.expected.initial).inside

    @property
    def mode(self) -> Mode:
        """The mode in which a parser begins. What is known holds for streamed and whole replies
        alike; one that is only taken to begin as text may tell otherwise by itself, when it is
        whole.
        """
        state = self.chosen_start.or_else(self.expected.initial)
        if state.inside:
            return _MODES[state]
        if self.expected.off:
            return Mode.CLOSED
        silent_closers = self.chosen_start is InitialState.AUTO
        return Mode.UNDECIDED if self.whole and silent_closers else Mode.ANSWERING
