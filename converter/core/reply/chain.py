"""The stages of a reply as a chain for each choice: events in, events out.

A stage that a reply does not need is left out of its chain. Each has `feed` and `close`, which
return lists of events; `close` gives out held events and may be called again. Which stages there
are, and their order, is a table that is handed in (`converter.core.reply.stages`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from converter.core.calls.ids import CallIds, suffix_of
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
    joined,
)
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, Reading
from converter.core.reply.thought_events import ThoughtEvent


class Stage(Protocol):
    """One step between decoder and encoder, for one choice."""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that it becomes."""

    def close(self) -> Sequence[Event]:
        """Return the held events."""

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind of event that plain text of this kind becomes, and the characters that
        make text not plain; None while this stage may do more to the text than pass it on. Plain
        text changes nothing of the answer: the stage may get such text later, and joined. Text of
        a call that the stage holds becomes a `ToolCall`.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """The things that the stages of one choice share.

    Attributes:
        thoughts: a list that gets each thought that ended.
        reply: the beginning of ids of calls in its text.
        ids: those of all calls.
    """

    reading: Reading
    index: int
    reply: str
    ids: CallIds
    findings: Findings
    thoughts: list[ThoughtEvent]

    @property
    def expected(self) -> Expected:
        """The facts of the request and the server that decide how the reply is read."""
        return self.reading.expected


type StageTable = Sequence[Callable[[Choice], Stage | None]]
"""The makers of stages, in the order in which events go through them; `None`: not wanted for this
reply.
"""


LONGEST = 1 << 16
"""Characters of a piece of text: some milliseconds. The stages look at each by regular expressions,
so that one of megabytes would let no other thread have its turn.
"""


class Stages:
    """Events in, events out, each choice through stages of its own. `findings`: the notes."""

    def __init__(
        self, table: StageTable, reading: Reading, findings: Findings | None = None
    ) -> None:
        self._table, self._reading = table, reading
        self._chains: dict[int, list[Stage]] = {}
        self._thoughts: list[ThoughtEvent] = []
        self._failed, self._open = False, set[int]()  # choices that spoke since their finish
        self._name = suffix_of(reading.expected.thoughts.task) or "0"
        self._ids = CallIds(reading.expected.calls.ids, self._name, reading.expected.model)
        self.findings = findings or Findings()

    def feed_all(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that these become; long texts go through in pieces."""
        pieces, feed = in_pieces(events), self.feed
        out = [staged for event in pieces for staged in feed(event)]
        return out if pieces is events else joined(out)

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that it becomes. The reply's end empties all stages; bookkeeping
        passes. Behind a failure nothing follows but the server's own end.
        """
        if self._failed:
            return [event] if isinstance(event, End) else []
        out = self._of(event)
        kinds = [*map(type, out)]
        if Failure not in kinds:
            return out
        self._failed = True
        return out[: kinds.index(Failure) + 1]

    def _of(self, event: Event) -> Sequence[Event]:
        match event:
            case Text() | Thinking() | ThinkingEnd() | ToolCall() | Finish():
                out = _fed(self._chain(event.choice), [event])
                is_over = out and type(out[-1]) is Finish  # that has emptied its stages
                (self._open.discard if is_over else self._open.add)(event.choice)
                return out
            case End() | Failure():
                return [*self.close(), event]
            case _:
                return [event]

    def close(self) -> list[Event]:
        """Return the held events of all choices, if anything came since the last time."""
        spoke, self._open = () if self._failed else self._open, set()
        held: list[Event] = []
        for chain in (chain for index, chain in self._chains.items() if index in spoke):
            events: Sequence[Event] = []
            for stage in chain:
                events = [*_fed([stage], events), *stage.close()]
            held += events
        return held

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind of event that plain text of the first choice becomes, and the characters
        that make text not plain; None while a stage may do more to the text than pass it on.
        """
        wakes = ""
        for stage in self._chains.get(0, ()):
            if (kinds := stage.plain(kind)) is None:
                return None
            before, kind, wakes = kind, kinds[0], wakes + kinds[1]
            if before is not ToolCall and kind is ToolCall:
                break  # it is held: no later stage gets any of it
        return (kind, wakes) if 0 in self._chains else None

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thoughts that ended since the last time."""
        thoughts = self._thoughts[:]
        self._thoughts.clear()
        return thoughts

    def _chain(self, index: int) -> list[Stage]:
        if index not in self._chains:
            shared = self._ids, self.findings, self._thoughts
            choice = Choice(self._reading, index, self._name, *shared)
            self._chains[index] = [stage for make in self._table if (stage := make(choice))]
        return self._chains[index]


def _fed(stages: Sequence[Stage], events: Sequence[Event]) -> Sequence[Event]:
    """Return the events that these become, through one stage after another."""
    for stage in stages:
        fed = map(stage.feed, events)
        events = next(fed) if len(events) == 1 else [staged for each in fed for staged in each]
    return events


def in_pieces(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with long texts cut into pieces; the same object where none is long."""
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    return [piece for event in events for piece in _pieces(event)]


def _pieces(event: Event) -> Sequence[Event]:
    if not isinstance(event, Text) or event.own or event.refusal or len(event.text) <= LONGEST:
        return [event]
    starts = range(0, len(event.text), LONGEST)
    return [Text(event.text[at : at + LONGEST], event.choice) for at in starts]
