"""Objects in which the engine keeps what it has read of a reply, with the held text: thoughts
(`OpenThought`), the answer (`Answer`), calls (`ReadCall`, `CallLog`), and calls in an open thought
(`Draft`). `engine` decides what they get.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from converter.core.model.events import Event, Text
from converter.core.reading.engine.states import Stands
from converter.core.reading.rows import SUFFIX
from converter.core.reading.thought import Guess, Thought, ThoughtEvent
from converter.core.reading.thought_row import ThoughtRow

_NO_TAGS = ("", "")
"""No opener and no closer of an answer."""
LINE_ENDS = "\r\n"
"""The characters of a line end."""
SENTENCE_ENDS = ".!?…。！？"
"""The characters with which a sentence ends."""


class OpenThought(Thought):
    """A filter that turns the text of a reply's thoughts, one after another, into events.

    Attributes:
        row: the family of the last thought's opener; `None` if the thought had no opener.
        suffix: the suffix in the opener of `row` (`opensource` in `<think:opensource>`).
        guess: the filter that holds the end of a thought which is only guessed; else `None`.
        begun: True if an opener of a thought has come in the reply.
        emitted: True if text was emitted as thinking, and marks show that it is a thought: an
            opener or the prompt began it, or a closer ended it. Phrases alone do not show it.
        unclosed: True if a phrase began a thought that neither a phrase nor a closer has ended.
    """

    def __init__(self, choice: int, guessed: bool) -> None:
        super().__init__(choice)
        self.guess = Guess() if guessed else None
        self.row: ThoughtRow | None = None
        self.suffix = ""
        self.begun = self.emitted = self.unclosed = False

    def note_opener(self, row: ThoughtRow, suffix: str) -> None:
        """Record the opener of a thought: its family `row`, and the suffix in it."""
        self.row, self.suffix, self.begun, self.unclosed = row, suffix, True, False

    @property
    def marks(self) -> tuple[str, str] | None:
        """The opener and closer of the last thought; `None` if it had no opener, or if there was no
        thought.
        """
        row, suffix = self.row, self.suffix
        return (
            (row.open.replace(SUFFIX, suffix), row.close.replace(SUFFIX, suffix)) if row else None
        )

    def read(self, text: str) -> Sequence[ThoughtEvent]:
        """Read the next text of a thought, and return it as events. Line ends at its end are held;
        if the thought is only guessed, more of its end (`Guess`).
        """
        return self.feed(self.guess.feed(text) if self.guess else text)

    def take_guess(self) -> str:
        """Stop guessing, and return the held text, which then belongs to the answer."""
        guess, self.guess = self.guess, None
        return guess.rest if guess else ""

    def settle_guess(self) -> Sequence[ThoughtEvent]:
        """Stop guessing, because it is certain that this is a thought. Return the held text as
        thinking.
        """
        return self.feed(self.take_guess()) if self.guess else ()


@dataclass(slots=True)
class Answer:
    """The answer so far: its held text, and facts about it."""

    choice: int
    """The index of the choice to which the answer belongs."""
    held_blanks: str = ""
    """Held blanks at the text's end. They are dropped if a call follows; else they are text."""
    waiting: list[str] = field(default_factory=list)
    """The held text of an undecided reply, which is a thought if a closer follows."""
    unmatched_closer: bool = False
    """True if a closer of a thought stands in the answer, behind text, and no opener before it."""
    dropped_closer: bool = False
    """True if a closer without an opener was dropped, because it is a special token, before any
    thought was emitted.
    """
    closer_apart: bool = False
    """True if the unmatched closer stands at the beginning or end of a line, or behind a sentence,
    as closers of thoughts do.
    """
    has_text: bool = False
    """True if the answer has text that is not blank, emitted or in `waiting`."""
    _closer_left: int = -1
    """How many characters are still to be emitted up to the end of the unmatched closer. The
    character behind the closer decides `closer_apart`. -1 if there is no such closer, or if
    `closer_apart` is decided.
    """
    _tags: tuple[str, str] = _NO_TAGS
    """The opener and closer around an answer, if the opener may stand here: behind a thought. Else
    two empty texts.
    """
    _closer: str = ""
    """The closer of the answer (`</answer>`) while it counts; else empty. It counts once the opener
    (`<answer>`) has come, or if the thought came in a field, until it has come itself.
    """

    @property
    def answer_tags(self) -> tuple[str, str]:
        """The opener and the closer of the answer (`<answer>`, `</answer>`) if they count now;
        empty for one that does not.
        """
        return self._tags[0], self._closer

    def emit(self, text: str, *, waits: bool = False) -> list[Text]:
        """Return the text as an event, with the held blanks before it. If `waits`, hold all of it
        in `waiting`, and return no event.
        """
        text_and_lead = self.take_blanks() + text
        if self._closer_left >= 0:
            behind = text_and_lead[self._closer_left : self._closer_left + 1]
            self.closer_apart = self.closer_apart or (behind != "" and behind in LINE_ENDS)
            self._closer_left = -1 if behind else self._closer_left - len(text_and_lead)
        self.has_text = self.has_text or not text_and_lead.isspace()
        if waits:
            self.waiting.append(text_and_lead)
            return []
        return [Text(text_and_lead, self.choice)]

    def note_unmatched(self, before: str, closer: str) -> None:
        """Record a closer of a thought that has no opener. Only the first one is recorded, and only
        if text of the answer stands before it.

        `before`: the character before the closer. `closer`: the closer if it will be emitted as
        text; empty if it is dropped.
        """
        if self.has_text and not self.unmatched_closer:
            self.unmatched_closer = True
            self.closer_apart = before != "" and before in LINE_ENDS + SENTENCE_ENDS
            self._closer_left = len(self.held_blanks) + len(closer)

    def release_blanks(self) -> list[Text]:
        """Return the held blanks as text, because no call follows them."""
        return self.emit("") if self.held_blanks else []

    def take_blanks(self) -> str:
        """Remove and return the held blanks."""
        lead, self.held_blanks = self.held_blanks, ""
        return lead

    def take_waiting(self) -> str:
        """Remove and return the held text of an undecided reply."""
        waiting, self.waiting = self.waiting, []
        return "".join(waiting)

    def set_tags_behind(self, closer: str, tags: Mapping[str, tuple[str, str]]) -> None:
        """Set the tags of an answer (`<answer>`, `</answer>`) whose opener counts here. Directly
        behind a thought they are those that models write behind its closer, `closer`. Elsewhere
        there are none, and `closer` is empty.

        `tags`: closer of a thought -> the opener and closer of an answer behind it.
        """
        self._tags = tags.get(closer, _NO_TAGS)

    def expect_tags(self, tags: Mapping[str, tuple[str, str]]) -> None:
        """Let the tags of an answer count, because a thought has come in a field. If `tags` has
        several pairs, only the first one counts. The closer counts without an opener too, because
        the server may have dropped the opener.

        `tags`: closer of a thought -> the opener and closer of an answer behind it.
        """
        self._tags = next(iter(tags.values()), _NO_TAGS)
        self._closer = self._tags[1]

    def note_tag(self, *, opens: bool) -> None:
        """Record that a tag of the answer was dropped. If it was the opener (`opens`), the answer's
        closer counts from now on; if it was the closer, none does.
        """
        self._closer = self._tags[1] if opens else ""


