"""`Findings` has the facts that the stages learn from a reply, such as where it began
(`Beginning`), which thoughts the addon ended (`EndedThoughts`), and the calls in its text
(`CallsRead`). They serve the log, the continuing of the reply, and the reading of the next one.
"""

from dataclasses import dataclass, field

from converter.core.model.events import Text, Thinking
from converter.core.model.initial_state import InitialState
from converter.core.reading.tool_calls.calls_read import CallsRead

_UNANSWERED = "the reply was a thought and no answer, so the server was asked to continue it"
"""The hint for the log about a reply without an answer."""
_ANSWERED = (
    "the server sent the answer as thinking, and the client gets it as text (the server's parser "
    "of thoughts takes a reply without a closer, or all of a reply, for a thought)"
)
"""The hint for the log about an answer that came as thinking."""


@dataclass(slots=True)
class Beginning:
    """Facts from a reply itself about where it began: in the answer or in a thought."""

    correction: InitialState | None = None
    """The state in which the reply really began, if it was read as beginning in another state; else
    `None`.
    """
    confirmed: InitialState | None = None
    """The state in which the reply began, if this state was only guessed and the guess was right;
    else `None`.
    """
    closer_apart: bool = False
    """True if the closer that showed the state stood at the beginning or end of a line, or behind a
    sentence, as models write closers. False if it stood amid other words, as in text about tags, or
    if no closer came. If False, a closer does not change how the model's next reply is read.
    """


@dataclass(slots=True)
class EndedThoughts:
    """The thoughts of a reply that the addon ended, or asked the server to end."""

    reasons: list[str] = field(default_factory=list)
    """The reason for each of these thoughts: `budget` (its tokens were spent), `loop` (it repeated
    itself) or `unanswered` (the reply had no answer).
    """
    at: int = 0
    """How many characters of thinking the reply had when the last of these thoughts was ended."""
    turn: tuple[Text | Thinking, ...] = ()
    """The reply's text and thinking up to the end of the last of these thoughts, for the request
    that asks the server to continue the reply. Empty if the server cannot continue it, as when it
    has a tool call.
    """
    added: int = 0
    """An estimate of how many tokens the addon adds to `turn`: a sentence and marks."""
    by_server: int = 0
    """How many of these thoughts the server ends itself, because the addon asked it to."""
    pending: bool = False
    """True if the server was asked to end the last thought and has not done so yet."""

    @property
    def by_addon(self) -> int:
        """The number of these thoughts that the addon ended itself, by reading no more of the
        server's reply.
        """
        return len(self.reasons) - self.by_server

    def count_pending_by_addon(self) -> None:
        """Count the last thought as ended by the addon, because the server was asked to end it and
        has not done so.
        """
        self.by_server, self.pending = self.by_server - self.pending, False


@dataclass(slots=True)
class Findings:
    """The facts that all stages have learned from one reply."""

    native: bool = False
    """True if the server sent thinking in a field."""
    has_thinking: bool = False
    """True if the reply has thinking, in a field or in the text."""
    beginning: Beginning = field(default_factory=Beginning)
    """Facts from the reply about where it began: in the answer or in a thought."""
    unclosed: set[int] = field(default_factory=set)
    """The indexes of the choices in which a phrase ("Let me think") began a thought that neither a
    phrase nor a closer has ended.
    """
    calls: CallsRead = field(default_factory=CallsRead)
    """The facts about the tool calls that were read from the text."""
    unread_tag: tuple[str, str] | None = None
    """A tag at the beginning of the text, and its probable closer, if the tag seems to begin a
    thought but belongs to no family that was read; else `None`.
    """
    marks: tuple[str, str] | None = None
    """The opener and the closer of the last thought that was read from the text; `None` if there is
    no such thought, or if it had no opener.
    """
    repeated_text: tuple[str, ...] = ()
    """The words that a thought repeats without end; empty if no thought does so."""
    ends: EndedThoughts = field(default_factory=EndedThoughts)
    """Facts about the thoughts that the addon ended, or asked the server to end."""
    answers_as_thinking: bool = False
    """True if the server sent the answer as thinking, and it became text."""
    stopped: bool = False
    """True if the addon ended the answer at a stop string."""

    @property
    def hints(self) -> list[str]:
        """Lines for people, in the log and on the page: about a thought that spent its budget, a
        missing answer, an answer that came as thinking, and calls in the text. Empty for none.
        """
        position = f"behind {self.ends.at} characters of thinking"
        budget = [f"a thought was ended {position}, because its budget was spent"]
        spent = budget if "budget" in self.ends.reasons else []
        answered = [_ANSWERED] if self.answers_as_thinking else []
        unanswered = [_UNANSWERED] if "unanswered" in self.ends.reasons else []
        return [*spent, *unanswered, *answered, *self.calls.hints]
