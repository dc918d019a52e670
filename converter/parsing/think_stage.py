"""The first stage: tags in the text of one choice become thinking, until the server sends thinking
itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall, WordKind
from converter.model.initial_state import InitialState
from converter.parsing.findings import Findings
from converter.parsing.reading import Reading
from converter.parsing.repeated_thought import RepeatedThought
from converter.parsing.think_parser import ThinkParser
from converter.parsing.think_states import Mode
from converter.parsing.unmatched_closer import UnmatchedCloser

_HEAD = 64
"""Characters of a reply's beginning that show whether it has an opener of its own."""
CUT = "length"
"""The finish of a reply that its limit cut off: then a thought may well lack its closer."""


class ThinkStage:
    """Events of one choice in, events out. Held text comes out before what starts or ends
    something, not before bookkeeping.
    """

    def __init__(self, reading: Reading, choice: int, findings: Findings) -> None:
        self._reader: _ChoiceReader | None = _ChoiceReader(reading, choice)
        self._choice = choice
        self._reading = reading
        self._again = RepeatedThought(())
        self._findings = findings

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case Text(refusal=False, own=None) if self._reader:
                return self._noted(self._reader.feed(event.text))
            case Thinking():
                held = self._hear(event)
                self._findings.native = self._findings.thought = True
                return [*held, event]
            case Text(refusal=False, own=None):
                text = self._again.feed(event.text)
                return [event if text == event.text else replace(event, text=text)] if text else []
            case Finish():
                return [*self._flushed(event.reason), event]
            case Text() | ToolCall():
                return [*self.close(), event]
            case _:
                return [event]

    def close(self) -> Sequence[Event]:
        """Return the held words."""
        return self._flushed("")

    def _hear(self, event: Thinking) -> Sequence[Event]:
        """Read no tags from here on; return the held words."""
        held: Sequence[Event] = []
        if self._reader:
            held = self.close()
            self._again = RepeatedThought(self._reading.families, self._reader.unsaid)
            self._reader = None
        self._again.hear(event.text)
        return held

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return what plain words become: the server's own thinking goes through, but encoders hold
        the line breaks at a thought's end.
        """
        if self._reader is None:
            waits = self._again.listens if kind is Thinking else not self._again.over
            return None if waits else (kind, "\r\n" if kind is Thinking else "")
        return self._reader.plain() if kind is Text else None

    def _flushed(self, finish: str) -> Sequence[Event]:
        if self._reader is None:
            held = self._again.close()
            return [Text(held, self._choice)] if held else []
        out = self._noted(self._reader.flush(finish))
        self._findings.correction = self._findings.correction or self._reader.correction
        self._findings.confirmed = self._findings.confirmed or self._reader.confirmed
        return out

    def _noted(self, out: Sequence[Event]) -> Sequence[Event]:
        thought = any(isinstance(event, Thinking) for event in out)
        self._findings.thought = self._findings.thought or thought
        if thought and self._reader:
            self._findings.marks = self._reader.marks
        return out


class _ChoiceReader:
    """Text of one choice in, text and thinking out. `correction`: where it did begin, when it turns
    out that it was misread; `confirmed`: the same, when a guess turns out right.
    """

    def __init__(self, reading: Reading, choice: int) -> None:
        self.correction: InitialState | None = None
        self.confirmed: InitialState | None = None
        self._reading = reading
        self._answering = reading.mode in (Mode.ANSWERING, Mode.CLOSED)
        tags = reading.tag_set
        self._parser = ThinkParser(tags, reading.mode, choice, reading.expected.wants_json)
        self._parser.tells_late_closers = reading.expected.tools is not None
        self._unmatched = UnmatchedCloser(tags.bare_closers)
        self._openers = tags.openers
        self._head = ""
        self._thought = False
        self._answered = False

    def feed(self, text: str) -> Sequence[Event]:
        """Return the words that are decided once `text` has come."""
        if len(self._head) < _HEAD:
            self._head += text[:_HEAD]
        thought = self._thought
        out = self._parser.feed(text)
        self._note(out)
        if self._parser.unmatched_closer and not thought and self._answering:
            self.correction = InitialState.THINKING
        return out

    @property
    def marks(self) -> tuple[str, str] | None:
        """Return the marks of the last thought."""
        return self._parser.thought_marks

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The closers of a thought that is open and has said nothing."""
        return self._parser.unsaid

    def plain(self) -> tuple[WordKind, str] | None:
        """Return plain words as the parser reads them."""
        return self._parser.plain()

    def flush(self, finish: str = "") -> Sequence[Event]:
        """Return the held words. `finish`: why the choice ended, if it has."""
        closed = self._answered
        out = self._parser.flush(finish)
        self._note(out)
        # the server wrote the template's opener, as llama.cpp does
        opened = self._head.lstrip().startswith(self._openers)
        spoke = self._thought or self._answered
        if self._reading.inside and finish and spoke and not opened:
            if closed and self._reading.mode is Mode.GUESSED:
                self.confirmed = InitialState.THINKING
            elif not closed and finish != CUT:
                self.correction = InitialState.TEXT
        return out

    def _note(self, out: Iterable[Event]) -> None:
        for event in out:
            if isinstance(event, Text) and not self._thought and self._answering:
                self._unmatched.feed(event.text)
                self.correction = (
                    InitialState.THINKING if self._unmatched.found else self.correction
                )
            self._thought = self._thought or isinstance(event, Thinking)
            self._answered = self._answered or isinstance(event, (Text, ThinkingEnd))
