"""Findings: facts that the stages learn from a reply, for the log and for the next reply."""

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
    """The state in which a reply began, as the reply itself showed it.

    Attributes:
        correction: the state, if the reply was read as beginning in another one.
        confirmed: the state, if it was guessed and the guess was right.
        closer_apart: True if the closer that showed the state stood at the border of a line or
            behind a sentence, as models write closers. False if it stood amid other words, as in
            text about tags.
    """

    correction: InitialState | None = None
    confirmed: InitialState | None = None
    closer_apart: bool = False


@dataclass(slots=True)
class Ends:
    """The ends of thoughts that the addon ended.

    Attributes:
        reasons: `budget`, `loop` or `unanswered`, one for each ended thought.
        at: how many characters of thinking came before the last end.
        turn: the text and thinking of the reply up to the last end; empty if the reply has a tool
            call, behind which it cannot be continued.
        added: how many tokens the end adds to the turn (a sentence and marks).
        by_server: how many of the thoughts the server ends itself, because the addon tells it to.
        pending: True if the server was told to end the last thought and has not ended it yet.
    """

    reasons: list[str] = field(default_factory=list)
    at: int = 0
    turn: tuple[Text | Thinking, ...] = ()
    added: int = 0
    by_server: int = 0
    pending: bool = False

    @property
    def here(self) -> int:
        """The number of thoughts that the addon ends itself: it stops to read the server's
        reply.
        """
        return len(self.reasons) - self.by_server

    def leave(self) -> None:
        """Note that the server does not end the last thought, so that the addon must end it."""
        self.by_server, self.pending = self.by_server - self.pending, False


@dataclass(slots=True)
class Findings:
    """The notes of all stages on one reply.

    Attributes:
        native: True if the server sent thinking in a field.
        thought: True if the reply has thinking, in a field or in text.
        beginning: the state in which the reply began.
        unclosed: the choices whose last thought began with a phrase and was not ended by a phrase.
        calls: the tool calls that were read from the text.
        unread: the opener at the beginning of the text, if it looks like that of a thought and no
            family has it, and the closer that probably belongs to it.
        marks: the opener and the closer of the last thought that was read from the text.
        loop: the words that a thought repeats.
        ends: the ends of thoughts that the addon ended.
        answers_as_thinking: True if the server sent the answer as thinking.
        stopped: True if the addon has cut the answer at a stop string.
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
        """Lines about the reply for the log and the page."""
        position = f"behind {self.ends.at} characters of thinking"
        budget = [f"a thought was ended {position}, because its budget was spent"]
        spent = budget if "budget" in self.ends.reasons else []
        answered = [_ANSWERED] if self.answers_as_thinking else []
        unanswered = [_UNANSWERED] if "unanswered" in self.ends.reasons else []
        return [*spent, *unanswered, *answered, *self.calls.hints]
