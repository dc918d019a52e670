"""`ReadingStage`, a stage, gives the text of a reply to the engine, and decides what is read of it
once the server itself sends thinking or calls in fields.

Tags are read until the server sends thinking in a field, because such a server has read the tags
itself. In the same way calls are read until the server sends a call. If the server sends a call
that was already read from the text, the call counts once. `ThoughtCalls` finds the calls in closed
thoughts and in thoughts of a field: they count only if the model ends the reply and the reply has
no other call.
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
"""The most events that wait while a call in the text is held: thinking, calls and text with `own`
that the server has sent after this text, and refusals. If more come, the held call is decided at
once.
"""


class ReadingStage:
    """The stage, for one choice: it turns text into thinking, text and calls.

    Held text is emitted before an event that begins or ends a block, but not before other events,
    such as usage.

    Arguments:
        reading: the settings for the reply.
        choice: the index of the choice.
        findings: the facts about the reply, which the stage fills.
        ids: the beginning of the ids of those calls in the text to which the model gave no id.
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
        self._answered = False  # True once the answer has a refusal, or text that is not blank
        self._own: Own | None = None  # the fields in which the last thinking came
        # True if the newest of all text, thinking and calls is a call that the server sent.
        self._in_call = False
        # Events that wait until a held call in the text is decided, such as thinking and calls that
        # the server has sent in fields.
        self._waiting: list[Event] = []

    @property
    def _table(self) -> MarkTable:
        """The marks that count now. They depend on the settings, and on whether the server has sent
        thinking or calls in fields.
        """
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
        """Read an event, and return the events that need not be held. While a call in the text is
        held, thinking and calls that the server sends in fields wait behind it, in their order; so
        does text that is not read (a refusal, text with `own`). The text of the call, and events
        such as usage, do not wait.
        """
        if not (self._waiting or self._engine.held_call_length):
            return self._handle(event)
        if isinstance(event, Text) and not (event.refusal or event.own):
            return [*self._handle(event), *self._read_held()]
        if isinstance(event, Finish):
            cut = event.reason == CUT or event.at_limit
            return [*self._flush("", event.reason, cut), *self._read_held(), *self._handle(event)]
        if not isinstance(event, Thinking | ThinkingEnd | ToolCall | Text):
            return [event]
        self._waiting.append(event)
        return [] if len(self._waiting) <= _MOST_WAITING else [*self._flush(""), *self._read_held()]

    def _read_held(self) -> list[Event]:
        """Read the events that waited behind a held call, as soon as the call is decided, and
        return the results.
        """
        out: list[Event] = []
        while self._waiting and not self._engine.held_call_length:
            waiting, self._waiting = self._waiting, []
            out += [result for event in waiting for result in self._handle(event)]
        return out

    def _handle(self, event: Event) -> Sequence[Event]:
        """Read an event that need not wait behind a held call, and return the results."""
        match event:
            case Text(refusal=False, own=None):
                self._in_call = False
                if self._reads_tags:
                    self._evidence.read_text(event.text)
                drafted = [] if event.text.isspace() else self._release_possible_call()
                text = self._again.feed(event.text)
                return [*drafted, *(self._note_all(self._engine.feed(text)) if text else [])]
            case Thinking():
                self._in_call = False
                return self._read_field_thinking(event)
            case Finish():
                return self._read_finish(event)
            case ToolCall():
                return self._read_server_call(event)
            case Text():
                held = self._release_all("", cut=False)
                self._answered = True
            case ThinkingEnd():
                if self._thought_calls:
                    self._thought_calls.end_thought()
                held = self._release_possible_call()
            case _:
                held = []
        return [*held, event]

    def close(self) -> Sequence[Event]:
        """Return all that is held. No finish decided about it, so the reply counts as cut off."""
        if self._waiting:
            held = [*self._flush("", cut=True), *self._read_held()]
            return [*held, *self._release_all("", cut=True)]
        return [*self._release_possible_call(), *self._release_all("", cut=True)]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind that text of this `kind` becomes if it now skips this stage on the fast
        path (`Stage.plain`), and the characters that such text must not have. Return `None` if the
        text must be fed.

        Thinking in a field may skip the stage only without line ends: encoders must examine these,
        because they drop line ends at the end of a thought. If calls are read in thoughts, it must
        also have no character with which a mark of calls may begin. A piece of a call that the
        server sends may skip the stage, except the first piece.
        """
        if self._repeats.holds:
            return None
        if kind is ToolCall:
            return (kind, "") if self._in_call and not self._reads_calls else None
        if kind is Text:
            return self._engine.plain() if self._again.over else None
        passes = not self._reads_tags and self._engine.at_head and not self._again.needs_more
        not_plain = self._thought_calls.not_plain if self._thought_calls else ""
        return (kind, "\r\n" + not_plain) if passes and not_plain is not None else None

    def _read_field_thinking(self, event: Thinking) -> Sequence[Event]:
        """Read no tags from here on, because the thinking `event` came in a field. Return the held
        text, and the thinking without a part at its end that may be a call.
        """
        held: list[Event] = []
        if self._reads_tags or self._repeats.holds or not self._engine.at_head:
            # At the first thinking in a field, all held text is returned. Later, only the text in
            # the engine is returned. Content that `_again` holds stays held, until it shows whether
            # it repeats the field's thought.
            held = self._release_text("", cut=False) if self._reads_tags else self._flush("")
            held = self._settle_calls(held)
            if self._reads_tags:
                self._again = RepeatedThought(
                    families_of(self._reading), self._engine.closers_of_empty_thought
                )
                self._reads_tags = False
            self._engine.begin_answer(self._table)
        self._again.expect(event.text)
        self._findings.native = self._findings.has_thinking = True
        if self._thought_calls is None:
            return [*held, event]
        text = self._thought_calls.feed(event.text)
        if event.own and not all(isinstance(it, str) for it in event.own.fields.values()):
            # The server's field is no string but a list, of which no part can be held: emit the
            # whole event, with all text that `_thought_calls` holds.
            text += self._thought_calls.release()
            return [*held, replace(event, text=text)] if text else [*held, event]
        self._own = event.own or self._own
        return [*held, event] if text == event.text else [*held, *self._field_thinking(text)]

    def _field_thinking(self, text: str) -> list[Event]:
        """Return `text`, a held part of a thought in a field, as a thinking event. Its `own` has
        the same field names as that of the server's last thinking, with `text` as values. Return
        nothing if the text is empty.
        """
        own = self._own and Own(self._own.dialect, dict.fromkeys(self._own.fields, text))
        return [Thinking(text, self._engine.answer.choice, own)] if text else []

    def _release_possible_call(self) -> list[Event]:
        """Return the end of a thought in a field, which was held because it might be a call."""
        return self._field_thinking(self._thought_calls.release()) if self._thought_calls else []

    def _read_server_call(self, event: ToolCall) -> Sequence[Event]:
        """Return all text that was held, and behind it `event`, a piece of a call that the server
        sends. Hold the piece if the call may repeat a call that was read from the text.
        """
        drafted = self._release_possible_call()
        out = [] if self._in_call else self._release_text("", cut=False)
        # A server that sends a call in fields may have left an opener of this call in the text.
        if out and isinstance(last := out[-1], Text):
            text = without_opener(last.text)
            out[-1:] = [replace(last, text=text)] if text else []
        self._in_call = True
        if self._reads_calls:
            self._reads_calls = False
            out += self._repeats.release()
            self._repeats.expect_repeats()
            self._engine.stop_calls(self._table)
        number = len(self._engine.calls.read)
        numbered = number and event.index != NO_INDEX
        moved = replace(event, index=event.index + number) if numbered else event
        return [*drafted, *out, *self._repeats.feed([moved])]

    def _read_finish(self, event: Finish) -> Sequence[Event]:
        """Return all that is held, then the calls in thoughts if they count, then the finish. The
        text of these calls is then left out, if it is held at the end of a thought in a field.
        """
        out = [*self._release_all(event.reason, cut=event.reason == CUT or event.at_limit)]
        calls, alone = self._thought_calls, self._reads_calls and not self._engine.calls.read
        if calls and alone and event.reason in BY_ITSELF:
            ends_it, taken = calls.ends_with_call, calls.take_calls(self._answered)
            out += [*([] if taken and ends_it else self._release_possible_call()), *taken]
            calls.release()
            self._findings.calls.thought_forms.update(calls.forms)
        return [*out, *self._release_possible_call(), event]

    def _release_all(self, finish: str, cut: bool) -> list[Event]:
        """Return all events that are held. `finish`: the reason why the choice ended; empty if it
        goes on. `cut`: the choice was cut off.
        """
        out = self._settle_calls(self._release_text(finish, cut))
        if not self._engine.thought.begun:
            self._findings.unread_tag = self._findings.unread_tag or self._evidence.unread_tag
        return out

    def _settle_calls(self, held: list[Event]) -> list[Event]:
        """Return the events `held`, and behind them the calls that `_repeats` holds because they
        may repeat an earlier call. Note all calls so far in the findings.
        """
        out = [*held, *self._repeats.release()]
        log, read, again = self._engine.calls, self._findings.calls, self._repeats.dropped
        calls, self._noted = [*enumerate(log.read)][self._noted :], len(log.read)
        counted = [call for index, call in calls if call.whole and index not in again]
        read.text_forms.update(call.form for call in counted)
        read.repetitions += [call.name for index, call in calls if index in again]
        read.cut_calls += [call.name for _, call in calls if not call.whole]
        read.calls_left_text += log.cut_names
        log.cut_names = []
        if self._engine.thought.unclosed:
            self._findings.unclosed.add(self._engine.answer.choice)
        else:
            self._findings.unclosed.discard(self._engine.answer.choice)
        return out

    def _release_text(self, finish: str, cut: bool) -> list[Event]:
        """Return the text and calls that are held: by the engine, and before it by `_again`, the
        filter of repeated thoughts.

        `finish`: the reason why the choice ended; empty if it goes on. `cut`: the choice was cut
        off.
        """
        closed = self._evidence.answered or not self._engine.in_thought
        out = self._flush(self._again.close(), finish, cut)
        if finish and self._reads_tags:
            self._evidence.note_finish(finish, closed, tuple(self._table.opened_by))
        return out

    def _flush(self, text: str, finish: str = "", cut: bool = False) -> list[Event]:
        """Give `text` to the engine. Return the events for it and for all that the engine held.
        `finish`, `cut`: as in `Engine.flush`.
        """
        events: list[Event] = self._engine.feed(text) if text else []
        return self._note_all([*events, *self._engine.flush(finish, cut)])

    def _note_all(self, events: Sequence[Event]) -> list[Event]:
        """Record events of the engine in the findings. Return them, except each `LateCloser`, and
        calls that are held because they may repeat an earlier call. If a call must not run, return
        a failure behind them.
        """
        out: list[Event] = []
        for event in events:
            self._note_event(event)
            if isinstance(event, LateCloser):
                out += self._repeats.release()
                self._repeats.expect_repeats()
            elif isinstance(event, ThinkingEnd) or self._thought_calls is None:
                out.append(event)
            elif isinstance(event, Text) and not self._reads_calls:
                # A call that the server sends may go on behind text. So text is not fed to
                # `_repeats`, which would take it for the end of the call that it holds.
                out.append(event)
            else:
                out += self._repeats.feed([event])
        answer = self._engine.answer
        if self._reads_tags and (answer.unmatched_closer or answer.dropped_closer):
            self._evidence.note_closer(answer)
        self._findings.calls.held_characters = self._engine.held_call_length
        broken = self._engine.calls.broken_name
        return [*out, failure_of(broken, NO_FORM)] if broken else out

    def _note_event(self, event: Event) -> None:
        """Record an event of the engine in the evidence and the findings."""
        self._evidence.note_event(event)
        calls = self._thought_calls
        if isinstance(event, Thinking):
            self._findings.has_thinking = True
            self._findings.marks = self._engine.thought.marks
            # This thinking was read from the text, and the caller emits it at once. So
            # `_thought_calls` only finds the calls in it: the text that it returns is not used.
            if calls:
                calls.feed(event.text)
                calls.release()
            return
        if isinstance(event, Text):
            self._answered = self._answered or not event.text.isspace()
        if calls and not isinstance(event, ToolCall):
            calls.end_thought()
