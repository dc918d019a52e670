"""The stages of a reply: a chain of them for each choice. Events go in and events come out.

A chain lacks the stages that a reply does not need. The table of all stages, in their order, is
`converter.core.reply.stages.STAGES`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from converter.core.calls.ids import CallIds, id_suffix
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
    """A step between decoder and encoder, for one choice."""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that take the event's place."""

    def close(self) -> Sequence[Event]:
        """Return the held events. It may be called again, and then returns nothing."""

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind of event that plain text of this `kind` becomes, and the characters that
        make a text not plain. Return None while this stage may do more to text than pass it on.

        The fast path sends plain text without this stage; the stage gets it later, joined. Text of
        a call that the stage holds becomes a `ToolCall`.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """Objects that the stages of one choice share.

    Attributes:
        reply: a part of the ids of calls that are read from text.
        ids: gives unique ids to the calls of all choices.
        thoughts: a list that gets a thought event for each ended thought.
    """

    reading: Reading
    index: int
    reply: str
    ids: CallIds
    findings: Findings
    thoughts: list[ThoughtEvent]

    @property
    def expected(self) -> Expected:
        """Facts about the reply that are known before it comes."""
        return self.reading.expected


type StageTable = Sequence[Callable[[Choice], Stage | None]]
"""Functions that make the stages, in their order. A function returns `None` if the reply does not
need its stage.
"""


LONGEST = 1 << 16
"""How many characters of text a stage gets at once, which takes some milliseconds. The stages
search text with regular expressions, which let no other thread run meanwhile.
"""


class Stages:
    """Takes events and returns events; each choice has its own chain. `findings`: the notes of all
    stages.

    `before`: the stages of the reply that this one continues, whose findings and thoughts go on.
    """

    def __init__(self, table: StageTable, reading: Reading, before: "Stages | None" = None) -> None:
        self._table, self._reading = table, reading
        self._chains: dict[int, list[Stage]] = {}
        self._thoughts: list[ThoughtEvent] = before.take_thoughts() if before else []
        self._failed, self._open = False, set[int]()  # choices with events since their finish
        self._name = id_suffix(reading.expected.thoughts.task) or "0"
        self._ids = CallIds(reading.expected.calls.ids, self._name, reading.expected.model)
        self.findings: Findings = before.findings if before else Findings()

    def feed_all(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that take the place of these. Long texts go through the stages in
        pieces.
        """
        pieces, feed = in_pieces(events), self.feed
        out = [staged for event in pieces for staged in feed(event)]
        return out if pieces is events else joined(out)

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that take the event's place. The end of the reply empties all stages.
        After a failure only the server's own end is returned.
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
                is_over = out and type(out[-1]) is Finish  # the finish has emptied the stages
                (self._open.discard if is_over else self._open.add)(event.choice)
                return out
            case End() | Failure():
                return [*self.close(), event]
            case _:
                return [event]

    def close(self) -> list[Event]:
        """Return the held events of all choices. It may be called again after further events."""
        spoke, self._open = () if self._failed else self._open, set()
        held: list[Event] = []
        for chain in (chain for index, chain in self._chains.items() if index in spoke):
            events: Sequence[Event] = []
            for stage in chain:
                events = [*_fed([stage], events), *stage.close()]
            held += events
        return held

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the result of `Stage.plain` for the whole chain of the first choice."""
        not_plain = ""
        for stage in self._chains.get(0, ()):
            if (kinds := stage.plain(kind)) is None:
                return None
            before, kind, not_plain = kind, kinds[0], not_plain + kinds[1]
            if before is not ToolCall and kind is ToolCall:
                break  # the stage holds the text, so later stages do not get it
        return (kind, not_plain) if 0 in self._chains else None

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thought events since the last call of this method."""
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
    """Return the events that take the place of these, after all these stages."""
    for stage in stages:
        fed = map(stage.feed, events)
        events = next(fed) if len(events) == 1 else [staged for each in fed for staged in each]
    return events


def in_pieces(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events with long texts cut into pieces; the same object if no text is long."""
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    return [piece for event in events for piece in _pieces(event)]


def _pieces(event: Event) -> Sequence[Event]:
    if not isinstance(event, Text) or event.own or event.refusal or len(event.text) <= LONGEST:
        return [event]
    starts = range(0, len(event.text), LONGEST)
    return [Text(event.text[at : at + LONGEST], event.choice) for at in starts]
