"""One place in the text that may hold calls, while it is read: the fate of its text.

Until a call is known to count, its text is held and may come back. Then it is gone; or, when no
tool has the name, the text flows out as it is read, to the end of the call. A place in doubt holds
all, text and calls, until its end and the words behind it have told whether it counts.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
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
    begin, and how many of them there may be. `in_sentences`: a whole call counts in the middle of a
    sentence.
    """

    tools: Mapping[str, Schema]
    ids: str = "call_"
    choice: int = 0
    most: int | None = None
    in_sentences: bool = True


@dataclass(slots=True)
class PlaceText:
    """The text of a place, and the events that it becomes. `fate`: of the text that is read now.
    `doubted`: the place is in doubt, so that `held` is all of its text. `too_much`: called when
    more is held than may. `wakes`: the characters that its body waits for, while words of an
    argument come out as they are.
    """

    choice: int
    doubted: bool = False
    fate: Fate = Fate.HELD
    held: list[str] = field(default_factory=list)
    length: int = 0
    events: list[Event] = field(default_factory=list)
    too_much: Callable[[], object] = bool
    wakes: str | None = None

    def plain(self) -> str | None:
        """Return the characters that make words of an argument not plain; None while words would
        do more than come out.
        """
        return self.wakes if self.fate is Fate.TAKEN and not self.doubted else None

    def begin_call(self) -> None:
        """Hold the text that follows, because it is another call's."""
        self.fate = Fate.HELD
        if not self.doubted:
            self.held, self.length = [], 0

    def take(self, text: str) -> None:
        """Hear the text that was taken from the source."""
        if self.fate is Fate.TEXT:
            self.events.append(Text(text, self.choice))
        elif self.doubted or self.fate is Fate.HELD:
            self.held.append(text)
            self.length += len(text)
            if self.length > HELD_LIMIT:
                self.too_much()

    def emit(self, event: ToolCall) -> None:
        """Take an event of a call: the text before it was the call's."""
        self.fate = Fate.TAKEN
        if not self.doubted:
            self.held.clear()
        self.events.append(replace(event, choice=self.choice) if self.choice else event)

    def refuse(self) -> None:
        """Let the text go, because it is no call. In doubt, nothing of the place is one."""
        if self.doubted:
            self.doubted = False
            self.events.clear()
        self.fate = Fate.TEXT
        text = "".join(self.held)
        self.held.clear()
        self.events.append(Text(text, self.choice))

    def drain(self) -> list[Event]:
        """Return the events that are decided."""
        if self.doubted:
            return []
        events, self.events = self.events, []
        return events


@dataclass(slots=True)
class CallPlace:
    """Reads the calls behind an opener, which comes next. `number`: of the first call; `text`: the
    fate of what is read.

    `whole`: the calls must be the whole reply. `refused`: all is read, but the last is no whole
    call; `unfit`: the text that did not fit. `head`, `close`: what the body that reads now began
    with, and what may come behind it. `closed`: the last call had its closing mark, if its form has
    any.
    """

    source: Source
    asked: Expectations
    number: int
    text: PlaceText
    whole: bool = False
    calls: list[Call] = field(default_factory=list)
    refused: bool = False
    unfit: str = ""
    head: str = ""
    close: Sequence[str] = ()
    closed: bool = True
    _step: Step[None] | None = None  # of the reader, until it ends

    def begin(self, opener: str) -> None:
        """Begin at `opener`."""
        self.text.too_much = self._give_up
        self.source.consumed = self.text.take
        self._step = self._read(opener)

    def advance(self) -> bool:
        """Read the text that has come; tell whether all calls are read."""
        if self._step is None:
            return True
        try:
            self.text.wakes = next(self._step)
        except StopIteration:
            self._step = None
        except Refused as refused:
            self._step, self.refused = None, True
            self.unfit = "".join(map(str, refused.args))
        if self._step is None:
            self.text.wakes = None
            self.source.consumed = len
        return self._step is None

    @property
    def current(self) -> Call:
        """The call that is being read."""
        return self.calls[-1]

    def next(self) -> Call:
        """Begin another call: the next fields belong to it."""
        form = self.current.form if self.calls else ""
        if self.calls and not self.current.begun:
            self.calls.pop()  # it was none, and a reply of nothing but such must not be remembered
        number = self.number + len(self.calls)
        asked = self.asked
        most = MOST_CALLS if asked.most is None else asked.most
        tools = asked.tools if number < most else {}
        ids = f"{asked.ids}{number}"
        call = Call(tools, self.text.emit, self._refuse, number, ids, form)
        self.calls.append(call)
        self.text.begin_call()
        return call

    def _give_up(self) -> None:
        """Refuse a call that is longer than may wait."""
        self.current.progress = Progress.REFUSED
        self._refuse()

    def _refuse(self) -> None:
        """Let the text go, because it is no call. With a place in doubt, all its calls are none."""
        if self.text.doubted:
            self.asked = Expectations({})
            self.calls = self.calls[-1:]
        self.text.refuse()

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
        self.current.form = form.name
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
            yield None
        self.source.take(match.end() if match[0] in self.close else match.start())
        return True