@dataclass(slots=True)
class ReadCall:
    """A call that was read from the text. It was emitted, or waits in a draft."""

    name: str
    """The tool's name."""
    form: str
    """The name of the form in which the call is written."""
    whole: bool
    """True if the call was whole; False if the reply was cut off in it."""


@dataclass(slots=True)
class CallLog:
    """A log of the calls that stand in a reply's text."""

    read: list[ReadCall] = field(default_factory=list)
    """The calls that were emitted, or wait in a draft, in the order of the text."""
    cut_names: list[str] = field(default_factory=list)
    """The names of tools in calls that were cut off so early that they became text."""
    broken_name: str = ""
    """The name of the tool in a call that must not run; empty if there is none."""


@dataclass(slots=True)
class Draft:
    """Calls in an open thought, and all text behind them. They are held until it is decided whether
    the calls count. If they do not count, all of it becomes a part of the thought.

    - They count if the reply ends before the thought's closer; if another mark than this closer
      ends the thought; if the closer stands directly behind them and `stands` is ENDS_THOUGHT; or
      if the draft is too long to be held (`HELD_LIMIT`).
    - They do not count if other text stands between them and the closer; if the closer stands
      directly behind them and `stands` is IN_THOUGHT; or if the closer stands within a call.
    - They do not count if the thought goes on behind them for long (`GUESS_LIMIT`).
    """

    calls_before: int
    """How many calls of the reply stand before the draft."""
    pieces: list[str]
    """All text of the reply from the mark of the first call on."""
    length: int
    """The number of characters in `pieces`."""
    events: list[Event] = field(default_factory=list)
    """The events for the calls, and for the text and thinking between them."""
    text_behind: str = ""
    """The text behind the last call of the draft."""
    stands: Stands = Stands.ENDS_THOUGHT
    """ENDS_THOUGHT if all calls are whole, in forms with which models call and then close the
    thought (`CallRow.in_thoughts`); else IN_THOUGHT.
    """

    def feed(self, text: str) -> None:
        """Add the next piece of the reply's text to `pieces`."""
        self.pieces.append(text)
        self.length += len(text)

    def add_behind(self, text: str, resumed: bool, choice: int) -> None:
        """Add `text`, which stands behind the last call. `resumed`: True if words have come behind
        this call, in `text` or before it.

        Without words, `text` is blanks. Directly behind a call they are dropped; behind a candidate
        that was no call they are kept.
        """
        if resumed:
            self.text_behind += text
        elif self.events and isinstance(self.events[-1], Text):
            self.events.append(Text(text, choice))

    def text_until(self, left: int) -> str:
        """Return all text from the first call's mark on, without its last `left` characters."""
        return "".join(self.pieces)[: self.length - left]
