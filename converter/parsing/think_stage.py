"""Between decoder and encoder: each choice's text goes through parsers of its own, until the server
sends thinking itself.

events -> ThinkParser (tags) -> MarkerParser (phrases, if wanted) -> ThinkingBudget (if one is to be
kept) -> events
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from converter.events import End, Event, Failure, Finish, Text, Thinking, ThinkingEnd, ToolCall
from converter.observe.thought_events import ThoughtEvent, ThoughtEvents
from converter.parsing.budget import ThinkingBudget
from converter.parsing.phrases import PhraseParser
from converter.parsing.tag_matcher import AUTO, ThinkTags, choose, for_model, joined, tag_set
from converter.parsing.think_parser import Mode, ThinkParser, Thought
from converter.parsing.unmatched_closer import UnmatchedCloser
from converter.settings import Settings, Start

_AUTO = choose([AUTO])
_HEAD = 64
"""Characters of a reply's beginning that show whether it has an opener of its own."""
CUT = "length"
"""The finish of a reply that its limit cut off: then a thought may well lack its closer."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a reply before it comes: where it begins, its model, the budget of thinking,
    who hears of its thoughts.
    """

    begins: Start = Start.TEXT
    model: str = ""
    budget: int | None = None
    thoughts: ThoughtEvents | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read one reply. `whole`: its text is in hand before any must go out."""

    settings: Settings
    whole: bool = False
    expected: Expected = field(default_factory=Expected)

    @property
    def families(self) -> tuple[ThinkTags, ...]:
        """The families to look for; auto knows more of them when the model's name does."""
        chosen = self.settings.tags
        auto = set(_AUTO) <= set(chosen)
        return joined(chosen, for_model(self.expected.model)) if auto else chosen

    @property
    def inside(self) -> bool:
        """Tell whether the reply begins inside a thought, by what the user says, else by the best
        guess.
        """
        return self.settings.start.or_else(self.expected.begins) is Start.THINKING

    @property
    def mode(self) -> Mode:
        """Where a parser begins; a whole reply may tell by itself."""
        if self.whole and self.settings.start is Start.AUTO:
            return Mode.UNDECIDED
        return Mode.THINKING if self.inside else Mode.ANSWERING


class Reader:
    """Text of one choice in, text and thinking out. `correction`: where it did begin, when it turns out
    that it was misread.
    """

    def __init__(self, reading: Reading, choice: int) -> None:
        self.correction: Start | None = None
        self._reading = reading
        self._choice = choice
        families = reading.families
        self._parser = ThinkParser(
            tag_set(families, reading.settings.attributes), reading.mode, choice
        )
        self._stray = UnmatchedCloser(
            closer
            for family in families
            if family.bare_close_means_thinking
            for closer in family.closers
        )
        self._openers = tuple(opener for family in families for opener in family.openers)
        self._head = ""
        self._thought = False
        self._answered = False

    def feed(self, text: str) -> Sequence[Event]:
        """Return what is decided once `text` has come."""
        if len(self._head) < _HEAD:
            self._head += text[:_HEAD]
        out = self._parser.feed(text)
        self._note(out)
        return out

    def flush(self, finish: str = "") -> Sequence[Event]:
        """Return what is held. `finish`: why the choice ended, if it has."""
        undecided = not (self._thought or self._answered)
        out = self._parser.flush()
        closed = self._answered
        self._note(out)
        if finish and not closed and self._reading.inside:
            if undecided and finish == CUT and self._reading.mode is Mode.UNDECIDED:
                return self._as_thinking(out)
            opened = self._head.lstrip().startswith(
                self._openers
            )  # the server wrote what the template had, llama.cpp does
            if (
                self._thought
                and not opened
                and finish != CUT
                and self._reading.mode is Mode.THINKING
            ):
                self.correction = Start.TEXT
        return out

    def _note(self, out: Iterable[Event]) -> None:
        for event in out:
            if (
                isinstance(event, Text)
                and not self._thought
                and self._reading.mode is Mode.ANSWERING
            ):
                self._stray.feed(event.text)
                self.correction = Start.THINKING if self._stray.found else self.correction
            self._thought = self._thought or isinstance(event, Thinking)
            self._answered = self._answered or isinstance(event, Text | ThinkingEnd)

    def _as_thinking(self, out: Iterable[Event]) -> Sequence[Event]:
        """Read as a thought what was cut off before any mark, in a reply known to begin inside one."""
        thought = Thought(self._choice)
        said = [
            made for event in out if isinstance(event, Text) for made in thought.feed(event.text)
        ]
        return [*said, *thought.end()]


