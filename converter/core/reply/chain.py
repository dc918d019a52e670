"""`Stages` feeds the text, thoughts, calls and finishes of a reply through the chain of stages of
their choice; other events pass. `Stage` is the interface of a stage; `stages` lists all stages.

A stage takes an event and returns the events for the next stage. Each choice has a chain of its
own, with the stages that the reply needs.
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
    """A step between decoder and encoder, such as one that reads tags. Each choice has its own."""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that replace `event` for the next stage."""

    def close(self) -> Sequence[Event]:
        """Return the events that the stage still holds; nothing if it is called again."""

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return two facts about the next text of this `kind`: the kind of event that this stage
        returns for it, and the characters at which the stage does something else. Return None if
        the stage may do something else at any character.

        Text without these characters is called plain. The fast path sends plain text to the client
        without this stage; the stage gets it later, as one text. If the kind is `ToolCall` for text
        or thinking, the stage holds the text, because it may be a call, and nothing is sent.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """The values from which the stages of one choice are made: facts about the reply, and objects
    that the stages share.
    """

    reading: Reading
    """The settings and facts by which the stages read the reply."""
    index: int
    """The index of the choice: 0, unless the request asks for several replies (`n`)."""
    reply: str
    """A text by which the ids of calls in this reply differ from those of other replies."""
    ids: CallIds
    """The object that gives unique ids to the calls of all choices."""
    findings: Findings
    """The facts that the stages learn about the reply, for notes in the log and for lessons."""
    thoughts: list[ThoughtEvent]
    """The list to which a thought event is added for each ended thought."""

    @property
    def expected(self) -> Expected:
        """Facts that are known before the reply comes, such as the model's name and the limits."""
        return self.reading.expected


type StageTable = Sequence[Callable[[Choice], Stage | None]]
"""A function for each stage, in the order of the stages. It returns the stage for a choice; `None`
if the reply does not need this stage.
"""


LONGEST = 1 << 16
"""The most characters of the answer's text that a stage gets at once. It reads them in some
milliseconds. During a longer search with a regular expression, all other threads would have to
wait.
"""


class Stages:
    """All stages of a reply. Each text, thought, call and finish goes through the stages of its
    choice, one after another. At the end of the reply, all stages give out what they hold.

    Arguments:
        before: the stages of the first reply, if this is a second reply that continues it
            (`converter/core/reply/continuation.py`). Their findings and their thought events are
            taken over.

    Attributes:
        findings: the facts that all stages have learned about the reply.
    """

    def __init__(self, table: StageTable, reading: Reading, before: "Stages | None" = None) -> None:
        self._table, self._reading = table, reading
        self._chains: dict[int, list[Stage]] = {}
        self._thoughts: list[ThoughtEvent] = before.take_thoughts() if before else []
        # `_failed`: True once a failure was returned; only an `End` may follow it.
        # `_open`: the indexes of the choices whose stages may hold events, because the choice has
        # had events since its last finish.
        self._failed, self._open = False, set[int]()
        self._name = id_suffix(reading.expected.thoughts.task) or "0"
        self._ids = CallIds(reading.expected.calls.ids, self._name, reading.expected.model)
        self.findings: Findings = before.findings if before else Findings()

    def feed_all(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that come out of the last stage for `events`. Text of the answer that
        is longer than `LONGEST` is fed to the stages in pieces, and returned as one text.
        """
        pieces, feed = cut_long_texts(events), self.feed
        out = [staged for event in pieces for staged in feed(event)]
        return out if pieces is events else joined(out)

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that come out of the last stage for `event`. If it is the end of the
        reply or a failure, return the held events before it. An event that no stage reads, such as
        counts, is returned at once, before held text.

        If a stage returns a failure, drop the events behind it. After a failure, return only an
        `End`, and nothing for any other event.
        """
        if self._failed:
            return [event] if isinstance(event, End) else []
        match event:
            case Text() | Thinking() | ThinkingEnd() | ToolCall() | Finish():
                out = _feed_through(self._chain(event.choice), [event])
                # A finish comes out behind all held events, so that no stage holds any then.
                is_over = out and type(out[-1]) is Finish
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
        """Return the held events of all choices; nothing after a failure. It may be called again
        after further events.
        """
        spoke, self._open = () if self._failed else self._open, set()
        held: list[Event] = []
        for chain in (chain for index, chain in self._chains.items() if index in spoke):
            events: Sequence[Event] = []
            for stage in chain:
                events = [*_feed_through([stage], events), *stage.close()]
            held += events
        return held

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the facts of `Stage.plain` for the first choice, for all its stages together: the
        kind of event that the last stage returns for the next text of this `kind`, and the
        characters at which any stage does something else. Return None if a stage may do so at any
        character, or if this choice has had no event.

        There is no such method for other choices: the fast path does not rewrite their text.
        """
        not_plain = ""
        for stage in self._chains.get(0, ()):
            if (kinds := stage.plain(kind)) is None:
                return None
            before, kind, not_plain = kind, kinds[0], not_plain + kinds[1]
            if before is not ToolCall and kind is ToolCall:
                break  # this stage holds the text, which may be a call: later stages do not get it
        return (kind, not_plain) if 0 in self._chains else None

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thought events since the last call of this method."""
        thoughts = self._thoughts[:]
        self._thoughts.clear()
        return thoughts

    def _chain(self, index: int) -> list[Stage]:
        """Return the chain of stages of the choice with this index; at the first call, build it."""
        if index not in self._chains:
            shared = self._ids, self.findings, self._thoughts
            choice = Choice(self._reading, index, self._name, *shared)
            self._chains[index] = [stage for make in self._table if (stage := make(choice))]
        return self._chains[index]


def _feed_through(stages: Sequence[Stage], events: Sequence[Event]) -> Sequence[Event]:
    """Return the events that come out of the last of `stages` if `events` are fed to the first."""
    for stage in stages:
        fed = map(stage.feed, events)
        events = next(fed) if len(events) == 1 else [staged for each in fed for staged in each]
    return events


def cut_long_texts(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with each text of the answer of more than `LONGEST` characters cut into
    pieces. A refusal and a text with `own` stay whole, because they are not searched for tags.
    Thoughts and calls stay whole, too. Return the object `events` itself if no text is longer.
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
