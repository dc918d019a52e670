"""Text in; text, thinking and tool calls out, as they arrive: the one engine that reads a reply.

The engine scans for the marks that could matter next, gives out the text before one, and takes the
step of the table (`states`). A mark that begins a call hands the text to the readers of its forms,
which take as much as fits; all else comes back and is scanned. A possible beginning of a mark is
held until it is decided. Nothing is ever lost: thinking, text, calls and marks together are the
text that came in, but for the CR and LF around a thought, for thoughts of nothing but blanks, and
for the blanks around a call.

The decisions at a mark, each in one place, in the order and with the numbers of
`docs/reading.md`:

1. a text that may become a mark is held: `Scanner._scan`;
2. a mark in code is text, a phrase away from its place as well: `Scanner._is_words`; in JSON:
   `Scanner._begins_value`; between the marks of a text that is no call: `Engine._put_back`;
3. to 5. what a mark opens, closes or says: `states`;
6. a special token says nothing: the rows (`ignored`, `again`), `Engine._is_empty_section`;
7. a call is shown, doubted or read in a text: `Engine._meet_call`; one in the middle of a sentence,
   or one that must be the whole reply, counts by the text behind it: `OpenCall.counts`;
8. behind a thought in a field another table counts: `Engine.follow_field`;
9. a call ends a thought: `Engine._ends_thought`; or it was a draft: `Scanner._settle_draft`.
"""

from copy import copy
from dataclasses import replace

from converter.core.model.events import Event, Text, Thinking, ToolCall, WordKind, joined
from converter.core.reading.engine.context import BLANKS, Context, MarkPlace
from converter.core.reading.engine.mark_table import (
    CALL_MARKS,
    NO_MARK,
    CallMark,
    MarkTable,
)
from converter.core.reading.engine.open_call import (
    MetMark,
    OpenCall,
    begins_words,
    may_begin_call,
)
from converter.core.reading.engine.outcome import Draft
from converter.core.reading.engine.scanner import Scanner
from converter.core.reading.engine.states import (
    IN_CALL,
    IN_TEXT,
    IN_THOUGHT,
    NEXT_STATE,
    SILENT_SO_FAR,
    State,
)
from converter.core.reading.mark_search import Mark, PhraseSearch
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.forms import SECTIONS, WHOLE
from converter.core.reading.tool_calls.place import Expectations, Fate
from converter.core.reading.tool_calls.source import Source
from converter.core.wire.bounds import BLANKS_LIMIT

STOP = "stop"
"""The finish of a reply that ended by itself, because a thought should have had its closer."""
RESCAN_LIMIT = 4096
"""Characters of a refused call that are searched again for marks; longer ones are text at once, so
that no text is looked at often."""
PIECE = 4096
"""Characters that are read at once, because each step copies the rest, so that a long text in one
piece would cost its square."""
_WHOLE = tuple(WHOLE)