class ThinkStage:
    """Events in, events out. `native`: the server sent thinking of its own. `thought`: there was
    any. `told`: each thought.

    `whole`: the thoughts as they were before a budget cut them.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._readers: dict[int, Reader | None] = {}
        self._markers: dict[int, PhraseParser] = {}
        self._tagged: set[int] = set()
        budget = reading.expected.budget
        self._budget = ThinkingBudget(budget) if budget is not None else None
        self._thoughts = reading.expected.thoughts
        self.told: list[ThoughtEvent] = []
        self.whole: list[str] = []
        self.native = False
        self.thought = False
        self.correction: Start | None = None

    @property
    def withheld(self) -> int:
        """Characters of thinking beyond the budget."""
        return self._budget.cut if self._budget else 0

    @property
    def unclosed(self) -> bool:
        """Tell whether a thought that a phrase began found no phrase to end it."""
        return any(marker.unclosed for marker in self._markers.values())

    def feed(self, event: Event) -> Sequence[Event]:
        """Return what the event becomes. Held text comes out before what starts or ends something,
        not before bookkeeping.
        """
        return self._passed(self._read(event))

    def close(self) -> Sequence[Event]:
        """Return what is held."""
        out = self._passed(self._flushed(self._readers))
        rest: list[Event] = [event for marker in self._markers.values() for event in marker.flush()]
        out = [*out, *self._kept(rest)]
        self._tell(self._thoughts.close() if self._thoughts else [])
        return out

    def _tell(self, ended: list[ThoughtEvent]) -> None:
        self.told += ended
        if self._budget:
            self.whole += [str(event["thought"]) for event in ended]

    def _passed(self, events: Sequence[Event]) -> Sequence[Event]:
        if self._reading.settings.markers:
            events = [made for event in events for made in self._marked(event)]
        return self._kept(events)

    def _kept(self, events: Sequence[Event]) -> Sequence[Event]:
        for event in events:
            self.thought = self.thought or isinstance(event, Thinking)
            self._tell(self._thoughts.feed(event) if self._thoughts else [])
        return (
            [made for event in events for made in self._budget.feed(event)]
            if self._budget
            else events
        )

    def _read(self, event: Event) -> Sequence[Event]:
        match event:
            case Text(refusal=False, own=None):
                reader = self._reader(event.choice)
                return reader.feed(event.text) if reader else [event]
            case Thinking():
                self.native = True
                held = self._flushed([event.choice])
                self._readers[event.choice] = None
                return [*held, event]
            case Finish():
                return [*self._flushed([event.choice], event.reason), event]
            case Text() | ToolCall():
                return [*self._flushed([event.choice]), event]
            case End() | Failure():
                return [*self._flushed(self._readers), event]
            case _:
                return [event]

    def _flushed(self, choices: Iterable[int], finish: str = "") -> list[Event]:
        out: list[Event] = []
        for choice in choices:
            if reader := self._readers.get(choice):
                out += reader.flush(finish)
                self.correction = self.correction or reader.correction
        return out

    def _reader(self, choice: int) -> Reader | None:
        if choice not in self._readers:
            self._readers[choice] = Reader(self._reading, choice)
        return self._readers[choice]

    def _marked(self, event: Event) -> Iterator[Event]:
        """Look for phrases in what is text after the tags; what starts or ends something ends a
        marked thought.
        """
        match event:
            case Text(refusal=False, own=None) if event.choice not in self._tagged:
                yield from self._markers.setdefault(event.choice, PhraseParser(event.choice)).feed(
                    event.text
                )
            case Text() | Thinking() | ToolCall() | Finish():
                if marker := self._markers.get(event.choice):
                    yield from marker.flush()
                if isinstance(event, Thinking):
                    self._tagged.add(
                        event.choice
                    )  # a model that tags needs no guess at its phrases
                yield event
            case End() | Failure():
                for marker in self._markers.values():
                    yield from marker.flush()
                yield event
            case _:
                yield event
