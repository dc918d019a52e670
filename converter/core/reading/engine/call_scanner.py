"""The scan's part for calls: where a candidate begins, and what becomes of it at its end.

A mark of calls begins a candidate once its head is complete (`_meet_call`), a form without marks
where it may be the whole reply (`_look_at_head`). The candidate takes all text up to a point at
which the judge has a verdict (`_go_on`). Then it is calls (`_call`), text (`_refuse`), or a call
that must not run (`_break`). In a thought its calls wait in a `Draft`.
"""

from dataclasses import replace

from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.engine.behind_mark import begins_words, may_begin_call
from converter.core.reading.engine.candidate import Candidate, Stands, find_start
from converter.core.reading.engine.context import BLANKS, Context, MarkPlace
from converter.core.reading.engine.mark_table import CALL_MARKS, CallMark
from converter.core.reading.engine.outcome import Draft, ReadCall
from converter.core.reading.engine.scanner import Scanner
from converter.core.reading.engine.states import (
    IN_TEXT,
    IN_THOUGHT,
    NEXT_STATE,
    SILENT_SO_FAR,
    State,
)
from converter.core.reading.mark_search import Mark
from converter.core.reading.rows import Counts
from converter.core.reading.thought import Thought
from converter.core.reading.tool_calls.extent import Point
from converter.core.reading.tool_calls.forms import SECTIONS, WHOLE
from converter.core.reading.tool_calls.head import Head, Tools
from converter.core.reading.tool_calls.verdict import End, Failed, JudgedCall, Verdict
from converter.core.wire.bounds import (
    BLANKS_LIMIT,
    HELD_LIMIT,
    MOST_CALLS,
    PYTHON_LIMIT,
    WAITING_LIMIT,
)

RESCAN_LIMIT = 4096
"""Characters of a text without a complete head that are searched again for marks; longer ones are
text at once, so that no text is looked at often."""
_WORDS_LIMIT = 400
"""Characters of a line behind a call's mark that are searched for the call."""
_WHOLE = tuple(WHOLE)
_EDGES = BLANKS + ",;}]"
"""Characters that say nothing behind a call, between its marks."""


