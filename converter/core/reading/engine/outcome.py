"""The thought, the answer and the calls that come out of the engine, each with its words that
wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from converter.core.model.events import Event, Text
from converter.core.reading.engine.states import Stands
from converter.core.reading.rows import SUFFIX
from converter.core.reading.thought import Guess, Thought, ThoughtEvent
from converter.core.reading.thought_row import ThoughtRow

_NONE = ("", "")
LINE_ENDS = "\r\n"
SENTENCE_ENDS = ".!?…。！？"


class OpenThought(Thought):
    """The thoughts of a reply, one after another.

    Attributes:
        row, suffix: of the last thought's opener.
        guess: the end of a thought that may prove to be the answer.
        begun: there was an opener.
        emitted: text of a thought with marks was emitted.
        unclosed: no closer has ended the last thought that a phrase began.
    """

    def __init__(self, choice: int, guessed: bool) -> None:
        super().__init__(choice)
        self.guess = Guess() if guessed else None
        self.row: ThoughtRow | None = None
        self.suffix = ""
        self.begun = self.emitted = self.unclosed = False

    def open(self, row: ThoughtRow, suffix: str) -> None:
        """Begin a thought of this row."""
        self.row, self.suffix, self.begun = row, suffix, True

    def forget(self) -> None:
        """Forget the opener, because there was no thought."""
        self.row = None

    @property
    def marks(self) -> tuple[str, str] | None:
        """The last thought's opener and its closer."""
        row, suffix = self.row, self.suffix
        return (
            (row.open.replace(SUFFIX, suffix), row.close.replace(SUFFIX, suffix)) if row else None
        )

    @property
    def closers(self) -> tuple[str, ...]:
        """The closers of the last thought that had an opener."""
        return self.row.closes if self.row else ()

    def read(self, text: str) -> Sequence[ThoughtEvent]:
        """Return the words that are decided; those of a guess wait."""
        return self.feed(self.guess.feed(text) if self.guess else text)

    def begin_guess(self) -> None:
        """From here on words are a thought only if its closer comes."""
        self.guess = Guess()

    def take_guess(self) -> str:
        """Return the words that waited: the guess is right, or the reply has ended."""
        guess, self.guess = self.guess, None
        return guess.rest if guess else ""

    def settle(self) -> Sequence[ThoughtEvent]:
        """Return the words that waited, as thinking."""
        return self.feed(self.take_guess()) if self.guess else ()


@dataclass(slots=True)
class Answer:
    """The answer's text.

    Attributes:
        lead: blanks that belong to the call behind them, if there is one.
        waiting: text that a closer would make a thought.
        spoke: text that is not blank was emitted.
        unmatched_closer: a closer without opener stands in the text.
        closer_apart: that closer stands at a line's border or behind a sentence, as a model writes
            one, and not amid other text.
        dropped_closer: a closer before any thought was left out, because it is a special token.
    """

    choice: int
    lead: str = ""
    waiting: list[str] = field(default_factory=list)
    unmatched_closer: bool = False
    dropped_closer: bool = False
    closer_apart: bool = False
    spoke: bool = False
    _closer_left: int = -1  # characters of an unmatched closer that are still to be said
    _tags: tuple[str, str] = _NONE  # of the thought directly before, blanks aside
    _frame_end: str = ""  # the answer's closer, once its opener went

    @property
    def frames(self) -> tuple[str, str]:
        """The opener and the closer of an answer that count here."""
        return self._tags[0], self._frame_end

    def say(self, text: str, *, waits: bool = False) -> list[Text]:
        """Return the text with the blanks that waited; `waits`: all of it does."""
        text_and_lead = self.take_lead() + text
        if self._closer_left >= 0:
            self._look_behind_closer(text)
        self.spoke = self.spoke or not text_and_lead.isspace()
        if waits:
            self.waiting.append(text_and_lead)
            return []
        return [Text(text_and_lead, self.choice)]

    def note_unmatched(self, before: str, closer: str) -> None:
        """Take note of a closer that stays text; at the very head it closes nothing. `before`: the
        character before it.
        """
        if self.spoke and not self.unmatched_closer:
            self.unmatched_closer = True
            self.closer_apart = before != "" and before in LINE_ENDS + SENTENCE_ENDS
            self._closer_left = len(closer)

    def _look_behind_closer(self, text: str) -> None:
        """See whether the closer ends its line. `text`: what is said, the closer or behind it."""
        behind = text[self._closer_left : self._closer_left + 1]
        self.closer_apart = self.closer_apart or (behind != "" and behind in LINE_ENDS)
        self._closer_left = -1 if behind else self._closer_left - len(text)

    def release(self) -> list[Text]:
        """Return the blanks that waited: no call follows them."""
        return self.say("") if self.lead else []

    def take_lead(self) -> str:
        """Return the blanks that waited for a call."""
        lead, self.lead = self.lead, ""
        return lead

    def take_waiting(self) -> str:
        """Return the text that waited for a closer."""
        waiting, self.waiting = self.waiting, []
        return "".join(waiting)

    def closed_by(self, closer: str, tags: Mapping[str, tuple[str, str]]) -> None:
        """Note the closer of a thought directly before; none once text comes."""
        self._tags = tags.get(closer, _NONE)

    def follow_field(self, tags: Mapping[str, tuple[str, str]]) -> None:
        """Note a thought in a field: the answer's tags count, the last one by itself."""
        self._tags = next(iter(tags.values()), _NONE)
        self._frame_end = self._tags[1]

    def frame(self, *, opens: bool) -> None:
        """Note the answer's opener or closer."""
        self._frame_end = self._tags[1] if opens else ""


@dataclass(slots=True)
class ReadCall:
    """A call that has gone out. `form`: how it stood; `done`: it was all there."""

    name: str
    form: str
    done: bool


@dataclass(slots=True)
class CallLog:
    """The calls of a reply's text. `read`: those that have gone out; `cut`: the tools of calls that
    were cut off so early that they are text; `broken`: the tool of a call that must not run.
    """

    read: list[ReadCall] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    broken: str = ""


@dataclass(slots=True)
class Draft:
    """Calls within a thought that is not closed, and all behind them: until that tells whether they
    were meant, nothing of it goes out, since no client acts before the finish.

    They are calls when the reply ends behind them, or nothing but blanks, closers and more calls
    follows in the thought; a draft when the thought goes on behind them and is closed, or goes on
    for long.

    Attributes:
        before: the number of calls before.
        written: all text since the first mark, `length` characters.
        events: the calls, if they are calls.
        behind: the text behind the last call.
        stands: `ENDS_THOUGHT` while all of them are whole, of models that are known to call in a
            thought and to close it then.
    """

    before: int
    written: list[str]
    length: int
    events: list[Event] = field(default_factory=list)
    behind: str = ""
    stands: Stands = Stands.ENDS_THOUGHT

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self.written.append(text)
        self.length += len(text)

    def add(self, text: str, resumed: bool, choice: int) -> None:
        """Take words behind a call, or blanks, which stay behind a call of no tool."""
        if resumed:
            self.behind += text
        elif self.events and isinstance(self.events[-1], Text):
            self.events.append(Text(text, choice))

    def text_until(self, left: int) -> str:
        """Return the text up to its last `left` characters."""
        return "".join(self.written)[: self.length - left]
