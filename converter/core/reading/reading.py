"""`Reading` has the settings by which one reply is read. `Expected` has the facts about the reply
that are known before it comes, also about its thoughts (`ExpectedThoughts`, `ThoughtLimits`) and
calls (`ExpectedCalls`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.calls_read import Tools


@dataclass(frozen=True, slots=True)
class ThoughtLimits:
    """The limits of a reply's thoughts, and the addon's steps at a limit or without an answer."""

    budget: int | None = None
    """The most tokens that all thoughts of the reply may have together; `None` for no limit."""
    loops: str = "off"
    """`end` if a thought that repeats itself is ended, `tell` if it is only reported, `off` if
    thoughts are not searched for repetitions.
    """
    goes_on: bool = False
    """True if the server can continue a reply that is cut off. After the addon has ended a thought
    itself, it then asks the server to continue the reply, unless the reply has a tool call.
    """
    sentence: str = ""
    """The text that is put at the end of a thought that was ended at a limit; empty for none."""
    answers: bool = False
    """True if a reply that has a thought and no answer is to be continued. The addon then asks the
    server to continue it, if the server can (`goes_on`).
    """
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
        """True if there is a limit (budget or loop) at which a thought is ended."""
        return self.budget is not None or self.loops == "end"

    @property
    def ends(self) -> bool:
        """True if a thought may be ended at a limit, or if a reply without an answer is to be
        continued (`answers`).
        """
        return self.cuts or self.answers

    @property
    def without_ends(self) -> "ThoughtLimits":
        """The limits for a reply that can neither be ended in a thought nor be continued. Loops, if
        they are searched for, are only reported. `shows` stays as it is.
        """
        loops = "off" if self.loops == "off" else "tell"
        return ThoughtLimits(loops=loops, shows=self.shows)


NO_LIMITS = ThoughtLimits()
"""The limits with which no thought is ended and nothing is reported."""


@dataclass(frozen=True, slots=True)
class ExpectedThoughts:
    """Facts about the thoughts of a reply that are known before it comes."""

    limits: ThoughtLimits = NO_LIMITS
    """The limits at which the addon ends thoughts."""
    hidden: bool = False
    """True if the client gets no thinking, because it did not ask for any and `think_unasked` is
    `hide`.
    """
    folds: bool = False
    """True if the client gets thinking as folded text (`<details>`) in the answer."""
    task: str = ""
    """The id of the exchange, which stands in each thought event of the reply. Other programs learn
    of thoughts by these events (`ThoughtEventStage`). Empty if none are made.
    """
    context: str = ""
    """The id of the conversation, which stands in each thought event of the reply beside `task`."""


@dataclass(frozen=True, slots=True)
class ExpectedCalls:
    """Facts about the tool calls of a reply that are known before it comes."""

    offered: bool = False
    """True if the request offers tools."""
    schemas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Name of an offered tool -> the JSON schema of its parameters; an empty one (`FREE_TEXT`) if
    the tool takes free text.
    """
    read: Tools | None = None
    """The tools whose calls are read from the text: those that the request allows, except tools
    that take free text. `None` if no calls are read.
    """
    forbidden: bool = False
    """True if the request offers tools but forbids calling them."""
    ids: frozenset[str] = frozenset()
    """The ids of the calls in earlier turns, which no new call may get."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Facts about a reply that are known before it comes."""

    initial: InitialState = InitialState.TEXT
    """The state in which the reply begins, as the addon knows or guesses it."""
    model: str = ""
    """The name of the model in the client's request."""
    thoughts: ExpectedThoughts = ExpectedThoughts()  # all instances can share it: it is frozen
    """Facts about the thoughts of the reply."""
    calls: ExpectedCalls = ExpectedCalls()  # all instances can share it: it is frozen
    """Facts about the tool calls of the reply."""
    off: bool = False
    """True if thinking is turned off, by the request or by the user's option. A closer in the reply
    is then text, unless it is a special token (`Mode.CLOSED`). But False if the model's template
    then writes a closer into the prompt, because the model may repeat this closer.
    """
    no_thought_due: bool = False
    """True if the server should send no thought, because a field of the request turns thinking off,
    or the request's last message ends in a closed thought. Thinking in a field may then be the
    answer.
    """
    stops: tuple[str, ...] = ()
    """The stop strings that the server gets; empty if the addon withholds them from it."""
    cuts: tuple[str, ...] = ()
    """The stop strings at which the addon ends the answer itself, because some servers ignore them,
    or stop at them in a thought. Empty if the addon does not look for them.
    """
    cuts_behind: bool = False
    """True if the stop string at which the addon ends the answer stays in the answer."""
    wants_json: bool = False
    """True if the request asks for an answer in JSON."""
    grammar: Grammar = Grammar.NONE
    """The grammar to which the server constrains the answer."""
    choices: tuple[str, ...] = ()
    """All answers that the grammar allows, if the grammar is a list of answers; else empty."""
    limit: int = 0
    """The most tokens that the request allows for the reply; 0 if it sets no limit, or asks for
    several choices.
    """


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings and facts by which one reply is read."""

    tags: tuple[ThoughtRow, ...]
    """The families that the user chose by the option `think_tags`. `family_choice.families_of` adds
    those for the model's name.
    """
    attributes: bool = True
    """True if tags with attributes (`<thinking thought="...">`) are read."""
    phrases: bool = False
    """True if phrases such as "Let me think" begin a thought."""
    chosen_start: InitialState = InitialState.AUTO
    """The state in which replies begin, if the user set one (`think_start`); else AUTO."""
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
        """True if the reply is read as beginning in a thought: because the user set this state, or
        set none and a thought is expected, certainly or as a guess.
        """
        return self.chosen_start.or_else(self.expected.initial).inside

    @property
    def mode(self) -> Mode:
        """The mode in which the engine begins to read the reply.

        A reply that is expected to begin in the answer is UNDECIDED if it comes whole, because its
        own marks can then decide; as a stream it is ANSWERING. In all other cases (the user set the
        state, a thought is expected, thinking is off) streams and whole replies get the same mode.
        """
        state = self.chosen_start.or_else(self.expected.initial)
        if state.inside:
            return Mode.THINKING if state is InitialState.THINKING else Mode.GUESSED
        if self.expected.off:
            return Mode.CLOSED
        marks_decide = self.chosen_start is InitialState.AUTO
        return Mode.UNDECIDED if self.whole and marks_decide else Mode.ANSWERING
