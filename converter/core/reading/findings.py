"""Findings: facts that reading a reply shows beside the reply itself, for the log and for the next
reply.
"""

from dataclasses import dataclass, field

from converter.core.model.events import Text, Thinking
from converter.core.model.initial_state import InitialState
from converter.core.reading.tool_calls.calls_read import CallsRead

_UNANSWERED = "the reply was a thought and no answer, so the server was asked to continue it"
_ANSWERED = (
    "the server sent the answer as thinking: it was told as text (its reasoning parser takes what "
    "has no closer, or all of the reply, for a thought)"
)


@dataclass(slots=True)
class Beginning:
    """The place where a reply proved to begin. `correction`: it was misread. `confirmed`: it was
    only a guess and proved right. `closer_apart`: the closer that showed it stood where a model
    writes one, at a line's border or behind a sentence, and not amid its words.
    """

    correction: InitialState | None = None
    confirmed: InitialState | None = None
    closer_apart: bool = False


@dataclass(slots=True)
class Ends:
    """The ends that thoughts were given. `reasons`: `budget`, `loop` or `unanswered` for each.
    `at`: the characters of thinking before the last end; `turn`: all that the model had said by
    then, nothing if it had called tools; `added`: tokens that the end put into it.
    """

    reasons: list[str] = field(default_factory=list)
    at: int = 0
    turn: tuple[Text | Thinking, ...] = ()
    added: int = 0


@dataclass(slots=True)
class Findings:
    """Notes of all stages on one reply.

    `native`: the server sent thinking of its own. `thought`: there was any. `unclosed`: choices
    whose last thought began with a phrase, and no phrase ended it. `calls`: the tool calls that
    were read from the text. `unread`: the marks of a thought that no family reads, by the text's
    head: its opener, and the closer that most likely ends it. `marks`: the opener and the closer of
    the last thought, unless they stood in no text. `loop`: the words that a thought repeats.
    `answers_as_thinking`: the server sent the answer as thinking. `stopped`: the addon has cut the
    answer at a stop string.
    """

    native: bool = False
    thought: bool = False
    beginning: Beginning = field(default_factory=Beginning)
    unclosed: set[int] = field(default_factory=set)
    calls: CallsRead = field(default_factory=CallsRead)
    unread: tuple[str, str] | None = None
    marks: tuple[str, str] | None = None
    loop: tuple[str, ...] = ()
    ends: Ends = field(default_factory=Ends)
    answers_as_thinking: bool = False
    stopped: bool = False

    @property
    def hints(self) -> list[str]:
        """Lines that a person may want to know."""
        position = f"behind {self.ends.at} characters of thinking"
        budget = [f"a thought was ended {position}, because its budget was spent"]
        spent = budget if "budget" in self.ends.reasons else []
        answered = [_ANSWERED] if self.answers_as_thinking else []
        unanswered = [_UNANSWERED] if "unanswered" in self.ends.reasons else []
        return [*spent, *unanswered, *answered, *self.calls.hints]
