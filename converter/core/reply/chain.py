"""The stages of a reply: for each choice a chain, which takes and returns events.

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
        """Return the events that replace `event` for the next stage."""

    def close(self) -> Sequence[Event]:
        """Return the events that the stage still holds; nothing if it is called again."""

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return what this stage does with the next text of this `kind`: the kind of event that it
        returns for the text, and the characters at which it does something else. Return None if
        the stage may do more than pass text on.

        Text without these characters is called plain. The fast path sends plain text to the client
        without this stage; the stage gets it later, as one text. A stage that returns `ToolCall`
        for text or thinking holds it as the text of a call, and nothing is sent.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """Objects that the stages of one choice share."""

    reading: Reading
    """The settings and facts by which the stages read the reply."""
    index: int
    """The index of the choice."""
    reply: str
    """A name of the reply. It stands in the ids of calls that are read from text."""
    ids: CallIds
    """Gives unique ids to the calls of all choices."""
    findings: Findings
    """The facts that the stages learn about the reply, for notes in the log and for lessons."""
    thoughts: list[ThoughtEvent]
    """The list to which a thought event is added for each ended thought."""

    @property
    def expected(self) -> Expected:
        """Facts that are known before the reply comes, such as the model's name and the limits."""
        return self.reading.expected


type StageTable = Sequence[Callable[[Choice], Stage | None]]
"""Functions, in the order of the stages, that return the stage for a choice; `None` if the reply
does not need this stage.
"""


LONGEST = 1 << 16
"""The most characters of text that a stage gets at once, which it reads in some milliseconds. A
search with a regular expression lets no other thread run meanwhile.
"""


class Stages:
    """All stages of a reply: leads each event through the chain of its choice.

    Arguments:
        before: the stages of the first reply, if this reply continues it (`continuation`). Their
            findings and their thought events are taken over.

    Attributes:
        findings: the facts that all stages have learned about the reply.
    """

    def __init__(self, table: StageTable, reading: Reading, before: "Stages | None" = None) -> None:
        self._table, self._reading = table, reading
        self._chains: dict[int, list[Stage]] = {}
        self._thoughts: list[ThoughtEvent] = before.take_thoughts() if before else []
        # `_failed`: True behind a failure, after which only an `End` is returned.
        # `_open`: the indexes of the choices that have had events since their last finish.
        self._failed, self._open = False, set[int]()
        self._name = id_suffix(reading.expected.thoughts.task) or "0"
        self._ids = CallIds(reading.expected.calls.ids, self._name, reading.expected.model)
        self.findings: Findings = before.findings if before else Findings()

    def feed_all(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that the stages return for `events`. A long text goes through the
        stages in pieces, and is returned as one text.
        """
        pieces, feed = cut_long_texts(events), self.feed
        out = [staged for event in pieces for staged in feed(event)]
        return out if pieces is events else joined(out)

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the stages return for `event`. At the end of the reply, return
        the held events too. After a failure, return an `End`, and nothing for any other event.
        """
        if self._failed:
            return [event] if isinstance(event, End) else []
        match event:
            case Text() | Thinking() | ThinkingEnd() | ToolCall() | Finish():
                out = _feed_through(self._chain(event.choice), [event])
                is_over = out and type(out[-1]) is Finish  # behind a finish, no stage holds events
                (self._open.discard if is_over else self._open.add)(event.choice)
            case End() | Failure():
                out = [*self.close(), event]
            case _:
                return [event]
        kinds = [*map(type, out)]
        if Failure not in kinds:
            return out
        self._failed = True
        return out[: kinds.index(Failure) + 1]

    def close(self) -> list[Event]:
        """Return the held events of all choices. It may be called again after further events."""
        spoke, self._open = () if self._failed else self._open, set()
        held: list[Event] = []
        for chain in (chain for index, chain in self._chains.items() if index in spoke):
            events: Sequence[Event] = []
            for stage in chain:
                events = [*_feed_through([stage], events), *stage.close()]
            held += events
        return held

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return what all stages of the first choice do together with the next text of this
        `kind`: the kind of event that the last one returns, and the characters at which any of them
        does more than pass text on. Return None if a stage may do more to any text, or if this
        choice has had no event. The fast path rewrites no text of other choices.
        """
        not_plain = ""
        for stage in self._chains.get(0, ()):
            if (kinds := stage.plain(kind)) is None:
                return None
            before, kind, not_plain = kind, kinds[0], not_plain + kinds[1]
            if before is not ToolCall and kind is ToolCall:
                break  # the stage holds the text of a call: later stages do not get it
        return (kind, not_plain) if 0 in self._chains else None

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thought events since the last call of this method."""
        thoughts = self._thoughts[:]
        self._thoughts.clear()
        return thoughts

    def _chain(self, index: int) -> list[Stage]:
        """Return the chain of the choice with this index; at its first event, build it."""
        if index not in self._chains:
            shared = self._ids, self.findings, self._thoughts
            choice = Choice(self._reading, index, self._name, *shared)
            self._chains[index] = [stage for make in self._table if (stage := make(choice))]
        return self._chains[index]


def _feed_through(stages: Sequence[Stage], events: Sequence[Event]) -> Sequence[Event]:
    """Return the events that the last of `stages` returns, if the first one gets `events`."""
    for stage in stages:
        fed = map(stage.feed, events)
        events = next(fed) if len(events) == 1 else [staged for each in fed for staged in each]
    return events


def cut_long_texts(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with each text of more than `LONGEST` characters cut into pieces, except a
    refusal and a text with `own`. Return the object `events` itself if no text is longer.
    """
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    pieces: list[Event] = []
    for event in events:
        if isinstance(event, Text) and event.text and not (event.own or event.refusal):
            starts = range(0, len(event.text), LONGEST)
            pieces += [Text(event.text[at : at + LONGEST], event.choice) for at in starts]
        else:
            pieces.append(event)
    return pieces
