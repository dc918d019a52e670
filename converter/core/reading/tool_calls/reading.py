"""One place in the text that may hold calls, while it is read: the fate of its text.

Until a call is known to count, its text is held and may come back. Then it is gone; or, when no
tool has the name, the text flows out as it is read, to the end of the call. A place in doubt holds
all, text and calls, until its end and the words behind it have told whether it counts.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from converter.core.calls.schema_values import Schema
from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.tool_calls.call import Call, Progress
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import CLOSERS, OPENERS, SECTIONS, WHOLE
from converter.core.reading.tool_calls.source import (
    BLANKS,
    BrokenArguments,
    Refused,
    Source,
    Step,
    marks_of,
)
from converter.core.wire.bounds import HELD_LIMIT, MOST_CALLS

_BRACKETED = tuple(mark for mark in (*OPENERS, *CLOSERS) if mark.startswith("["))
"""Marks that begin as a list of calls does: behind a call they begin another, or close it."""


class Fate(enum.Enum):
    """The fate of text that is read."""

    HELD = enum.auto()
    TAKEN = enum.auto()
    TEXT = enum.auto()


@dataclass(frozen=True, slots=True)
class Expectations:
    """The facts known of the calls before they come: the tools' schemas by name, how their ids
    begin, and how many of them there may be.
    """

    tools: Mapping[str, Schema]
    ids: str = "call_"
    choice: int = 0
    most: int | None = None


@dataclass(slots=True)
class CallPlace:
    """Reads the calls behind an opener, which comes next. `number`: of the first call.

    `whole`: the calls must be the whole reply. `doubted`: the place is in doubt, so that `held` is
    all of its text. `ended`: all is read; `refused`: but the last is no whole call, `unfit`: the
    text that did not fit. `head`, `close`: what the body that reads now began with, and what may
    come behind it. `closed`: the last call had its closing mark, if its form has any.
    """

    source: Source
    asked: Expectations
    number: int
    whole: bool = False
    doubted: bool = False
    state: Fate = Fate.HELD
    held: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ended: bool = False
    refused: bool = False
    unfit: str = ""
    head: str = ""
    close: Sequence[str] = ()
    closed: bool = True
    _form: str = ""
    _length: int = 0
    _events: list[Event] = field(default_factory=list)
    _step: Step[None] | None = None

    def begin(self, opener: str) -> None:
        """Begin at `opener`."""
        self.source.consumed = self._consumed
        self._step = self._read(opener)

    def advance(self) -> bool:
        """Read the text that has come; tell whether all calls are read."""
        assert self._step
        try:
            next(self._step)
        except StopIteration:
            self.ended = True
        except Refused as refused:
            self.ended = self.refused = True
            self.unfit = "".join(map(str, refused.args))
        if self.ended:
            self.source.consumed = len
        return self.ended

    def drain(self) -> list[Event]:
        """Return the events that are decided."""
        if self.doubted:
            return []
        events, self._events = self._events, []
        return events

    @property
    def current(self) -> Call:
        """The call that is being read."""
        return self.calls[-1]

    def next(self) -> Call:
        """Begin another call: the next fields belong to it."""
        if self.calls and not self.current.begun:
            self.calls.pop()  # it was none, and a reply of nothing but such must not be remembered
        number = self.number + len(self.calls)
        asked = self.asked
        most = MOST_CALLS if asked.most is None else asked.most
        tools = asked.tools if number < most else {}
        call = Call(tools, self._emit, self._refuse, number, f"{asked.ids}{number}")
        call.form = self._form
        self.calls.append(call)
        self.state = Fate.HELD
        if not self.doubted:
            self.held, self._length = [], 0
        return call

    def _consumed(self, text: str) -> None:
        """Hear the text that was taken from the source."""
        if self.state is Fate.TEXT:
            self._events.append(Text(text, self.asked.choice))
        elif self.doubted or self.state is Fate.HELD:
            self.held.append(text)
            self._length += len(text)
            if self._length > HELD_LIMIT:
                self.current.progress = Progress.REFUSED
                self._refuse()

    def _emit(self, event: ToolCall) -> None:
        self.state = Fate.TAKEN
        if not self.doubted:
            self.held.clear()
        choice = self.asked.choice
        self._events.append(replace(event, choice=choice) if choice else event)

    def _refuse(self) -> None:
        """Let the text go, because it is no call. With a place in doubt, all its calls are none."""
        text = "".join(self.held)
        if self.doubted:
            self.doubted = False
            self.asked = Expectations({})
            self.calls = self.calls[-1:]
            self._events.clear()
        self.state = Fate.TEXT
        self.held.clear()
        self._events.append(Text(text, self.asked.choice))

    def _read(self, opener: str) -> Step[None]:
        """Read all calls of a section, or those behind one opener."""
        self.next()
        self.source.take(len(opener))
        section = opener in SECTIONS and not self.whole
        table = WHOLE if self.whole else SECTIONS if section else OPENERS
        forms = table[opener]
        ends = tuple({end for form in forms for end in form.ends})
        firsts = tuple(mark for form in forms for mark in form.in_section) if section else ()
        mark = (yield from self._first(firsts)) if section else opener
        while True:
            yield from self._one(mark, forms, ends)
            mark, place = yield from self.source.ahead((*ends, *filter(None, firsts)))
            if mark in ends or not mark:
                self.source.take(place + len(mark) if mark else 0)
                return
            self._go_on(mark, place)

    def _first(self, marks: Sequence[str]) -> Step[str]:
        mark = yield from self.source.accept(tuple(filter(None, marks)))
        if not mark and "" not in marks:
            raise Refused
        return mark

    def _go_on(self, mark: str, place: int) -> None:
        self.source.take(place)
        self.next()
        self.source.take(len(mark))

    def _one(self, mark: str, forms: Sequence[CallRow], ends: Sequence[str]) -> Step[None]:
        """Read the calls of one pair of marks."""
        forms = [form for form in forms if mark in form.firsts] or forms
        opened = any(mark in form.opens for form in forms)
        heads = [head for form in forms for head in form.body.heads]
        self.head = (yield from self._first(heads)) if opened else mark
        form = next(form for form in forms if self.head in form.body.heads)
        self._form = self.current.form = form.name
        close = form.closes
        again = tuple(filter(None, form.body.heads)) if opened or form.whole else ()
        self.close = (*close, *ends)
        while not (yield from self._call(form)):
            if not (close or again):
                return
            marks = (*close, *again, *_BRACKETED)
            self.head, place = yield from self.source.ahead(marks, BLANKS + ",;}")
            if self.head not in again:
                self.closed = not (opened and close) or self.head in close
                self.source.take(place + len(self.head) if self.head in close else 0)
                return
            self._go_on(self.head, place)

    def _call(self, form: CallRow) -> Step[bool]:
        """Read a call. A call with broken arguments is text up to its closing mark, or up to the
        next call, so that the text behind it is read as behind any call.
        """
        try:
            return (yield from form.body.read(self.source, self))
        except BrokenArguments:
            if self.current.begun or self.source.last or not self.close:
                raise
        self.current.drop()
        marks = marks_of(*self.close, *form.opens)
        while not (match := marks.search(rest := self.source.rest)):
            self.source.take(len(rest) - (0 if self.source.last else marks.undecided(rest, 0)))
            if self.source.last:
                return True
            yield
        self.source.take(match.end() if match[0] in self.close else match.start())
        return True
