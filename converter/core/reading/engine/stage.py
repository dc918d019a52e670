"""The stage that reads the text of a reply with the engine.

Tags are read until the server sends thinking in a field, and calls until the server sends a call
itself, because the server then reads them. A call that was read from the text and is sent again by
the server counts once. Calls in thoughts count only if there is no other call.
"""

from collections.abc import Sequence
from dataclasses import replace

from converter.core.calls.assembler import failure_of
from converter.core.model.events import (
    NO_INDEX,
    Event,
    Finish,
    LateCloser,
    Own,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.evidence import Evidence
from converter.core.reading.engine.mark_table import MarkTable, mark_table
from converter.core.reading.engine.repeats import Repeats
from converter.core.reading.engine.thought_calls import ThoughtCalls
from converter.core.reading.families import HEURISTIC
from converter.core.reading.family_choice import families_of
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Reading
from converter.core.reading.repeated_thought import NOTHING_REPEATED, RepeatedThought
from converter.core.reading.tool_calls.calls_read import BY_ITSELF, CUT, NO_FORM
from converter.core.reading.tool_calls.forms import without_opener
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import MOST_CALLS

_MOST_WAITING = 4096
"""How many events of the server's own thinking and calls may wait behind a call in the text."""


class ReadingStage:
    """The stage, for one choice.

    Held text comes out before an event that begins or ends a block, but not before other events,
    such as usage.

    Arguments:
        findings: get the stage's notes.
        ids: the beginning of the ids of calls in the text.
    """

    def __init__(self, reading: Reading, choice: int, findings: Findings, ids: str) -> None:
        self._reading = reading
        self._findings = findings
        expected, tools = reading.expected, reading.expected.calls.read
        most = MOST_CALLS if tools is None or tools.parallel else 1
        schemas = tools.schemas if tools else {}
        expectations = Expectations(schemas, ids, choice, most)
        self._reads_tags, self._reads_calls = True, tools is not None
        self._engine = Engine(
            self._table,
            reading.mode,
            choice,
            expected.wants_json,
            expectations=expectations,
            whole_calls=tools is not None and not tools.wants_json,
            grammar=expected.grammar,
        )
        self._again = NOTHING_REPEATED
        self._thought_calls = ThoughtCalls(expectations) if tools else None
        self._repeats = Repeats()
        self._noted = 0
        self._evidence = Evidence(reading, findings.beginning)
        self._answered = False  # the answer has text that is not blank
        self._own: Own | None = None  # the fields in which the server sends thinking
        self._in_call = False  # the last event was a piece of a call by the server
        self._waiting: list[Event] = []  # the server's thinking and calls, behind a held call

    @property
    def _table(self) -> MarkTable:
        reading = self._reading
        expected = reading.expected
        phrases = (HEURISTIC,) if reading.phrases else ()
        return mark_table(
            (*families_of(reading), *phrases),
            reading.attributes,
            expected.calls.offered,
            self._reads_calls,
            expected.calls.forbidden,
            not self._reads_tags,
        )

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that need not wait. While a call in the text is held, the server's own
        thinking and calls wait behind it, in their order.
        """
        if not (self._waiting or self._engine.held_call):
            return self._fed(event)
        if isinstance(event, Text) and not (event.refusal or event.own):
            return [*self._fed(event), *self._go_on()]
        if isinstance(event, Finish):
            cut = event.reason == CUT or event.at_limit
            return [*self._flush("", event.reason, cut), *self._go_on(), *self._fed(event)]
        if not isinstance(event, Thinking | ThinkingEnd | ToolCall | Text):
            return [event]
        self._waiting.append(event)
        return [] if len(self._waiting) <= _MOST_WAITING else [*self._flush(""), *self._go_on()]

    def _go_on(self) -> list[Event]:
        """Return the events that waited behind a call, if the call is decided."""
        out: list[Event] = []
        while self._waiting and not self._engine.held_call:
            waiting, self._waiting = self._waiting, []
            out += [result for event in waiting for result in self._fed(event)]
        return out

    def _fed(self, event: Event) -> Sequence[Event]:
        match event:
            case Text(refusal=False, own=None):
                self._in_call = False
                return self._read(event)
            case Thinking():
                self._in_call = False
                return self._follow_field(event)
            case Finish():
                return self._finish(event)
            case ToolCall():
                return self._server_call(event)
            case Text():
                held = self._close("", cut=False)
                self._answered = True
                return [*held, event]
            case ThinkingEnd() if self._thought_calls:
                self._thought_calls.end()
        return [*(self._drafted() if isinstance(event, ThinkingEnd) else ()), event]

    def close(self) -> Sequence[Event]:
        """Return all that is held. The reply was cut off, because no finish has come."""
        if self._waiting:
            held = [*self._flush("", cut=True), *self._go_on()]
            return [*held, *self._close("", cut=True)]
        return [*self._drafted(), *self._close("", cut=True)]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind of event that plain text becomes; see `Stage.plain`.

        The server's own thinking passes, except line ends, which encoders hold at a thought's end.
        The server's own call passes once it has begun.
        """
        if self._repeats.holds:
            return None
        if kind is ToolCall:
            return (kind, "") if self._in_call and not self._reads_calls else None
        if kind is Text:
            return self._engine.plain() if self._again.over else None
        passes = not self._reads_tags and self._engine.at_head and not self._again.listens
        wakes = self._thought_calls.wakes if self._thought_calls else ""
        return (kind, "\r\n" + wakes) if passes and wakes is not None else None

    def _read(self, event: Text) -> Sequence[Event]:
        """Read text, and return the events that are decided."""
        if self._reads_tags:
            self._evidence.read(event.text)
        drafted = [] if event.text.isspace() else self._drafted()
        text = self._again.feed(event.text)
        return [*drafted, *(self._out(self._engine.feed(text)) if text else [])]

    def _follow_field(self, event: Thinking) -> Sequence[Event]:
        """Read no tags from here on, because thinking came in a field. Return held text, and the
        server's thinking.
        """
        held: list[Event] = []
        if self._reads_tags or self._repeats.holds or not self._engine.at_head:
            # A thought in the content that repeats the field's goes on waiting.
            held = self._held("", cut=False) if self._reads_tags else self._flush("")
            held = self._settled(held)
            if self._reads_tags:
                self._again = RepeatedThought(
                    families_of(self._reading), self._engine.silent_closers
                )
                self._reads_tags = False
            self._engine.follow_field(self._table)
        self._again.expect(event.text)
        self._findings.native = self._findings.thought = True
        if self._thought_calls is None:
            return [*held, event]
        text = self._thought_calls.feed(event.text)
        if event.own and not all(isinstance(it, str) for it in event.own.fields.values()):
            text += self._thought_calls.release()  # a field that is not a string cannot wait
            return [*held, replace(event, text=text)] if text else [*held, event]
        self._own = event.own or self._own
        return [*held, event] if text == event.text else [*held, *self._thinking(text)]

    def _thinking(self, text: str) -> list[Event]:
        """Return text of the server's thought that has waited, as an event with the same fields."""
        own = self._own and Own(self._own.dialect, dict.fromkeys(self._own.fields, text))
        return [Thinking(text, self._engine.answer.choice, own)] if text else []

    def _drafted(self) -> list[Event]:
        """Return text of the server's thought that waited because it might be a call."""
        return self._thinking(self._thought_calls.release()) if self._thought_calls else []

    def _server_call(self, event: ToolCall) -> Sequence[Event]:
        """Return a piece of the server's own call, behind all that is held. It waits if the call
        may repeat one that was read from the text.
        """
        drafted = self._drafted()
        out = [] if self._in_call else _without_opener(self._held("", cut=False))
        self._in_call = True
        if self._reads_calls:
            self._reads_calls = False
            out += self._repeats.release()
            self._repeats.expect()
            self._engine.stop_calls(self._table)
        number = len(self._engine.calls.read)
        numbered = number and event.index != NO_INDEX
        moved = replace(event, index=event.index + number) if numbered else event
        return [*drafted, *out, *self._repeats.feed([moved])]

    def _finish(self, event: Finish) -> Sequence[Event]:
        out = [*self._close(event.reason, cut=event.reason == CUT or event.at_limit)]
        calls, alone = self._thought_calls, self._reads_calls and not self._engine.calls.read
        if calls and alone and event.reason in BY_ITSELF:
            ends_it, taken = calls.ends_thought, calls.take(self._answered)
            out += [*([] if taken and ends_it else self._drafted()), *taken]
            calls.release()
            self._findings.calls.thought.update(calls.forms)
        return [*out, *self._drafted(), event]

    def _close(self, finish: str, cut: bool) -> list[Event]:
        """Return all that is held. `finish`: the reason why the choice ended; empty if it has
        not.
        """
        out = self._settled(self._held(finish, cut))
        if not self._engine.thought.begun:
            self._findings.unread = self._findings.unread or self._evidence.unread
        return out

    def _settled(self, held: list[Event]) -> list[Event]:
        """Return `held` and the calls that waited, and note all calls so far in the findings."""
        out = [*held, *self._repeats.release()]
        log, read, again = self._engine.calls, self._findings.calls, self._repeats.dropped
        calls, self._noted = [*enumerate(log.read)][self._noted :], len(log.read)
        counted = [call for index, call in calls if call.done and index not in again]
        read.forms.update(call.form for call in counted)
        read.repeated += [call.name for index, call in calls if index in again]
        read.cut += [call.name for _, call in calls if not call.done]
        read.text += log.cut
        log.cut = []
        if self._engine.thought.unclosed:
            self._findings.unclosed.add(self._engine.answer.choice)
        else:
            self._findings.unclosed.discard(self._engine.answer.choice)
        return out

    def _held(self, finish: str, cut: bool) -> list[Event]:
        """Return the text and calls that the engine holds. `finish`: the reason why the choice
        ended; empty if it has not.
        """
        closed = self._evidence.answered or not self._engine.in_thought
        out = self._flush(self._again.close(), finish, cut)
        if finish and self._reads_tags:
            self._evidence.conclude(finish, closed, tuple(self._table.opened_by))
        return out

    def _flush(self, text: str, finish: str = "", cut: bool = False) -> list[Event]:
        """Read `text`, which waited before the engine, and return all that the engine holds."""
        events: list[Event] = self._engine.feed(text) if text else []
        return self._out([*events, *self._engine.flush(finish, cut)])

    def _out(self, events: Sequence[Event]) -> list[Event]:
        """Return the engine's events that need not wait, and note them in the findings."""
        out: list[Event] = []
        for event in events:
            self._note(event)
            if isinstance(event, LateCloser):
                out += self._repeats.release()
                self._repeats.expect()
            elif isinstance(event, ThinkingEnd) or self._thought_calls is None:
                out.append(event)
            elif isinstance(event, Text) and not self._reads_calls:
                out.append(event)  # the server's calls, which wait for their end, go on waiting
            else:
                out += self._repeats.feed([event])
        answer = self._engine.answer
        if self._reads_tags and (answer.unmatched_closer or answer.dropped_closer):
            self._evidence.find_closer(answer)
        self._findings.calls.held = self._engine.held_call
        broken = self._engine.calls.broken
        return [*out, failure_of(broken, NO_FORM)] if broken else out

    def _note(self, event: Event) -> None:
        self._evidence.note(event)
        calls = self._thought_calls
        if isinstance(event, Thinking):
            self._findings.thought = True
            self._findings.marks = self._engine.thought.marks
            if calls:  # a thought in the text does not wait here: it is emitted
                calls.feed(event.text)
                calls.release()
            return
        if isinstance(event, Text):
            self._answered = self._answered or not event.text.isspace()
        if calls and not isinstance(event, ToolCall):
            calls.end()


def _without_opener(held: list[Event]) -> list[Event]:
    """Return the held events without the opener of the call that the server has read itself."""
    match held:
        case [*before, Text() as last] if (text := without_opener(last.text)) != last.text:
            return [*before, *([replace(last, text=text)] if text else [])]
    return held