class Engine(Scanner):
    """Pieces of one choice's text in; `Text`, `Thinking`, `ThinkingEnd`, `ToolCall` out. Cut
    anywhere, the same message.

    `json_answer`: the answer is to be JSON; `asked`: the calls that are to be read; `whole_calls`:
    the reply may be a bare object that is a call.
    """

    def follow_field(self, table: MarkTable) -> None:
        """Go on behind a thought of the server's own, by its table, while nothing is held."""
        self._table, self._state = table, State.HEAD
        self.answer.follow_field(table.answer_tags)
        self._look()

    @property
    def at_head(self) -> bool:
        """Tell whether nothing was said since the last thought, and nothing waits."""
        return self._state is State.HEAD and not self.holds

    def stop_calls(self, table: MarkTable) -> None:
        """Go on by a table that reads no calls, while nothing is held."""
        self._table, self._calling.asked = table, Expectations({})
        self._calling.at_head = False
        self._look()

    # What goes in and comes out.

    def feed(self, text: str) -> list[Event]:
        """Return the events that are decided once `text` has arrived."""
        if self._passes(text):
            self._say(text)
        else:
            for place in range(0, len(text), PIECE):
                self._take_in(text[place : place + PIECE])
        return self._drain()

    def flush(self, finish: str = "", cut: bool = False) -> list[Event]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new
        block. `finish`: why the reply ended, if it has; `cut`: there was more to say.
        """
        self._source.last, self._source.cut = True, cut
        if self._is_torn():
            self._source.rest = ""
            self._tell(self.thought.settle())
        self._run()
        self._settle_draft()
        if self._state is State.PHRASED:
            self._step(Mark.PHRASE_END)
        self._values.open = None
        self._look()
        self._settle_before(Mark.OPEN)
        answer = self.thought.take_guess()
        if finish != STOP:
            self._tell(self.thought.feed(answer))
        self._tell(self.thought.end())
        if finish == STOP and answer:  # the guess was wrong: it is read as any text is
            self._begin_anew(answer)
            self._tell(self.thought.end())
        self._out += self.answer.release()
        self._source = Source()
        self._context = Context()
        self._calling.behind = False
        return self._drain()

    def plain(self) -> tuple[WordKind, str] | None:
        """Return the meaning of words that hold none of the characters returned with it; None
        while they would do more than come out.
        """
        if call := self._calling.open:
            wakes = call.place.text.plain()
            waits = self._source.rest or self._calling.draft
            return (ToolCall, wakes) if wakes and not waits else None
        if self.holds or self.thought.guess or isinstance(self._marks, PhraseSearch):
            return None
        ends = "\r\n" if self._table.reads_calls else ""
        if value := self._values.open:
            wakes = value.wakes
            return (Text, wakes + self._marks.firsts + ends) if wakes else None
        if self._state is State.ANSWERING and not self._calling.behind:
            return Text, self._marks.firsts + ends + self._values.firsts
        if self._state is State.THINKING and self.thought.at_ease:
            return Thinking, self._marks.firsts + "\r\n"  # held at a thought's end
        return None

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The closers of a thought that is open and has said nothing."""
        if self._state is State.BEGINNING:
            return self._table.bare_closers
        return self.thought.closers if self._state is State.OPENED else ()

    @property
    def in_thought(self) -> bool:
        """Tell whether the words that come are a thought's, as far as that is known."""
        return self._state in IN_THOUGHT or self._calling.draft is not None

    @property
    def holds(self) -> bool:
        """Tell whether text waits that `flush` would give out."""
        calling = self._calling
        return bool(self._source.rest or self.answer.lead or calling.open or calling.draft)

    @property
    def broken(self) -> Call | None:
        """The call that has gone out and is none."""
        return None if self._calling.draft else self.calls.broken

    def _take_in(self, piece: str) -> None:
        if self._calling.draft:
            self._calling.draft.feed(piece)
            if self._calling.draft.is_long:
                self._settle_draft()
        self._source.feed(piece)
        self._run()

    def _passes(self, text: str) -> bool:
        """Tell whether a piece comes out as it is, without a look at the places in it."""
        if self.holds or self._values.waits or self._calling.behind:
            return False
        may_lead = self._table.reads_calls and self._state not in IN_THOUGHT
        if may_lead and (self._calling.at_head or "\n" in text or "\r" in text):
            return False
        return len(text) <= PIECE and not self._marks.may_begin(text)

    def _drain(self) -> list[Event]:
        if self._calling.draft:
            out = self._calling.draft.take_out()
        else:
            out, self._out = self._out, []
        return out if len(out) < 2 else joined(out)

    def _begin_anew(self, answer: str) -> None:
        """Read the end of what was no thought, as a reply that begins in its text."""
        self._state, self._calling.between = State.HEAD, NO_MARK
        self.thought.forget()
        self._context = Context()
        self._look()
        for place in range(0, len(answer), PIECE):
            self._source.last = place + PIECE >= len(answer)
            self._source.feed(answer[place : place + PIECE])
            self._run()

    def _run(self) -> None:
        going = True
        while going and (self._source.rest or self._calling.open):
            going = self._go_on(self._calling.open) if self._calling.open else self._scan()

    # Calls: where they begin.

    def _meet_call(self, literal: str) -> bool:
        """Read the text behind a mark of calls, or tell it as words: a call that is only shown is
        text. Special tokens are never prose: they count everywhere, in code as well.
        """
        mark, context = CALL_MARKS[literal], self._context
        behind = self._source.rest[len(literal) :]
        if (empty := self._is_empty_section(mark, behind)) is not False:
            return empty is not None and self._leave_out(len(literal))
        if self._state in IN_THOUGHT or self._state is State.CALLED_INSIDE:
            return self._ends_thought(mark)
        self._calling.at_head = False
        place = context.place
        in_sentence = place is MarkPlace.IN_SENTENCE
        doubted = in_sentence and not mark.special and not self.calls.read
        met = MetMark(mark, place, context.in_code, doubted=doubted)
        certain = mark.special or place is MarkPlace.AT_BREAK
        if self._table.forbids_calls and not certain:
            begins = may_begin_call(place, behind, self._source.last)
            if begins is None:
                return False
            certain = begins
        unread = not self._table.reads_calls and certain  # its words need not be known
        if (context.shows_calls and not mark.special) or unread:
            return self._put_back(met, "")
        return self._read_call(met)

    def _is_empty_section(self, mark: CallMark, behind: str) -> bool | None:
        """Tell whether words stand where a section's calls should, so that its mark, a special
        token, is no text; None: more text must tell.
        """
        if not mark.special or mark.begins not in SECTIONS or self._context.in_code:
            return False
        if self._state in IN_CALL or (self._state, Mark.SILENT) not in NEXT_STATE:
            return False
        return begins_words(behind, self._source.last)

    def _leave_out(self, length: int) -> bool:
        self._source.take(length)
        self._step(Mark.SILENT)
        return True

    def _ends_thought(self, mark: CallMark) -> bool:
        """End a thought at a call, if it is one; a special token always is."""
        if not mark.special:
            behind, context = self._source.rest[len(mark.mark) :], self._context
            begins = may_begin_call(context.place, behind, self._source.last)
            if context.in_fence or begins is False:
                return self._ordinary()
            if begins is None:
                return False
        if self._calling.draft:
            self._calling.draft.words = 0
        elif self._state in IN_THOUGHT:
            self._begin_draft()
        self._step(Mark.TOOL)
        self._calling.at_head = False
        met = MetMark(mark, MarkPlace.AT_BREAK, in_code=False, ended_thought=True)
        if self._table.forbids_calls:
            return self._put_back(met, "")
        return self._read_call(met)

    def _begin_draft(self) -> None:
        """Let a call in a thought wait for what comes behind it."""
        guessed = self.thought.guess is not None
        self._tell(self.thought.settle())
        log, rest = self.calls, self._source.rest
        before = copy(self.thought), replace(log, read=log.read[:], cut=log.cut[:])
        begun = Draft(*before, copy(self._calling), self._out, [rest], len(rest))
        if guessed:
            begun.thought.begin_guess()
        self._calling.draft, self._out = begun, []

    def _look_at_head(self, stop: int) -> bool | None:
        """Begin a form that is the whole reply, if no mark stands before it; tell whether it has
        begun, None where none stands here.
        """
        if self._state not in IN_TEXT or self._state not in SILENT_SO_FAR or self._values.open:
            return None
        text, last = self._source.rest, self._source.last
        blanks = len(text) - len(text.lstrip(BLANKS))
        if not text or (blanks == len(text) <= BLANKS_LIMIT and not last):
            return False
        if stop <= blanks < len(text):
            return None  # a mark stands here, or may
        found = self._source.look_at(_WHOLE, blanks)
        if found is None:
            return False
        self._calling.at_head = False
        if not found[0]:
            return None
        self._take_lead(blanks)
        mark = CallMark(found[0], found[0], guards=False)
        met = MetMark(mark, MarkPlace.AT_BREAK, in_code=False, doubted=True, whole=True)
        return self._read_call(met)

    def _read_call(self, met: MetMark) -> bool:
        number, calling = len(self.calls.read), self._calling
        calling.open = OpenCall.begin(met, self._source, calling.asked, number, calling.between)
        return True

    # Calls: their text, and their end.

    def _go_on(self, call: OpenCall) -> bool:
        """Read on in a call; tell whether there is more to read."""
        place = call.place
        over = place.advance()
        if call.met.whole and place.text.fate is Fate.TEXT:  # no tool's: read as text
            self._calling.open, self._source.consumed = None, len
            words = "".join(it.text for it in place.text.drain() if isinstance(it, Text))
            return self._put_back(call.met, words)
        if over:
            return self._end(call)
        self._pass_on(call)
        return False

    def _pass_on(self, call: OpenCall) -> None:
        """Give out all that the call's reader has decided."""
        for event in call.place.text.drain():
            if call.enters or not isinstance(event, Text):
                self._enter(call.met.mark)
            if isinstance(event, Text):
                self._say(event.text)
            else:
                self.answer.lead = ""
                self._out.append(event)

    def _enter(self, mark: CallMark) -> None:
        """Be between the marks of a call."""
        if self._state not in IN_CALL:
            self._step(Mark.TOOL)
        if self._calling.between is not mark:
            self._calling.between, self._calling.has_arguments = mark, False
            self._look()

    def _end(self, call: OpenCall) -> bool:
        """Take the text for calls or words once that is known; tell whether it is."""
        place, source = call.place, self._source
        counts = not place.refused
        if place.text.doubted and counts:
            decided = call.counts(source, self._marks)
            if decided is None:
                return False
            counts = decided
        self._calling.open = None
        self.calls.note_cut(place, source.last)
        if counts:
            place.text.doubted = False
        if not place.text.doubted:
            self._pass_on(call)
            self.calls.note(place, source.last)
        if not counts and (place.text.doubted or place.text.fate is Fate.HELD):
            return self._put_back(call.met, "".join(place.text.held), fits=not place.refused)
        self._leave(call)
        self._calling.behind = place.text.fate is Fate.TAKEN and not place.refused
        return True

    def _leave(self, call: OpenCall) -> None:
        """Go on behind a call: out of its marks, unless it is none and they are still to come."""
        place, source, mark = call.place, self._source, call.met.mark
        if place.text.fate is Fate.TAKEN:
            rest = "" if place.refused and source.last else source.rest
            source.rest = place.unfit + rest  # half a mark at a cut call's end is no text
        if self._state in IN_CALL and not (place.refused and mark.close):
            closed = not mark.close or self._context.before.endswith(mark.close)
            if place.text.fate is Fate.TAKEN or (closed and call.around is NO_MARK):
                self._step(Mark.TOOL_END)
                self._context = Context()
            elif call.around is not NO_MARK:
                self._enter(call.around)

    def _put_back(self, met: MetMark, held: str, fits: bool = False) -> bool:
        """Say that a mark begins no call. The text behind it is scanned again, unless it is long or
        `fits` the form; between the marks of a call, or in its JSON, it holds no tags.
        """
        source, mark = self._source, met.mark
        if met.whole:
            source.rest = self.answer.take_lead() + held + source.rest
            self._context = Context()
            return True
        if fits:
            self._say(held)
            return True
        behind = (held + source.rest)[len(mark.mark) :]
        nested = self._state in IN_CALL and self._calling.between is not NO_MARK
        guarded = not nested and not self._values.open and met.guards(behind)
        if guarded:
            self._enter(mark)
        if len(held) > RESCAN_LIMIT:
            self._say(held)
            return True
        source.rest = held + source.rest
        if guarded:
            return self._begin_text(mark)
        silent = self._table.silent_at(source.rest)
        outside = not (nested or self._values.open)
        if silent and outside and not met.in_code:
            return self._leave_out(len(silent))
        if outside and met.shows_value(behind):
            self._say(source.take(len(mark.mark)))
            self._values.begin()
            self._look()
        else:
            self._say(source.take(1))
        return True

    def _begin_text(self, mark: CallMark) -> bool:
        """Begin a text between a call's marks. Those of a call that is forbidden are no text."""
        taken = self._source.take(len(mark.mark))
        if not self._table.forbids_calls:
            self._say(taken)
        if not mark.close:
            self._values.begin(header=True)
            self._look()
        return True