class CallScanner(Scanner):
    """Candidates in text and thoughts. `_ended_by`: why the reply ended, once it has."""

    _ended_by = End.CUT

    @property
    def _most(self) -> int:
        return MOST_CALLS if self._asked.most is None else self._asked.most

    @property
    def _tools(self) -> Tools | None:
        """The tools whose calls count now; None where none are read."""
        if not self._table.reads_calls:
            return None
        return self._asked.tools if len(self.calls.read) < self._most else {}

    # Where they begin.

    def _meet_call(self, literal: str) -> bool:
        """Begin a candidate at a mark of calls, or tell the mark as words: a call that is only
        shown is text. Special tokens are never prose: they count everywhere, in code as well.
        """
        counts = self._section[0].counts if self._section else Counts.AS_WHOLE_REPLY
        mark = CALL_MARKS.get(literal) or CallMark(literal, literal, counts, guards=False)
        text, last = self._source.rest, self._source.last
        behind = text[len(literal) :]
        if (empty := self._is_empty_section(mark, behind)) is not False:
            return empty is not None and self._leave_out(len(literal))
        if self._is_shown(mark):
            return self._show(mark, behind)
        start = find_start(mark, text, self._tools, last, self._section)
        if start and start.head is Head.WAITING:
            return False
        if start is None:
            begins = self._guards(mark, behind)
            if begins is not True:
                return begins is not None and self._show(mark, behind)
        forbidden = self._table.forbids_calls
        return self._begin(Candidate.begin(mark, start, self._stands(mark), text, forbidden))

    @property
    def _inside(self) -> bool:
        return self._state in IN_THOUGHT or self._state is State.CALLED_INSIDE

    def _is_shown(self, mark: CallMark) -> bool:
        """Tell whether a call would only be shown here."""
        context = self._context
        if not self._inside:
            return self._shown or (context.shows_calls and not mark.special)
        in_words = context.place in (MarkPlace.QUOTED, MarkPlace.IN_SENTENCE)
        return not mark.special and (context.in_fence or in_words)

    def _stands(self, mark: CallMark) -> Stands:
        if self._inside:
            return Stands.IN_THOUGHT
        in_sentence = self._context.place is MarkPlace.IN_SENTENCE
        doubted = in_sentence and not (mark.special or self.calls.read)
        return Stands.IN_SENTENCE if doubted else Stands.ALONE

    def _guards(self, mark: CallMark, behind: str) -> bool | None:
        """Tell whether nothing is a tag behind a mark, though no calls are read; None: more text
        must tell.
        """
        in_code = self._context.in_code and not self._inside
        if self._table.reads_calls or not mark.guards or in_code:
            return False
        at = MarkPlace.AT_BREAK if mark.special else self._context.place
        return may_begin_call(at, behind, self._source.last)

    def _show(self, mark: CallMark, behind: str) -> bool:
        """Tell a mark of calls as words. JSON that is shown behind it holds no tags."""
        self._at_head = False
        if self._state not in IN_TEXT or self._values.open or self._context.in_code:
            return self._ordinary()
        if mark.guards and self._table.reads_calls and self._context.at_line_head:
            follows = self._call_follows(behind)
            if follows is not False:
                return follows is not None and self._leave_out(len(mark.mark))
        if silent := self._table.silent_at(self._source.rest):
            return self._leave_out(len(silent))
        in_sentence = self._context.place is MarkPlace.IN_SENTENCE
        if in_sentence and mark.guards and behind.lstrip()[:1] in ("[", "{"):
            self._say(self._source.take(len(mark.mark)))
            self._values.begin()
            self._look()
            return True
        return self._ordinary()

    def _call_follows(self, behind: str) -> bool | None:
        """Tell whether a call of an offered tool follows words behind a mark at a line's head;
        None: more text must tell.
        """
        line, last = behind[:_WORDS_LIMIT].partition("\n")[0], self._source.last
        for found in self._table.calls.finditer(line):
            mark = CALL_MARKS[found[0]]
            start = find_start(mark, behind[found.start() :], self._tools, last)
            if start and start.head in (Head.WAITING, Head.NAMED):
                return True if start.head is Head.NAMED else None
        return False if last or len(line) < len(behind) else None

    def _is_empty_section(self, mark: CallMark, behind: str) -> bool | None:
        """Tell whether words stand where a section's calls should, so that its mark, a special
        token, is no text; None: more text must tell.
        """
        if not mark.special or mark.begins not in SECTIONS or self._context.in_code:
            return False
        if self._state in IN_THOUGHT or (self._state, Mark.SILENT) not in NEXT_STATE:
            return False
        return begins_words(behind, self._source.last)

    def _leave_out(self, length: int) -> bool:
        self._source.take(length)
        self._step(Mark.SILENT)
        return True

    def _look_at_head(self, stop: int) -> bool | None:
        """Begin a form that is the whole reply, if no mark stands before it; tell whether it has
        begun, None where none stands here.
        """
        if self._state not in IN_TEXT or self._state not in SILENT_SO_FAR or self._values.open:
            return None
        text, last = self._source.rest, self._source.last
        blanks = len(text) - len(text.lstrip(BLANKS))
        if stop <= blanks < len(text):
            return None  # a mark stands here, or may
        found = self._source.look_at(_WHOLE, blanks)
        if found is None or not text or (blanks == len(text) <= BLANKS_LIMIT and not last):
            return False
        mark = CallMark(found[0], found[0], guards=False)
        rows = WHOLE[found[0]] if found[0] else ()
        start = find_start(mark, text[blanks:], self._tools, last, rows) if rows else None
        if start and start.head is Head.WAITING:
            return False
        self._at_head = False
        if start is None or start.head is Head.UNOFFERED:
            return None
        self._take_lead(blanks)
        return self._begin(Candidate.begin(mark, start, Stands.AS_REPLY, self._source.rest))

    def _begin(self, candidate: Candidate) -> bool:
        self._candidate, self._at_head = candidate, False
        if candidate.stands is Stands.IN_THOUGHT and not self._draft:
            rest = self._source.rest
            self._draft = Draft(len(self.calls.read), [rest], len(rest))
        return True

    # Their text, and their end.

    def _go_on(self, candidate: Candidate) -> bool:
        """Read on in a candidate; tell whether there is more to read."""
        source, tools = self._source, self._tools or {}
        if candidate.ended:
            return self._wait_behind(candidate, *candidate.ended)
        text, source.rest = source.rest, ""
        while point := candidate.feed(text, source.last):
            text = ""
            if not candidate.is_text and point.behind > self._limit(candidate):
                return self._give_up(candidate)
            if verdict := candidate.verdict(point, tools):
                return self._end(candidate, verdict, point)
        if source.last:
            return self._end(candidate, *candidate.last_verdict(self._ended_by, tools))
        if not candidate.is_text:
            return candidate.length > self._limit(candidate) and self._give_up(candidate)
        if candidate.stands is not Stands.IN_THOUGHT and not self._table.forbids_calls:
            self._say(candidate.take_said(candidate.sure))
        return False

    def _limit(self, candidate: Candidate) -> int:
        if candidate.is_python:
            return PYTHON_LIMIT
        return WAITING_LIMIT if candidate.named and self._breaks(candidate) else HELD_LIMIT

    def _give_up(self, candidate: Candidate) -> bool:
        """End a candidate that is longer than may wait: a call is broken, other text is text. It
        ends at its limit, wherever the text is cut.
        """
        end, verdict = self._limit(candidate), Verdict(failed=Failed.TEXT)
        if end == WAITING_LIMIT:
            verdict = Verdict(failed=Failed.BROKEN, broken=candidate.name(self._tools or {}))
        return self._end(candidate, verdict, Point(End.STOP, end, end))

    def _end(self, candidate: Candidate, verdict: Verdict, point: Point) -> bool:
        """Take the text for calls or words, or wait for what follows."""
        text, self._candidate = candidate.text, None
        self._source.rest = text[point.behind :] + self._source.rest
        written = text[: point.behind]
        if candidate.is_draft(point):
            self._settle_draft(as_thought=True)
            return True
        if candidate.is_text:
            return self._end_text(candidate, point)
        if verdict.calls:
            if candidate.waits(point, self._asked.in_sentences):
                candidate.ended, candidate.pieces = (verdict, point), [written]
                self._candidate = candidate
                return True
            return self._call(candidate, verdict, point)
        if verdict.failed is Failed.BROKEN and self._breaks(candidate):
            return self._break(verdict.broken)
        if self._source.last and point.end in (End.STOP, End.CUT) and candidate.named:
            self.calls.cut.append(candidate.name(self._tools or {}))
        return self._refuse(candidate, written)

    def _wait_behind(self, candidate: Candidate, verdict: Verdict, point: Point) -> bool:
        """Let what follows tell whether the calls count."""
        counts = candidate.counts(self._source, self._marks)
        if counts is None:
            return False
        self._candidate = None
        if counts:
            return self._call(candidate, verdict, point)
        return self._refuse(candidate, candidate.text[: point.behind])

    def _end_text(self, candidate: Candidate, point: Point) -> bool:
        """End a text that only looks like a call. The marks of a call that is forbidden go."""
        text = candidate.text
        said = text[candidate.said : point.behind]
        if self._table.forbids_calls:
            said = candidate.blanks + text[candidate.body : point.at]
        if candidate.stands is Stands.IN_THOUGHT:
            return self._hold([Text(said, self._asked.choice)], counts=False)
        self._say(said)
        if point.end in (End.MARK, End.BODY):
            self._step(Mark.TOOL)
            self._context = Context()
        return True

    def _breaks(self, candidate: Candidate) -> bool:
        """Tell whether the candidate ends the reply if it is broken. A draft never does."""
        return candidate.stands is Stands.ALONE and self._asked.in_sentences

    def _break(self, name: str) -> bool:
        """End the reading at a call that must not run: nothing behind it counts."""
        self.calls.broken = self.calls.broken or name
        self._source.rest = ""
        return False

    def _call(self, candidate: Candidate, verdict: Verdict, point: Point) -> bool:
        """Let the calls go out; what stands behind them between the marks is text."""
        row = candidate.row
        behind = candidate.text[candidate.body + verdict.length : point.at]
        self._source.rest = (behind if behind.strip(_EDGES) else "") + self._source.rest
        if self._source.last and candidate.is_half_closer(self._source.rest.strip()):
            self._source.rest = ""  # what can only begin a closing mark is no text
        events = [event for call in verdict.calls for event in self._events(call, row.name)]
        lacks_mark = candidate.opened and bool(row.closes) and point.end is not End.MARK
        if candidate.stands is Stands.IN_THOUGHT:
            self._hold(events, counts=row.in_thoughts and not lacks_mark)
        else:
            self.answer.lead = ""
            self._step(Mark.TOOL)
            self._context.feed("\n\n")  # a paragraph begins behind
            self._out += events
        self._behind = True
        self._section = SECTIONS.get(candidate.mark.begins, self._section)
        if not self._section and candidate.opened and not candidate.closes(point):
            self._section = (row,)
        self._late = row.closes if candidate.opened and point.end is End.BODY else ()
        self._look()
        broken = verdict.failed is Failed.BROKEN and self._breaks(candidate)
        return self._break(verdict.broken) if broken else True

    def _events(self, call: JudgedCall, form: str) -> list[Event]:
        """Return a call, and the text before it; nothing for one too many."""
        number, choice = len(self.calls.read), self._asked.choice
        if number >= self._most:
            return []
        self.calls.read.append(ReadCall(number, call.name, form, not call.is_open))
        name = call.id or f"{self._asked.ids}{number}"
        event = ToolCall(number, name, call.name, call.arguments, choice)
        before: list[Event] = [Text(call.lead, choice)] if call.lead else []
        return [*before, replace(event, read_from=f"text ({form})", ends=not call.is_open)]

    def _hold(self, events: list[Event], *, counts: bool) -> bool:
        """Let calls in a thought wait for what comes behind them. `counts`: they are calls though
        the thought is closed behind them.
        """
        draft = self._draft
        assert draft
        if draft.words:
            thought = Thought(self._asked.choice)
            draft.events += [*thought.feed(draft.words), *thought.end()]
            draft.words = ""
        draft.events += events
        draft.counts = draft.counts and counts
        self._state, self._context = State.CALLED_INSIDE, Context()
        self._look()
        return True

    def _refuse(self, candidate: Candidate, text: str) -> bool:
        """Tell a candidate as text. Behind a mark whose head was not complete the text is scanned
        again, unless it is long.
        """
        mark, source = candidate.mark, self._source
        is_span = candidate.named or len(text) > RESCAN_LIMIT
        if candidate.stands is Stands.IN_THOUGHT:
            if is_span:
                return self._hold([Text(text, self._asked.choice)], counts=False)
            source.rest = text + source.rest
            if self._draft and not self._draft.events:
                self._draft = None
            self._say(source.take(len(mark.mark)))
            return True
        if candidate.stands is Stands.AS_REPLY and not is_span:
            source.rest = self.answer.take_lead() + text + source.rest
            self._context = Context()
            return True
        if is_span or (mark.close and text.endswith(mark.close)):
            self._say(self._table.without_silent(text))
            self._context.begin_code_anew()  # a fence within it is its own
            return True
        source.rest = text + source.rest
        return self._show(mark, text[len(mark.mark) :])
