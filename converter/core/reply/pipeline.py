"""A server's reply as neutral events: the only place where frames, decoder and stages are joined.

chunk -> FrameDecoder -> frame -> Decoder -> event -> stages -> event

The stages are one chain for each choice, in the order of the table that is handed in
(`converter.core.reply.stages`); a stage that a reply does not need is left out. Each has `feed` and
`close`, which return lists of events; `close` gives out held events and may be called again. So who
moves the bytes of a reply knows no stage, and no stage knows who moves them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from converter.core.calls.ids import CallIds, suffix_of
from converter.core.dialects.wire_form import NO_FIELDS, Form, Mapped, Speaker
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
    joined,
)
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, Reading
from converter.core.reply.thought_events import ThoughtEvent
from converter.core.wire import json_text
from converter.core.wire.sse import Frame, FrameDecoder, WholeBody

LONGEST = 1 << 16
"""Characters of a piece of text: some milliseconds. The stages look at each by regular expressions,
so that one of megabytes would let no other thread have its turn.
"""


class Stage(Protocol):
    """One step between decoder and encoder, for one choice."""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that it becomes."""

    def close(self) -> Sequence[Event]:
        """Return the held events."""

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return the meaning of plain words of this kind, and the characters that make words not
        plain; None while words may do more than come out. Words that are plain change nothing of
        this: the stage may get them later, and joined.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """The things that the stages of one choice share. `thoughts`: a list that gets each thought
    that ended. `reply`: the beginning of ids of calls in its text. `ids`: those of all calls.
    """

    reading: Reading
    index: int
    reply: str
    ids: CallIds
    findings: Findings
    thoughts: list[ThoughtEvent]

    @property
    def expected(self) -> Expected:
        """The facts known of the reply."""
        return self.reading.expected


type Table = Sequence[Callable[[Choice], Stage | None]]
"""The makers of stages, in the order in which events go through them; `None`: not wanted for this
reply.
"""


class Stages:
    """Events in, events out, each choice through stages of its own. `findings`: the notes."""

    def __init__(self, table: Table, reading: Reading, findings: Findings | None = None) -> None:
        self._table, self._reading = table, reading
        self._chains: dict[int, list[Stage]] = {}
        self._thoughts: list[ThoughtEvent] = []
        self._failed = self._is_open = False
        self._name = suffix_of(reading.expected.task) or "0"
        self._ids = CallIds(reading.expected.call_ids, self._name)
        self.findings = findings or Findings()

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that it becomes. The reply's end empties all stages; bookkeeping
        passes. Behind a failure nothing follows but the server's own end.
        """
        if self._failed:
            return [event] if isinstance(event, End) else []
        made = self._of(event)
        kinds = [*map(type, made)]
        if Failure not in kinds:
            return made
        self._failed = True
        return made[: kinds.index(Failure) + 1]

    def _of(self, event: Event) -> Sequence[Event]:
        match event:
            case Text() | Thinking() | ThinkingEnd() | ToolCall() | Finish():
                self._is_open = True
                return _fed(self._chain(event.choice), [event])
            case End() | Failure():
                return [*self.close(), event]
            case _:
                return [event]

    def close(self) -> list[Event]:
        """Return the held events of all choices, if anything came since the last time."""
        if self._failed or not self._is_open:
            return []
        self._is_open = False
        held: list[Event] = []
        for chain in self._chains.values():
            events: Sequence[Event] = []
            for stage in chain:
                events = [*_fed([stage], events), *stage.close()]
            held += events
        return held

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return the meaning of plain words of the first choice, and the characters that make words
        not plain; None while they may do more than come out.
        """
        wakes = ""
        for stage in self._chains.get(0, ()):
            if (kinds := stage.plain(kind)) is None:
                return None
            kind, wakes = kinds[0], wakes + kinds[1]
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
        events = [made for event in events for made in stage.feed(event)]
    return events


class Pipeline:
    """One reply: `cutter`, decoder and `stages`, each with its own calls. `fields`: the user's map
    of the server's own. `findings` and `cutter`: those of a reply that it goes on.

    The cutter cuts bytes into frames, `decode` reads a frame, `feed` puts events through the
    stages. They are three calls, because who passes bytes on wants to know which events are of
    which frame, and who only looks may join events before the stages.
    """

    def __init__(
        self,
        table: Table,
        reading: Reading,
        server: Speaker,
        form: Form,
        *,
        fields: Mapping[str, Mapped] = NO_FIELDS,
        findings: Findings | None = None,
        cutter: FrameDecoder | None = None,
    ) -> None:
        made = server.wire.framing.cutter if form is Form.STREAM else WholeBody
        self.cutter: FrameDecoder = cutter or made()
        self.decoder = server.wire.decoder(fields)
        self._mend, self._framing = server.wire.mend, server.wire.framing
        self.stages = Stages(table, reading, findings)

    def decode(self, frame: Frame) -> tuple[Frame, list[Event]]:
        """Return what the frame says, and the frame that says just that: a mended one, where words
        would be lost otherwise.
        """
        events = self.decoder.feed(frame)
        if not _is_lost(events) or (mended := self._mended(frame)) is None:
            return frame, events
        rescued = self.decoder.feed(mended) if mended.raw else []
        return (frame, events) if _is_lost(rescued) else (mended, rescued)

    def _mended(self, frame: Frame) -> Frame | None:
        """Return the frame with clear faults put right; None where nothing has."""
        if (frame.data or b"").lstrip().startswith(b":"):  # OpenRouter's comment behind a gateway
            # of a form whose frames are bare nothing is one, and clients would read it as JSON
            comment = b"" if self._framing.bare else (frame.data or b"").strip() + b"\n\n"
            return Frame(comment, None, comment=True)
        try:
            rescued = json_text.rescue(frame.data or frame.raw)
        except json_text.UnreadableError:
            return None
        if not rescued and not frame.is_body:  # null, an empty list: nothing is lost without it
            return Frame(b"", None)
        data = json_text.write(self._mend(rescued))
        raw = data if frame.is_body else self._framing.write(data, frame.event)
        return Frame(raw, data, event=frame.event)

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that these become."""
        pieces = in_pieces(events)
        made = [made for event in pieces for made in self.stages.feed(event)]
        return made if pieces is events else joined(made)


def _is_lost(events: Sequence[Event]) -> bool:
    return any(isinstance(event, OpaqueFrame) and event.lost for event in events)


def in_pieces(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with long texts cut into pieces; the same object where none is long."""
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    return [piece for event in events for piece in _pieces(event)]


def _pieces(event: Event) -> Sequence[Event]:
    if not isinstance(event, Text) or event.own or event.refusal or len(event.text) <= LONGEST:
        return [event]
    places = range(0, len(event.text), LONGEST)
    return [Text(event.text[at : at + LONGEST], event.choice) for at in places]
