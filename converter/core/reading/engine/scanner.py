"""The engine's scan: text up to the next mark, and the table's step for it.

`Engine` adds what stands between the marks of a call.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from converter.core.model.events import Event, LateCloser
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.engine.candidate import Candidate, heads_in_section
from converter.core.reading.engine.context import BLANKS, Context
from converter.core.reading.engine.grammar_start import GrammarStart
from converter.core.reading.engine.json_values import JsonValues
from converter.core.reading.engine.mark_table import (
    ALL_CLOSERS,
    CALL_MARKS,
    MarkTable,
    is_half_closer,
)
from converter.core.reading.engine.outcome import Answer, CallLog, Draft, OpenThought
from converter.core.reading.engine.source import Source
from converter.core.reading.engine.states import (
    BEHIND_CALL,
    FIRST_STATE,
    IN_TEXT,
    IN_THOUGHT,
    MAY_BE_DRAFT,
    NEXT_STATE,
    SAID_AS_THINKING,
    SILENT_SO_FAR,
    UNDECIDED,
    State,
)
from converter.core.reading.mark_search import Mark, MarkSearch, PhraseSearch
from converter.core.reading.thought import ENDS, Said, attribute_tag
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT

_NO_CALLS = Expectations({})
_ON_A_LINE = (Mark.SILENT, Mark.UNMATCHED, Mark.TOOL_END, Mark.PHRASE, Mark.PHRASE_END)
"""Marks behind which the line goes on."""
_LINE_END = re.compile(r"[\r\n][ \t\r\n]*+\Z")
"""The held text before a call: no lone blank, or every other word would wait for the next."""


class Scanner(ABC):
    """Text and thoughts of one choice; calls are left to who reads them.

    `source`: the text that has come; `context`: the place behind what was given out.
    """

    def __init__(
        self,
        table: MarkTable,
        start: Mode = Mode.ANSWERING,
        choice: int = 0,
        json_answer: bool = False,
        *,
        asked: Expectations | None = None,
        whole_calls: bool = False,
        made_by: Grammar = Grammar.NONE,
    ) -> None:
        self._table = table
        self._start = GrammarStart(made_by, start)
        self._state = FIRST_STATE[self._start.mode]
        self._source = Source()
        self._context = Context()
        self.thought = OpenThought(choice, self._start.mode is Mode.GUESSED)
        self.answer = Answer(choice)
        self.calls = CallLog()
        self._asked = asked or _NO_CALLS
        self._at_head = table.reads_calls and whole_calls
        self._candidate: Candidate | None = None
        self._section: tuple[CallRow, ...] = ()  # rows of which another call may follow directly
        self._behind = False
        self._draft: Draft | None = None
        self._late: tuple[str, ...] = ()  # closing marks of a call, which may come behind words
        self._shown = False  # calls are shown to the user here
        self._values = JsonValues(json_answer)
        self._out: list[Event] = []
        self._look()

    @abstractmethod
    def _meet_call(self, literal: str) -> bool:
        """Read the text behind a mark of calls; tell whether there is more to read."""

    @abstractmethod
    def _look_at_head(self, stop: int) -> bool | None:
        """Begin a form that is the whole reply, if no mark stands before it; tell whether it has
        begun, None where none stands here.
        """

    def _look(self) -> None:
        """Find the marks that count here, and the search for JSON, where such may begin."""
        table, state = self._table, self._state
        if self._values.open:
            self._marks: MarkSearch = table.within_value
        elif self.thought.row and state in IN_THOUGHT:
            head = state is State.OPENED
            self._marks = table.within_thought(self.thought.row, self.thought.suffix, head)
        else:
            thought = self.thought
            self._marks = table.marks(
                state,
                *self.answer.frames,
                late=self._late if state in (State.ANSWERING, State.CALLED) else (),
                again=heads_in_section(self._section) if state in BEHIND_CALL else (),
                thought=thought.begun,
                told=thought.told,
            )
        self._values.look(state, table.offered)

    def _scan(self) -> bool:
        """Say the text up to a mark and take the mark; tell whether there is more to read."""
        if self._behind and not self._skip_behind_call():
            return False
        source, marks = self._source, self._marks
        text, last = source.rest, source.last
        until = len(text) - (0 if last else marks.undecided(text, 0))
        found = marks.search(text)
        if found and not last and found.start() >= until:
            found = None  # it may become a longer mark
        stop = found.start() if found else until
        if self._at_head and (begun := self._look_at_head(stop)) is not None:
            return begun
        lead = self._lead_before(text, stop, found)
        if self._begins_value(text, stop) or self._ends_value(text, stop - lead):
            return True
        self._say(source.take(stop - lead))
        if found and lead and marks is self._marks:
            self._take_lead(lead)
        if marks is not self._marks:
            return True  # the words changed the marks that count: look again
        if isinstance(marks, PhraseSearch) and not found:
            return self._lets_go(marks, lead)
        return found is not None and self._meet(found)

    def _lets_go(self, marks: PhraseSearch, lead: int) -> bool:
        """Say a character that could only begin a phrase, where none would count. `lead`: of the
        blanks that wait before it.
        """
        text = self._source.rest
        places = marks.places(text[lead:]) if text[lead:] else ()
        if not places or any(self._context.begins(place, text[:lead]) for place in places):
            return False
        self._say(self._source.take(lead + 1))
        return True

    def _skip_behind_call(self) -> bool:
        """Drop the blanks and closing marks behind a call; tell whether text follows."""
        source = self._source
        closers = ALL_CLOSERS if self._values.open else self._table.behind_calls
        while True:
            source.take(len(source.rest) - len(source.rest.lstrip(BLANKS)))
            closer = source.look_at(closers, 0)
            if (
                closer
                and not closer[0]
                and source.last
                and source.rest
                and is_half_closer(source.rest)
            ):
                source.take(len(source.rest))  # the reply ended within a closing mark
            if not closer or not closer[0]:
                return closer is not None and source.rest != ""
            source.take(len(closer[0]))

    def _lead_before(self, text: str, stop: int, found: re.Match[str] | None) -> int:
        """Return how many characters before `stop` wait: line ends go with a call behind them."""
        if not self._table.reads_calls or self._state in SAID_AS_THINKING:
            return 0
        is_call = found is not None and found[0] in CALL_MARKS
        if not is_call and (self._state in UNDECIDED if found else self._source.last):
            return 0
        run = _LINE_END.search(text, max(0, stop - BLANKS_LIMIT), stop)
        return stop - run.start() if run else 0

    def _take_lead(self, length: int) -> None:
        """Take the blanks before a call: they go with it, or come back."""
        lead = self._source.take(length)
        self._context.feed(lead)
        if len(self.answer.lead) > BLANKS_LIMIT:
            self._out += self.answer.release()
        self.answer.lead += lead

    def _begins_value(self, text: str, stop: int) -> bool:
        """Tell whether JSON begins before `stop` that is a call or the answer; go there then."""
        place = self._values.begins(text, stop)
        if place is None or self._context.in_code:
            return False
        self._say(self._source.take(place))
        self._values.begin()
        self._look()
        return True

    def _ends_value(self, text: str, stop: int) -> bool:
        """Tell whether the JSON ends before `stop`; go behind it then."""
        end = self._values.ends(text[:stop])
        if end is None:
            return False
        self._say(self._source.take(end))
        self._values.open = None
        self._look()
        return True

    def _say(self, text: str) -> None:
        """Give out ordinary text, as the state reads it."""
        if not text:
            return
        self._behind, self._section = False, ()
        if self._state in SILENT_SO_FAR and not text.isspace():
            self.answer.closed_by("", {})
            self._begins_by(text)
            if self._state is State.CALLED_INSIDE:
                blanks = len(text) - len(text.lstrip())
                self._say(text[:blanks])
                text = text[blanks:]
            self._go(Mark.WORDS)
        # a backtick in JSON begins no code
        self._context.feed("{" if self._values.open else text)
        if self._draft:
            self._draft.hear(text, self._state is State.RESUMED, self.answer.choice)
            if self._draft.goes_on:
                self._settle_draft(as_thought=True)
            return
        if self._state in SAID_AS_THINKING:
            self._tell(self.thought.hear(text))
            return
        self._at_head = False
        waits = self._state in UNDECIDED
        self._out += self.answer.say(text, waits=waits)
        if waits and (state := self._start.by_length(text)):
            self._begin_at(state)

    def _begins_by(self, text: str) -> bool:
        """Tell whether the first words or the first mark of a reply decide where it begins."""
        state = self._start.by_first(text) if self._state is State.UNDECIDED_HEAD else None
        if state:
            self._begin_at(state)
        return state is not None

    def _begin_at(self, state: State) -> None:
        """Go on as if the reply had begun there; the words that waited are of that kind."""
        before, self._state = self.answer.take_waiting(), state
        if state is State.BEGINNING and self._start.guessed:
            self.thought.begin_guess()
        for event in before:
            if state in IN_THOUGHT:
                self._tell(self.thought.hear(event.text))
            else:
                self._out.append(event)
        self._look()

    def _tell(self, said: Sequence[Said]) -> None:
        """Give out words of a thought, or its end; the blanks before it were no call's."""
        if said:
            self._out += self.answer.release()
            self._out += said
            if not self.thought.told and self._state is not State.PHRASED:
                self.thought.told = True
                self._look()

    def _ordinary(self) -> bool:
        self._say(self._source.take(1))
        return True

    # Marks.

    def _meet(self, found: re.Match[str]) -> bool:
        """Act on the mark that comes next; tell whether there is more to read."""
        if self._begins_by(found[0]):
            return True
        mark, spelled, suffix = self._marks.read(found[0])
        if (self._state, mark) not in NEXT_STATE or self._is_words(mark, spelled):
            if mark is Mark.CLOSE and not self.thought.begun and not self._context.in_code:
                self.answer.note_unmatched(self._context.before[-1:], found[0])
            return self._ordinary()
        if meeting := self._meeting(mark):
            return meeting(found[0])
        self._source.take(len(found[0]))
        self._shown = found[0] in self._table.shows_calls
        self._late = () if found[0] in self._late else self._late
        if mark is Mark.UNMATCHED and not self.thought.told:
            self.answer.dropped_closer = True
        if mark is Mark.CLOSE and self._state is State.PHRASED:
            self.thought.told, self.thought.unclosed = True, False
            self.answer.note_unmatched(self._context.before[-1:], "")
        if mark is Mark.OPEN and self._state is not State.OPENED:
            self.thought.open(self._table.opened_by[spelled], suffix)
        self._step(mark, spelled)
        return True

    def _meeting(self, mark: Mark) -> Callable[[str], bool] | None:
        """Return the action for a mark of which the text behind it decides."""
        return {
            Mark.FRAME_END: self._meet_frame_end,
            Mark.WITH_ATTRIBUTES: self._meet_attributes,
            Mark.TOOL: self._meet_call,
            Mark.PHRASE: self._meet_phrase,
            Mark.PHRASE_END: self._meet_phrase,
        }.get(mark)

    def _is_words(self, mark: Mark, literal: str) -> bool:
        """Tell whether a mark is text, by its place."""
        if self._values.open and self._values.open.quoted:
            return not (mark is Mark.TOOL and CALL_MARKS[literal].special)
        if self._state not in IN_TEXT or mark in (Mark.FRAME_END, Mark.TOOL):
            return False
        if mark in (Mark.PHRASE, Mark.PHRASE_END) and not self._context.begins(literal[0]):
            return True
        row = self._table.opened_by.get(literal) if mark is Mark.OPEN else None
        if row and row.not_behind and re.search(row.not_behind, self._context.before):
            return True
        return self._context.in_code

    def _meet_attributes(self, literal: str) -> bool:
        text = self._source.rest
        found = attribute_tag(text, 0, len(literal))
        if found and not found["end"] and not self._source.last and len(text) < ATTRIBUTE_LIMIT:
            return False
        mark = found and ENDS.get(found["end"])
        if not found or not mark or (self._state, mark) not in NEXT_STATE:
            return self._ordinary()
        self._source.take(found.end())
        self.thought.open(self._table.attributes_of[literal], "")
        self._step(mark)
        self._tell(self.thought.read_attributes(found[0]))
        if mark is Mark.WHOLE:
            self._tell(self.thought.end())
        return True

    def _meet_phrase(self, literal: str) -> bool:
        """Begin or end a thought before a phrase, which is a part of what follows."""
        begins = self._state is not State.PHRASED
        self._step(Mark.PHRASE if begins else Mark.PHRASE_END)
        if begins:
            self.thought.forget()
        self.thought.unclosed = begins
        self.answer.spoke = True
        self._say(self._source.take(len(literal)))
        return True

    def _meet_frame_end(self, literal: str) -> bool:
        """The answer's closer goes at the reply's very end, blanks behind it or not; anywhere else
        it is text.
        """
        behind = self._source.rest[len(literal) : len(literal) + BLANKS_LIMIT + 1]
        if len(behind) > BLANKS_LIMIT or behind.strip():
            return self._ordinary()
        if self._source.last:
            self._source.take(len(literal))
            self._step(Mark.FRAME_END)
        return self._source.last

    def _step(self, mark: Mark, literal: str = "") -> None:
        """Take the table's step, and begin anew behind the mark."""
        if self._draft and NEXT_STATE[self._state, mark] not in MAY_BE_DRAFT:
            directly = self._state is State.CALLED_INSIDE and self._draft.counts
            as_thought = mark is Mark.CLOSE and not directly
            self._settle_draft(as_thought=as_thought, behind=len(literal))
        if mark not in (Mark.SILENT, Mark.UNMATCHED):
            self._settle_before(mark)
            self._tell(self.thought.settle())
        guess_ends = self._state is State.PHRASED and mark is not Mark.SILENT
        if guess_ends or (mark in (Mark.CLOSE, Mark.TOOL) and not self._draft):
            self._tell(self.thought.end())
        late = mark is Mark.CLOSE and self._state in BEHIND_CALL
        if late and self._table.reads_calls:
            self._out.append(LateCloser(self.answer.choice))
        if mark in (Mark.FRAME, Mark.FRAME_END):
            self.answer.frame(opens=mark is Mark.FRAME)
        closed = literal if mark is Mark.CLOSE else ""
        self.answer.closed_by(closed, self._table.answer_tags)
        if mark in _ON_A_LINE:
            self._context.begin_code_anew()
        elif mark is not Mark.TOOL or self._state in IN_THOUGHT:
            self._context = Context()
        self._go(mark)

    def _go(self, mark: Mark) -> None:
        self._state = NEXT_STATE[self._state, mark]
        self._look()

    def _settle_draft(self, as_thought: bool = False, behind: int = 0) -> str:
        """Let the calls in a thought go out; return the words behind the last one. `as_thought`:
        they were a draft, because the thought went on, so that all that waited is a part of the
        thought, but the last characters, `behind`.
        """
        draft, self._draft = self._draft, None
        if draft is None:
            return ""
        if as_thought:
            del self.calls.read[draft.before :]
            self._state, self._behind = State.THINKING, False
            self._tell(self.thought.hear(draft.said_until(len(self._source.rest) + behind)))
            self._look()
            return ""
        self._tell(self.thought.settle())
        self._tell(self.thought.end())
        self._out += draft.events
        return draft.words

    def _settle_before(self, mark: Mark) -> None:
        """Give out the words of UNDECIDED: a thought if a closer comes first, and else text."""
        before = self.answer.take_waiting()
        if mark is Mark.CLOSE and self._state is not State.UNDECIDED_HEAD:
            for event in before:
                self._tell(self.thought.feed(event.text))
        else:
            self._out += before

    def _is_torn(self) -> bool:
        """Tell whether the held text is the beginning of a mark that is never prose."""
        held = self._source.rest
        if self._candidate or not held.startswith(self._table.torn):
            return False
        in_code = self._state in IN_TEXT and self._context.in_code
        return not in_code and self._marks.is_torn(held)
