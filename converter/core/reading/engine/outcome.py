"""The results of the engine, with the text that waits in them: thought, answer, calls and draft."""

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
        row, suffix: the family of the last thought's opener, and the suffix in the opener.
        guess: the filter that holds the end of a guessed thought; `None` if nothing is guessed.
        begun: True if an opener has come.
        emitted: True if text of a thought was emitted that did not begin with a phrase.
        unclosed: True if the last thought began with a phrase and no phrase has ended it.
    """

    def __init__(self, choice: int, guessed: bool) -> None:
        super().__init__(choice)
        self.guess = Guess() if guessed else None
        self.row: ThoughtRow | None = None
        self.suffix = ""
        self.begun = self.emitted = self.unclosed = False

    def open(self, row: ThoughtRow, suffix: str) -> None:
        """Begin a thought of this family."""
        self.row, self.suffix, self.begun = row, suffix, True

    def forget(self) -> None:
        """Forget the last opener, because it began no thought."""
        self.row = None

    @property
    def marks(self) -> tuple[str, str] | None:
        """The opener and closer of the last thought; `None` if it had no opener."""
        row, suffix = self.row, self.suffix
        return (
            (row.open.replace(SUFFIX, suffix), row.close.replace(SUFFIX, suffix)) if row else None
        )

    @property
    def closers(self) -> tuple[str, ...]:
        """The closers of the last thought that had an opener."""
        return self.row.closes if self.row else ()

    def read(self, text: str) -> Sequence[ThoughtEvent]:
        """Read text of a thought, and return its events. The end of a guessed thought waits."""
        return self.feed(self.guess.feed(text) if self.guess else text)

    def begin_guess(self) -> None:
        """Hold the end of the thinking from here on (`Guess`)."""
        self.guess = Guess()

    def take_guess(self) -> str:
        """End the guess, and return the text that it holds."""
        guess, self.guess = self.guess, None
        return guess.rest if guess else ""

    def settle(self) -> Sequence[ThoughtEvent]:
        """End the guess, and return the text that it holds as thinking."""
        return self.feed(self.take_guess()) if self.guess else ()


@dataclass(slots=True)
class Answer:
    """The text of the answer.

    Attributes:
        lead: blanks that wait: they are dropped if a call follows, and are text if not.
        waiting: text that waits: it is a thought if a closer follows.
        has_text: True if text was emitted that is not blank.
        unmatched_closer: True if a closer without an opener is in the text.
        closer_apart: True if that closer stands at the border of a line or behind a sentence, as
            models write closers.
        dropped_closer: True if a closer before any thought was dropped, because it is a special
            token.
    """

    choice: int
    lead: str = ""
    waiting: list[str] = field(default_factory=list)
    unmatched_closer: bool = False
    dropped_closer: bool = False
    closer_apart: bool = False
    has_text: bool = False
    _closer_left: int = -1  # how many characters of an unmatched closer are not emitted yet
    _tags: tuple[str, str] = _NONE  # the answer's tags, directly behind a thought
    _closer: str = ""  # the closer of the answer's tags, if the opener was dropped

    @property
    def answer_tags(self) -> tuple[str, str]:
        """The opener and closer of the answer's tags that count here; empty for none."""
        return self._tags[0], self._closer

    def emit(self, text: str, *, waits: bool = False) -> list[Text]:
        """Return the text as an event, behind blanks that waited. If `waits`, keep it in `waiting`
        instead.
        """
        text_and_lead = self.take_lead() + text
        if self._closer_left >= 0:
            self._look_behind_closer(text)
        self.has_text = self.has_text or not text_and_lead.isspace()
        if waits:
            self.waiting.append(text_and_lead)
            return []
        return [Text(text_and_lead, self.choice)]

    def note_unmatched(self, before: str, closer: str) -> None:
        """Note a closer that stays text, unless it stands at the beginning of the answer. `before`:
        the character before the closer.
        """
        if self.has_text and not self.unmatched_closer:
            self.unmatched_closer = True
            self.closer_apart = before != "" and before in LINE_ENDS + SENTENCE_ENDS
            self._closer_left = len(closer)

    def _look_behind_closer(self, text: str) -> None:
        """Set `closer_apart` if a line end follows the closer. `text`: the next text that is
        emitted, which is the closer or stands behind it.
        """
        behind = text[self._closer_left : self._closer_left + 1]
        self.closer_apart = self.closer_apart or (behind != "" and behind in LINE_ENDS)
        self._closer_left = -1 if behind else self._closer_left - len(text)

    def release(self) -> list[Text]:
        """Return the blanks that waited as text, because no call follows."""
        return self.emit("") if self.lead else []

    def take_lead(self) -> str:
        """Return the blanks that waited, and forget them."""
        lead, self.lead = self.lead, ""
        return lead

    def take_waiting(self) -> str:
        """Return the text that waited for a closer, and forget it."""
        waiting, self.waiting = self.waiting, []
        return "".join(waiting)

    def closed_by(self, closer: str, tags: Mapping[str, tuple[str, str]]) -> None:
        """Note the closer of the thought directly before, behind which the answer's tags count; an
        empty `closer` once text comes.
        """
        self._tags = tags.get(closer, _NONE)

    def follow_field(self, tags: Mapping[str, tuple[str, str]]) -> None:
        """Note a thought in a field: the answer's tags count, and the closer also without an
        opener.
        """
        self._tags = next(iter(tags.values()), _NONE)
        self._closer = self._tags[1]

    def pass_tag(self, *, opens: bool) -> None:
        """Note that the opener (`opens`) or the closer of the answer's tags was dropped."""
        self._closer = self._tags[1] if opens else ""


@dataclass(slots=True)
class ReadCall:
    """A call that was emitted.

    Attributes:
        index: the number of the call.
        name: the tool's name.
        form: the name of the form.
        done: True if the call was whole.
    """

    name: str
    form: str
    done: bool


@dataclass(slots=True)
class CallLog:
    """The calls of a reply's text.

    Attributes:
        read: the calls that were emitted.
        cut: the tools of calls that were cut off so early that they are text.
        broken: the tool of a call that must not run; empty if there is none.
    """

    read: list[ReadCall] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    broken: str = ""


@dataclass(slots=True)
class Draft:
    """Calls in an open thought, which may be only a draft, and all text behind them. Everything is
    held until it is decided.

    - They are calls if the reply ends behind them, or if only blanks, closers and further calls
      follow.
    - They are a draft if the thought goes on behind them and is then closed, or goes on for long.

    Attributes:
        before: how many calls the reply has before them.
        written, length: all text from the first mark on, and the number of characters.
        events: the events of the calls.
        behind: the text behind the last call.
        stands: ENDS_THOUGHT if all calls are whole, in forms with which models call and then close
            the thought; else IN_THOUGHT.
    """

    before: int
    written: list[str]
    length: int
    events: list[Event] = field(default_factory=list)
    behind: str = ""
    stands: Stands = Stands.ENDS_THOUGHT

    def feed(self, text: str) -> None:
        """Add the next piece of the text."""
        self.written.append(text)
        self.length += len(text)

    def add(self, text: str, resumed: bool, choice: int) -> None:
        """Add text behind the last call. If not `resumed`, it is blanks, which are kept only behind
        text.
        """
        if resumed:
            self.behind += text
        elif self.events and isinstance(self.events[-1], Text):
            self.events.append(Text(text, choice))

    def text_until(self, left: int) -> str:
        """Return the text without its last `left` characters."""
        return "".join(self.written)[: self.length - left]
