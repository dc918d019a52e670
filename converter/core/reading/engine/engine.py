"""`Engine` reads the text of a reply, and returns text, thinking and tool calls. Here are the loop
and the steps at a mark; `states` and `mark_table` have the tables that it follows. A new mark is a
row of `families` or `tool_calls.forms`.

The loop. `Engine` has the text that was not read yet (`Source`) and a state (`states`). It searches
for the marks that count in this state, emits the text before the first mark, and looks up the next
state for the mark. A mark without an entry in the table is ordinary text. If a step cannot be
decided yet, it raises `NeedMore`, and the undecided text stays held. The loop then ends, and the
step is tried again when more text has come, or when the reply has ended.

Calls. A mark of calls begins a `Candidate` if the head of a call stands behind it, and if the text
does not only show the call. While a candidate is held, the table is not used, and all text goes to
the candidate, until the judge has a verdict at a point where it may end, or it is too long
(`_limit_of`). It then becomes calls (`_emit_calls`), text (`_emit_as_text`,
`_emit_unoffered_call`), or a call that must not run (`_break_reply`). At some positions in a reply,
the text behind the candidate decides whether its calls count (`COUNTED`). Calls in a thought wait
in a `Draft`.

Nothing is lost: thinking, text, calls and marks together are the text that came in. The exceptions
are CR and LF around a thought, thoughts of nothing but blanks, blanks before a call, `_EDGES`
behind it, and all text behind a call that must not run.

The decisions at a mark, and where each is made, by the numbers of `docs/reading.md`:

1. Text that may become a mark is held: `_scan`.
2. In Markdown code, a mark of a thought is text. So is a phrase at a position where it does not
   count: `_mark_is_text`. In JSON (`_read_up_to_json`) only marks of calls count, if calls are
   read, and in a string of JSON only those that are special tokens.
3. to 5. The effect of a mark: the tables in `states`.
6. Special tokens without an effect are dropped: the fields `ignored`, `again` and `torn` of the
   rows, and `_is_empty_section`.
7. A call is read, or is text that only shows a call: `_take_call`. At some positions, the text
   behind the call decides: `COUNTED`.
8. Once a thought has come in a field, another table of marks counts: `begin_answer`.
9. A call in a thought ends the thought, or was a draft: `_settle_draft`.
"""

import re
from collections.abc import Sequence

from converter.core.calls.schema_values import Schemas
from converter.core.model.events import (
    Event,
    LateCloser,
    Text,
    TextKind,
    Thinking,
    ToolCall,
    joined,
)
from converter.core.reading.beginning import JSON_BEGINS, Grammar, Mode
from converter.core.reading.engine.candidate import (
    Candidate,
    begins_prose,
    find_any_start,
    find_start,
)
from converter.core.reading.engine.context import BLANKS, Context
from converter.core.reading.engine.mark_table import (
    ALL_CLOSERS,
    CALL_MARKS,
    FULL_MARKS,
    CallMark,
    MarkTable,
    is_half_closer,
    thought_search,
)
from converter.core.reading.engine.outcome import Answer, CallLog, Draft, OpenThought, ReadCall
from converter.core.reading.engine.source import Source
from converter.core.reading.engine.states import (
    BEHIND_CALL,
    COUNTED,
    EMITTED_AS_THINKING,
    FIRST_STATE,
    IN_TEXT,
    IN_THOUGHT,
    MAY_BE_DRAFT,
    NEXT_STATE,
    SILENT_SO_FAR,
    UNDECIDED,
    Follows,
    Stands,
    State,
)
from converter.core.reading.json_extent import JsonExtent
from converter.core.reading.mark_search import Mark, MarkSearch, NeedMore, PhraseSearch
from converter.core.reading.rows import Counts
from converter.core.reading.thought import ENDS, Guess, Thought, ThoughtEvent, match_attributes
from converter.core.reading.tool_calls.bodies import Python
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.calls_read import BY_ITSELF
from converter.core.reading.tool_calls.extent import Point
from converter.core.reading.tool_calls.forms import SECTIONS, WHOLE
from converter.core.reading.tool_calls.head import Expectations, Head
from converter.core.reading.tool_calls.verdict import End, Failed, Verdict
from converter.core.wire.bounds import (
    ATTRIBUTE_LIMIT,
    BLANKS_LIMIT,
    GUESS_LIMIT,
    HELD_LIMIT,
    PYTHON_LIMIT,
    WAITING_LIMIT,
)

STOP = "stop"
"""The finish reason of a reply that the model itself has ended. If such a reply was only guessed to
begin in a thought, and no closer has come, the end that is held (`Guess`) is the answer: a model
that thinks would have closed its thought.
"""
PIECE = 4096
"""How many characters are added to the unread text at once. Each step copies the unread text, so a
long text that is added in one piece would take quadratic time.
"""
RESCAN_LIMIT = 4096
"""The most characters of a candidate that is searched for further marks after it proved to be no
call. A longer one becomes text as a whole, so that no text is searched many times. A candidate with
the name of an offered tool in its head becomes text as a whole too.
"""
UNDECIDED_LIMIT = 4096
"""How many characters of a reply are held until a mark comes, if a grammar other than JSON
constrains the answer. If no closer comes within the limit, the text is the answer. Such answers are
short: a choice, a number, some lines.
"""
_LINE_LIMIT = 400
"""How many characters behind a mark that begins no call are searched for a call of an offered tool
in the same line. If a call is found, the mark before it was a stray one, and is dropped
(`_call_follows`).
"""
_NO_CALLS = Expectations({})
"""The expectations for a text in which no tool is offered and no calls are read."""
_WHOLE_REPLY_MARKS = tuple(WHOLE)
"""The marks of the forms whose calls must be the whole reply."""
_BLANKS = re.compile(f"[{BLANKS}]*+")
"""The pattern of any number of blanks, also none."""
_EDGES = BLANKS + ",;}]"
"""Blanks and characters of JSON. Text between a call and its closer is dropped if it consists of
these characters alone; else all of it is read as text behind the call.
"""
_ON_A_LINE = (Mark.SILENT, Mark.UNMATCHED, Mark.TOOL_END, Mark.PHRASE, Mark.PHRASE_END)
"""The kinds of marks behind which a line goes on. Behind a mark of another kind, text is read as if
a line began, so that a fence of Markdown code may stand there.
"""
_LINE_END = re.compile(r"[\r\n][ \t\r\n]*+\Z")
"""The pattern of a line end at the end of a text, with the blanks behind it. They are held, because
they are dropped if a call follows. Other blanks are not held, because then each blank between two
words would wait for the next word.
"""
_VALUE, _VALUE_AT_HEAD = re.compile(r"[\[{]"), re.compile(r"\A\s*+[\[{]")
"""The patterns for the beginning of JSON: anywhere in an answer, and at the answer's beginning. In
the strings of JSON only special tokens of calls count, because a string may be text about marks.
"""
_CODE_LINE = re.compile(r"[^`\n]*+\n?")
"""The pattern of the rest of a line in Markdown code, up to a backtick, which may end the code."""


class Engine:
    """The engine: it reads the text of one choice, and returns thinking, text and calls as events.

    `feed` and `flush` return events: `Text`, `Thinking`, `ThinkingEnd`, `LateCloser` and
    `ToolCall`. If neighbours of one kind are joined, the events do not depend on where the text was
    cut into pieces.

    Arguments:
        table: the marks that count.
        start: where the reply begins: in the answer, in a thought, or undecided.
        choice: the index of the choice.
        json_answer: True if the request asks for an answer in JSON.
        expectations: the offered tools, and other facts about calls; `None` if no calls are read.
        whole_calls: True if the forms of `WHOLE` are read too, whose calls must be the whole reply.
        grammar: the grammar to which the server constrains the answer. It matters only if `start`
            is a thought (THINKING, GUESSED).
    """

    def __init__(
        self,
        table: MarkTable,
        start: Mode = Mode.ANSWERING,
        choice: int = 0,
        json_answer: bool = False,
        *,
        expectations: Expectations | None = None,
        whole_calls: bool = False,
        grammar: Grammar = Grammar.NONE,
    ) -> None:
        self._table, self._expectations = table, expectations or _NO_CALLS
        self._wants_json = json_answer
        # If a grammar constrains the answer, some servers let the model think first, and others do
        # not. So a reply that was expected to begin in a thought is undecided until its text shows
        # whether it does.
        constrained = grammar is not Grammar.NONE and start in (Mode.THINKING, Mode.GUESSED)
        self._grammar = grammar if constrained else Grammar.NONE
        self._guessed = start is Mode.GUESSED
        self._undecided = 0  # how many characters of an undecided reply have come
        self._state = FIRST_STATE[Mode.UNDECIDED if constrained else start]
        self._source = Source()
        self._context = Context()  # the position of the next character: in code, in a sentence ...
        self.thought = OpenThought(choice, self._guessed and not constrained)
        self.answer = Answer(choice)
        self.calls = CallLog()
        # True while calls may still be the whole reply, because no text of an answer has come.
        self._at_head = table.reads_calls and whole_calls
        self._value: JsonExtent | None = None  # the open JSON in the answer
        self._candidate: Candidate | None = None
        self._draft: Draft | None = None
        # Directly behind a call: the forms in which the next call may begin without an opener, an
        # empty tuple for none. Elsewhere `None`.
        self._section: tuple[CallRow, ...] | None = None
        # The closers of the last call, if none of them has come. They may still come behind text,
        # and are then dropped.
        self._late: tuple[str, ...] = ()
        # True behind a header such as `to=user<|message|>` (`MarkTable.shows_calls`): calls in the
        # text behind it are only shown to the user.
        self._shown = False
        self._out: list[Event] = []
        self._select_marks()

    def begin_answer(self, table: MarkTable) -> None:
        """Read the text from here on as the answer, with the marks of `table`, because a thought
        came in a field. The caller must flush the engine before.
        """
        self._table, self._state = table, State.HEAD
        self.answer.expect_tags(table.answer_tags)
        self._select_marks()

    def stop_calls(self, table: MarkTable) -> None:
        """Read no calls from here on, because the server itself has sent a call. Only the marks of
        `table` count. The caller must flush the engine before.
        """
        self._table, self._expectations, self._at_head = table, _NO_CALLS, False
        self._select_marks()

    # Input and output: the methods for callers, and their helpers.

    def feed(self, text: str) -> list[Event]:
        """Read the next piece of the reply, and return the events that are decided now."""
        if self._has_no_mark(text):
            self._emit(text)
        else:
            self._read_pieces(text)
        return self._take_events()

    def flush(self, finish: str = "", cut: bool = False) -> list[Event]:
        """Decide all text that is held, and return it as events; a mark that is cut off is dropped.
        Text that is fed later begins a new block.

        `finish`: the finish reason of the reply; empty if none has come. `cut`: True if the reply
        was cut off.
        """
        self._source.end = End.STOP if not cut and finish in (*BY_ITSELF, "") else End.CUT
        # If the text ends within a mark that consists of several special tokens, the incomplete
        # mark is dropped, because special tokens are no text.
        if (
            self._source.rest.startswith(self._table.torn)
            and not (self._candidate or (self._state in IN_TEXT and self._context.in_code))
            and self._marks.is_torn(self._source.rest)
        ):
            self._source.rest = ""
            self._emit_thought(self.thought.settle_guess())
        self._read_unread()
        behind = self._settle_draft()
        if self._state is State.PHRASED:
            self._step_behind(Mark.PHRASE_END)
        self._value = None
        self._select_marks()
        self._settle_before(Mark.OPEN)
        answer = self.thought.take_guess() or behind
        if finish != STOP:
            self._emit_thought(self.thought.feed(answer))
        self._emit_thought(self.thought.end())
        # `answer` is the end of a thought that was only guessed and has no closer, or the text
        # behind the calls of a thought. As the model has ended the reply, it is read as the answer.
        if finish == STOP and answer:
            self._state, self._context, self.thought.row = State.HEAD, Context(), None
            self._select_marks()
            end, self._source.end = self._source.end, None
            self._read_pieces(answer)
            self._source.end = end
            self._read_unread()
            self._emit_thought(self.thought.end())
        self._out += self.answer.release_blanks()
        self._source, self._context, self._section = Source(), Context(), None
        return self._take_events()

    def plain(self) -> tuple[TextKind, str] | None:
        """Return the kind of event that the next text becomes if it skips the engine on the fast
        path (`Stage.plain`), and the characters that such text must not have. Return `None` if the
        text must be fed.

        While a call of an offered tool is held, the kind is `ToolCall`: the text belongs to this
        call.
        """
        if (candidate := self._candidate) and self.held_call_length and not self._source.rest:
            not_plain = None if candidate.pending_verdict else candidate.extent.not_plain
            near = candidate.length + PIECE > self._limit_of(candidate)
            return None if near or not_plain is None else (ToolCall, not_plain)
        if self.holds or self.thought.guess or isinstance(self._marks, PhraseSearch):
            return None
        ends = "\r\n" if self._table.reads_calls else ""
        if value := self._value:
            not_plain = value.not_plain
            return (Text, not_plain + self._marks.firsts + ends) if not_plain else None
        if self._state is State.ANSWERING and self._section is None:
            return Text, self._marks.firsts + ends + ("[{" if self._wants_json else "")
        if self._state is State.THINKING and self.thought.passes_text:
            # Line ends must be read, because those at a thought's end are dropped.
            return Thinking, self._marks.firsts + "\r\n"
        return None

    @property
    def at_head(self) -> bool:
        """True at the beginning of the answer (`State.HEAD`), if no text is held."""
        return self._state is State.HEAD and not self.holds

    @property
    def closers_of_empty_thought(self) -> tuple[str, ...]:
        """The closers that would end the open thought, if it has no text yet. Empty if it has text,
        or if no thought is open.
        """
        if self._state is State.BEGINNING:
            return self._table.bare_closers
        row = self.thought.row if self._state is State.OPENED else None
        return row.closes if row else ()

    @property
    def in_thought(self) -> bool:
        """True if a thought is open, but not one that a phrase has begun. Behind a call in the
        thought, the thought counts as open while the call is held as a draft.
        """
        return self._state in IN_THOUGHT or self._draft is not None

    @property
    def held_call_length(self) -> int:
        """The number of characters of the held candidate, if the name of an offered tool stands in
        its head; 0 if no such candidate is held.
        """
        return self._candidate.length if self._candidate and self._candidate.names_tool else 0

    @property
    def held_length(self) -> int:
        """The number of held characters: of unread text, blanks before a possible call, and a
        candidate. Other held text (`Draft`, `Guess`, `Answer.waiting`) is not counted.
        """
        held = self._candidate.length if self._candidate else 0
        return len(self._source.rest) + len(self.answer.held_blanks) + held

    @property
    def holds(self) -> bool:
        """True if unread text, blanks before a possible call, a candidate or a draft is held. Text
        in a guess (`Guess`), and of an undecided reply (`Answer.waiting`), does not count.
        """
        return bool(self._source.rest or self.answer.held_blanks or self._candidate or self._draft)

    def _read_pieces(self, text: str) -> None:
        """Read `text` in pieces of limited length."""
        for offset in range(0, len(text), PIECE):
            piece = text[offset : offset + PIECE]
            if self._draft:
                self._draft.feed(piece)
            if self._draft and self._draft.length > HELD_LIMIT and not self._candidate:
                # The draft is too long to be held, so its calls count. Text of the thought behind
                # them is read as a new thought.
                behind = self._settle_draft()
                self._out += self.thought.feed(behind)
                self._state = State.THINKING if self._state is State.RESUMED else State.CALLED
                self._select_marks()
            self._source.rest += piece
            self._read_unread()

    def _has_no_mark(self, text: str) -> bool:
        """Return True if `text` can be emitted at once: nothing is held, no JSON is open or may
        begin, no call stands directly before, and in the text there is no beginning of a mark, and
        no line end that would have to be held. Return False for text that is longer than `PIECE`.
        """
        if self.holds or self._value or self._json_pattern or self._section is not None:
            return False
        may_lead = self._table.reads_calls and self._state not in IN_THOUGHT
        if may_lead and (self._at_head or "\n" in text or "\r" in text):
            return False
        return len(text) <= PIECE and not self._marks.may_begin(text)

    def _take_events(self) -> list[Event]:
        """Return the events that were emitted since the last call of this method. Neighbours of one
        kind are joined.
        """
        out, self._out = self._out, []
        return out if len(out) < 2 else joined(out)

    # The loop: it emits text up to the next mark, and reads the mark.

    def _read_unread(self) -> None:
        """Read the unread text, as far as it can be decided."""
        try:
            while self._source.rest or self._candidate:
                if self._candidate:
                    self._feed_candidate(self._candidate)
                else:
                    self._scan()
        except NeedMore:
            return  # the undecided text stays held until more text has come

    def _scan(self) -> None:
        """Emit the unread text up to the next mark, and read the mark. If JSON begins or ends
        before the mark, or the emitted text leads to another state, stop there: the loop then goes
        on. Raises `NeedMore` if no mark has come; text that is left may be the beginning of one.
        """
        if self._section is not None:
            self._skip_behind_call()
        source, marks = self._source, self._marks
        text, last = source.rest, source.last
        until = len(text) - (0 if last else marks.begun_length(text, 0))
        match = marks.search(text)
        while match and self._is_repeated(match):
            match = marks.search(text, match.start() + 1)
        if match and not last and match.start() >= until:
            match = None  # with more text, this mark may become a longer one
        stop = match.start() if match else until
        if self._at_head and self._begin_call_as_reply(stop):
            return
        lead = self._count_blanks(text, stop, match)
        if self._read_up_to_json(text, stop) or self._read_end_of_json(text, stop - lead):
            return
        self._emit(source.take(stop - lead))
        if match and lead and marks is self._marks:
            self._hold_blanks(lead)
        if marks is not self._marks:
            return  # the emitted text has changed the state: search for the marks that count now
        if match:
            self._take_mark(match[0])
        else:
            self._emit_if_no_phrase(lead)

    def _is_repeated(self, match: re.Match[str]) -> bool:
        """Return True if `match` is a mark of calls that stands directly behind other text of its
        line, and the same mark follows twice: `x<tool_call><tool_call><tool_call>`. This mark is
        text, because no tool's name stands behind it. The search skips it to save time: a model
        that repeats a mark without end may write thousands of them into one frame.

        Return False if the mark does not begin with `<` or is an ignored mark. Return False too if
        no calls are read (`_tools` is `None`) and the mark stands in a thought, or behind a call
        that may have ended one: there a call needs no tool's name (`find_any_start`).
        """
        mark, text, at = match[0], match.string, match.start()
        in_line = at > 0 and text[at - 1] not in " \t\n"
        needs_name = not self._in_or_behind_thought or self._tools is not None
        is_call = mark[0] == "<" and mark in CALL_MARKS and not self._table.ignored_at(mark)
        return in_line and needs_name and is_call and text.startswith(mark * 2, match.end())

    def _select_marks(self) -> None:
        """Set `_marks` to the search for the marks that count in the present state."""
        table, state, thought = self._table, self._state, self.thought
        if self._value:
            self._marks: MarkSearch = table.json_search
        elif thought.row and state in IN_THOUGHT:
            row, suffix, calls = thought.row, thought.suffix, table.calls_in_thought
            self._marks = thought_search(row, suffix, state is State.OPENED, calls)
        else:
            # Directly behind a call in a section, the next call may begin without an opener.
            section = self._section if self._section and state in BEHIND_CALL else ()
            self._marks = table.state_search(
                state,
                *self.answer.answer_tags,
                late=self._late if state in (State.ANSWERING, State.CALLED) else (),
                next_calls=tuple({mark for row in section for mark in row.in_section if mark}),
                thought=thought.begun,
                emitted=thought.emitted,
            )

    def _emit_if_no_phrase(self, lead: int) -> None:
        """Emit the first character of the unread text, with the `lead` blanks before it, if this
        text can only be the beginning of a phrase, and the phrase does not count at this position.
        Else raise `NeedMore`: no text is left, or it may be the beginning of a mark, or of a phrase
        that counts.
        """
        text, marks = self._source.rest, self._marks
        positions = marks.positions(text[lead:]) if isinstance(marks, PhraseSearch) and text else ()
        if not positions or any(self._context.stands_at(it, text[:lead]) for it in positions):
            raise NeedMore
        self._emit(self._source.take(lead + 1))

    def _skip_behind_call(self) -> None:
        """Drop the blanks and closers (`MarkTable.behind_calls`) directly behind a call, at the
        beginning of the unread text; at the reply's end also an incomplete closer. Raises
        `NeedMore` if then no text is left, or if it may be the beginning of a closer.
        """
        source, offset, closer = self._source, 0, " "
        closers = ALL_CLOSERS if self._value else self._table.behind_calls
        try:
            while closer:
                blanks = _BLANKS.match(source.rest, offset)
                offset = blanks.end() if blanks else offset
                closer = source.mark_at(closers, offset)
                offset += len(closer)
        finally:
            source.take(offset)
        if source.last and is_half_closer(source.rest):
            source.take(len(source.rest))
        if not source.rest:
            raise NeedMore

    def _count_blanks(self, text: str, stop: int, match: re.Match[str] | None) -> int:
        """Return how many characters directly before the offset `stop` of `text` must be held: a
        line end and the blanks behind it (`_LINE_END`), which are dropped if a call follows. Return
        0 if none need be held. `match`: the match of the mark at `stop`, or `None` if there is no
        mark.
        """
        if not self._table.reads_calls or self._state in EMITTED_AS_THINKING:
            return 0
        is_call = match is not None and match[0] in CALL_MARKS
        if not is_call and (self._state in UNDECIDED if match else self._source.last):
            return 0
        run = _LINE_END.search(text, max(0, stop - BLANKS_LIMIT), stop)
        return stop - run.start() if run else 0

    def _hold_blanks(self, length: int) -> None:
        """Hold the next `length` characters, all blanks, until it is decided if a call follows."""
        lead = self._source.take(length)
        self._context.feed(lead)
        if len(self.answer.held_blanks) > BLANKS_LIMIT:
            self._out += self.answer.release_blanks()
        self.answer.held_blanks += lead

    @property
    def _json_pattern(self) -> re.Pattern[str] | None:
        """The pattern for the beginning of JSON, if JSON may begin in this state; else `None`."""
        state = self._state
        if self._value or state not in IN_TEXT or state is State.PHRASED:
            return None
        if self._wants_json and state not in UNDECIDED:
            return _VALUE
        offered = self._wants_json or self._table.offered
        return _VALUE_AT_HEAD if offered and state in SILENT_SO_FAR else None

    def _read_up_to_json(self, text: str, stop: int) -> bool:
        """Search `text`, the unread text, up to the offset `stop` for the beginning of JSON. Emit
        the text before it, and read the rest as JSON. JSON in Markdown code is only text: its line
        is emitted too, up to a backtick or the line's end.

        Return False, and emit nothing, if no JSON begins there.
        """
        pattern = self._json_pattern
        match = pattern.search(text, 0, stop) if pattern else None
        if not match:
            return False
        begin = match.end() - 1
        self._emit(self._source.take(begin))
        if not self._context.in_code:
            self._begin_json(0)
        elif line := _CODE_LINE.match(text, begin, stop):
            self._emit(self._source.take(line.end() - begin))
        return True

    def _begin_json(self, length: int) -> None:
        """Emit the next `length` characters, and read the text behind them as JSON."""
        self._emit(self._source.take(length))
        self._value = JsonExtent()
        self._select_marks()

    def _read_end_of_json(self, text: str, stop: int) -> bool:
        """Read `text`, the unread text, up to the offset `stop`, as a part of the open JSON. If the
        JSON ends before `stop`, emit it up to its end and return True.

        Return False, and emit nothing, if the JSON goes on, or if no JSON is open.
        """
        end = self._value.feed(text[:stop]) if self._value else None
        if end is None:
            return False
        self._emit(self._source.take(end))
        self._value = None
        self._select_marks()
        return True

    def _emit(self, text: str) -> None:
        """Add ordinary text to the answer, the thought or the draft, whichever is open. In a state
        of `SILENT_SO_FAR`, text that is not blank leads to the next state.
        """
        if not text:
            return
        self._section = None
        if self._state in SILENT_SO_FAR and not text.isspace():
            self.answer.set_tags_behind("", {})
            self._decide_state_by(text)
            if self._state is State.CALLED_INSIDE:
                blanks = len(text) - len(text.lstrip())
                self._emit(text[:blanks])
                text = text[blanks:]
            self._set_state_behind(Mark.TEXT)
        # The context gets one brace in place of text in JSON: a backtick in JSON begins no code.
        self._context.feed("{" if self._value else text)
        if self._draft:
            self._draft.add_behind(text, self._state is State.RESUMED, self.answer.choice)
            if len(self._draft.text_behind) > GUESS_LIMIT:
                self._settle_draft(counts=False)
        elif self._state in EMITTED_AS_THINKING:
            self._emit_thought(self.thought.read(text))
        else:
            self._at_head = False
            waits = self._state in UNDECIDED
            self._out += self.answer.emit(text, waits=waits)
            self._undecided += len(text) * waits
            if waits and self._grammar is Grammar.OTHER and self._undecided > UNDECIDED_LIMIT:
                self._set_first_state(State.ANSWERING)

    def _decide_state_by(self, text: str) -> bool:
        """Set the state of an undecided reply whose answer must be JSON. `text`, its first text or
        mark, decides: if JSON cannot begin with it, the reply begins in a thought.

        Return True if the state was set now. Return False if the reply was decided before, or if
        its answer need not be JSON.
        """
        if self._state is not State.UNDECIDED_HEAD or self._grammar is not Grammar.JSON:
            return False
        in_text = text.lstrip().startswith(JSON_BEGINS)
        self._set_first_state(State.HEAD if in_text else State.BEGINNING)
        return True

    def _set_first_state(self, state: State) -> None:
        """Read an undecided reply from here on as a reply that began in `state`. Emit the text that
        was held, as thinking or as text.
        """
        before, self._state = self.answer.take_waiting(), state
        if state is State.BEGINNING and self._guessed:
            self.thought.guess = Guess()
        if state in IN_THOUGHT:
            self._emit_thought(self.thought.read(before))
        elif before:
            self._out.append(Text(before, self.answer.choice))
        self._select_marks()

    def _emit_thought(self, events: Sequence[ThoughtEvent]) -> None:
        """Emit the events of a thought; before them the blanks that were held in the answer."""
        if events:
            self._out += self.answer.release_blanks()
            self._out += events
            if not self.thought.emitted and self._state is not State.PHRASED:
                self.thought.emitted = True
                self._select_marks()

    def _emit_character(self) -> None:
        """Emit the next character as ordinary text, although a mark may begin with it."""
        if not self._read_end_of_json(self._source.rest, 1):
            self._emit(self._source.take(1))

    # Marks of thoughts and answers.

    def _take_mark(self, literal: str) -> None:
        """Read the mark `literal`, with which the unread text begins. If it does not count here,
        emit its first character as text. If it decides the state of an undecided reply
        (`_decide_state_by`), do no more: the mark is then searched for again.
        """
        if self._decide_state_by(literal):
            return
        mark, spelled, suffix = self._marks.read_mark(literal)
        if (self._state, mark) not in NEXT_STATE or self._mark_is_text(mark, spelled):
            if mark is Mark.CLOSE and not self.thought.begun and not self._context.in_code:
                self.answer.note_unmatched(self._context.text_before[-1:], literal)
            self._emit_character()
            return
        match mark:
            case Mark.TOOL:
                self._take_call(literal)
            case Mark.ANSWER_CLOSE:
                self._take_answer_close(literal)
            case Mark.WITH_ATTRIBUTES:
                self._take_attributes(literal)
            case Mark.PHRASE | Mark.PHRASE_END:
                self._take_phrase(literal)
            case _:
                self._take_tag(literal, mark, spelled, suffix)

    def _take_tag(self, literal: str, mark: Mark, spelled: str, suffix: str) -> None:
        """Drop the mark `literal`, whose effect does not depend on the text behind it, and go to
        the next state.

        `spelled`: the mark as its row has it (`<think:SUFFIX>`). `suffix`: the text for SUFFIX in
        `literal`; empty if the mark has no SUFFIX.
        """
        self._source.take(len(literal))
        self._shown = literal in self._table.shows_calls
        self._late = () if literal in self._late else self._late
        if mark is Mark.UNMATCHED and not self.thought.emitted:
            self.answer.dropped_closer = True
        if mark is Mark.CLOSE and self._state is State.PHRASED:
            self.thought.emitted, self.thought.unclosed = True, False
            self.answer.note_unmatched(self._context.text_before[-1:], "")
        if mark is Mark.OPEN and self._state is not State.OPENED:
            self.thought.note_opener(self._table.opened_by[spelled], suffix)
        self._step_behind(mark, spelled, len(literal))

    def _mark_is_text(self, mark: Mark, literal: str) -> bool:
        """Return True if a mark is text because of its position: in Markdown code; in a string of
        JSON; behind text that `ThoughtRow.not_behind` matches; or, for a phrase, where phrases do
        not count. Its first character says where they do: `POSITIONS` in `rows`.

        In code, marks of calls and the answer's closer are not text here: other functions decide
        about them. In a string, special tokens of calls are not text. Outside the states of
        `IN_TEXT`, as in a thought, no position makes a mark text.

        `literal`: the mark as its row has it.
        """
        if self._value and self._value.quote:
            return not (mark is Mark.TOOL and CALL_MARKS[literal].special)
        if self._state not in IN_TEXT or mark in (Mark.ANSWER_CLOSE, Mark.TOOL):
            return False
        if mark in (Mark.PHRASE, Mark.PHRASE_END) and not self._context.stands_at(literal[0]):
            return True
        row = self._table.opened_by.get(literal) if mark is Mark.OPEN else None
        if row and row.not_behind and re.search(row.not_behind, self._context.text_before):
            return True
        return self._context.in_code

    def _take_attributes(self, literal: str) -> None:
        """Read a tag with attributes, which begins a thought: `<thinking thought="Hm">`. `literal`
        is its beginning, `<thinking `. If no such tag stands there, emit one character as text.
        Raises `NeedMore` if the tag is incomplete.
        """
        text = self._source.rest
        match = match_attributes(text, len(literal))
        if match and not match["end"] and len(text) < ATTRIBUTE_LIMIT:
            self._source.need_more()
        mark = match and ENDS.get(match["end"])
        if not match or not mark or (self._state, mark) not in NEXT_STATE:
            return self._emit_character()
        self._source.take(match.end())
        self.thought.note_opener(self._table.attributes_of[literal], "")
        self._step_behind(mark)
        self._emit_thought(self.thought.read_attributes(match[0]))
        if mark is Mark.WHOLE:
            self._emit_thought(self.thought.end())
        return None

    def _take_phrase(self, literal: str) -> None:
        """Begin a thought before the phrase `literal`, or end the open thought before the phrase.
        Emit the phrase, which stays in the text.
        """
        begins = self._state is not State.PHRASED
        self._step_behind(Mark.PHRASE if begins else Mark.PHRASE_END)
        if begins:
            self.thought.row = None
        self.thought.unclosed = begins
        self.answer.has_text = True
        self._emit(self._source.take(len(literal)))

    def _take_answer_close(self, literal: str) -> None:
        """Drop the answer's closer if nothing but blanks follows up to the reply's end; else emit
        its first character as text. Raises `NeedMore` while the reply may go on.
        """
        behind = self._source.rest[len(literal) : len(literal) + BLANKS_LIMIT + 1]
        if len(behind) > BLANKS_LIMIT or behind.strip():
            return self._emit_character()
        self._source.need_more()
        self._source.take(len(literal))
        return self._step_behind(Mark.ANSWER_CLOSE)

    def _step_behind(self, mark: Mark, spelled: str = "", length: int = 0) -> None:
        """Go to the state behind a mark (`NEXT_STATE`). Before that, end the thought, draft or
        undecided text that the mark ends.

        For the closer of a thought, `spelled` is the mark as its row has it, and `length` the
        number of its characters, which the caller has taken from the unread text. Other marks need
        neither of them.
        """
        if self._draft and NEXT_STATE[self._state, mark] not in MAY_BE_DRAFT:
            directly = self._state is State.CALLED_INSIDE
            closed = Follows.CLOSER if directly else Follows.TEXT_AND_CLOSER
            follows = closed if mark is Mark.CLOSE else Follows.END
            self._settle_draft((self._draft.stands, follows) in COUNTED, length)
        if mark not in (Mark.SILENT, Mark.UNMATCHED):
            self._settle_before(mark)
            self._emit_thought(self.thought.settle_guess())
        guess_ends = self._state is State.PHRASED and mark is not Mark.SILENT
        if guess_ends or (mark in (Mark.CLOSE, Mark.TOOL) and not self._draft):
            self._emit_thought(self.thought.end())
        if mark is Mark.CLOSE and self._state in BEHIND_CALL and self._table.reads_calls:
            self._out.append(LateCloser(self.answer.choice))
        if mark in (Mark.ANSWER_OPEN, Mark.ANSWER_CLOSE):
            self.answer.note_tag(opens=mark is Mark.ANSWER_OPEN)
        self.answer.set_tags_behind(spelled if mark is Mark.CLOSE else "", self._table.answer_tags)
        if mark in _ON_A_LINE:
            self._context.close_code()
        elif mark is not Mark.TOOL or self._state in IN_THOUGHT:
            self._context = Context()
        self._set_state_behind(mark)

    def _set_state_behind(self, mark: Mark) -> None:
        """Set the state behind a mark, and the search for the marks that count in it."""
        self._state = NEXT_STATE[self._state, mark]
        self._select_marks()

    def _settle_before(self, mark: Mark) -> None:
        """Emit the text that was held in an undecided reply: as a thought if `mark`, the kind of
        the mark that decides, is a closer, else as text. Blanks alone are emitted as text.
        """
        before = self.answer.take_waiting()
        if mark is Mark.CLOSE and self._state is not State.UNDECIDED_HEAD:
            self._emit_thought(self.thought.feed(before))
        elif before:
            self._out.append(Text(before, self.answer.choice))

    # Where a candidate begins.

    @property
    def _tools(self) -> Schemas | None:
        """The schemas, by name, of the tools that may be called now. Empty once the reply has as
        many calls as it may have; `None` if calls are not read.
        """
        if not self._table.reads_calls:
            return None
        return self._expectations.tools if len(self.calls.read) < self._expectations.most else {}

    @property
    def _in_or_behind_thought(self) -> bool:
        """True in an open thought, and directly behind a call that may have ended a thought."""
        return self._state in IN_THOUGHT or self._state is State.CALLED_INSIDE

    def _take_call(self, literal: str) -> None:
        """Begin a candidate at `literal`, a mark of calls. Emit or drop the mark if no call that
        counts begins with it.

        A call that is only shown to the user does not count. A special token counts even in code
        and behind a quotation mark, because ordinary text never has one. But behind a header for
        the user (`ThoughtRow.shown`) no mark of calls counts.
        """
        rows = self._section or ()
        counts = rows[0].counts if rows else Counts.AS_WHOLE_REPLY
        mark = CALL_MARKS.get(literal) or CallMark(literal, literal, counts)
        text, last = self._source.rest, self._source.last
        behind = text[len(literal) :]
        if self._is_empty_section(mark, behind):
            return self._drop_mark(len(literal))
        # `shown`: a call at this position is only shown to the user, as in code or in a quotation.
        context, special, in_thought = self._context, mark.special, self._in_or_behind_thought
        if in_thought:
            stands = Stands.IN_THOUGHT
            shown = not special and (context.in_fence or context.quoted or context.in_sentence)
        else:
            doubted = context.in_sentence and not (special or self.calls.read)
            stands = Stands.IN_SENTENCE if doubted else Stands.ALONE
            shown = self._shown or (context.shows_calls and not special)
        if shown:
            return self._emit_or_drop_call_mark(mark, behind)
        start = find_start(mark, text, self._tools, last, rows)
        if start is None and in_thought and self._tools is None:
            start = find_any_start(mark, behind, last)
        if start is None:
            return self._emit_or_drop_call_mark(mark, behind)
        forbidden = self._table.forbids_calls
        return self._hold_call(Candidate.begin(mark, start, stands, text, forbidden))

    def _emit_or_drop_call_mark(self, mark: CallMark, behind: str) -> None:
        """Emit a mark of calls as text, or drop it, because no call that counts begins with it.
        `behind`: the text behind the mark.

        - In a thought, in JSON and in Markdown code, only its first character is emitted, and marks
          are searched for behind it.
        - Elsewhere the mark is dropped if it begins a line in which a call follows, or if it is one
          of `Row.ignored`.
        - In a sentence, with JSON behind it, the whole mark is emitted. The JSON is then read as
          text; tags in its strings do not count.
        - In all other cases only its first character is emitted.
        """
        if self._state not in IN_TEXT or self._value or self._context.in_code:
            return self._emit_character()
        is_opener = mark.mark in FULL_MARKS
        may_follow = is_opener and self._table.reads_calls and self._context.at_line_head
        if may_follow and self._call_follows(behind):
            return self._drop_mark(len(mark.mark))
        if silent := self._table.ignored_at(self._source.rest):
            return self._drop_mark(len(silent))
        if self._context.in_sentence and is_opener and behind[:1] in ("[", "{"):
            return self._begin_json(len(mark.mark))
        return self._emit_character()

    def _call_follows(self, behind: str) -> bool:
        """Return True if a call of an offered tool stands in the first line of `behind`, the text
        behind a mark. Only `_LINE_LIMIT` characters are searched. Raises `NeedMore` if more text
        must come to decide it.
        """
        line = behind[:_LINE_LIMIT].partition("\n")[0]
        for match in self._table.calls.finditer(line):
            text = behind[match.start() :]
            start = find_start(CALL_MARKS[match[0]], text, self._tools, self._source.last)
            if start and start.head is Head.NAMED:
                return True
        if len(line) == len(behind):
            self._source.need_more()
        return False

    def _is_empty_section(self, mark: CallMark, behind: str) -> bool:
        """Return True if the mark opens a section of calls, is a special token, and has ordinary
        text behind it in place of calls. Such a mark is dropped. Return False in Markdown code and
        in a thought. Raises `NeedMore` if more text must come to decide it.
        """
        if not mark.special or mark.begins not in SECTIONS or self._context.in_code:
            return False
        if self._state in IN_THOUGHT or (self._state, Mark.SILENT) not in NEXT_STATE:
            return False
        return begins_prose(behind, self._source.last)

    def _drop_mark(self, length: int) -> None:
        """Drop the next `length` characters, a mark without an effect, and go to the state behind
        such a mark (`Mark.SILENT`).
        """
        self._source.take(length)
        self._step_behind(Mark.SILENT)

    def _begin_call_as_reply(self, stop: int) -> bool:
        """Begin a candidate if the reply begins with a call in a form whose calls must be the whole
        reply (`WHOLE`). Return False if it does not.

        `stop`: the offset of the next mark, or of the beginning of one, in the unread text; the
        text's length if there is none. Raises `NeedMore` if more text must come to decide it.
        """
        if self._state not in IN_TEXT or self._state not in SILENT_SO_FAR or self._value:
            return False
        text = self._source.rest
        blanks = len(text) - len(text.lstrip(BLANKS))
        if stop <= blanks < len(text) or blanks > BLANKS_LIMIT:
            # The reply begins, or may begin, with a mark of the table, or has more blanks than are
            # held.
            return False
        literal = self._source.mark_at(_WHOLE_REPLY_MARKS, blanks)
        if blanks == len(text):
            self._source.need_more()
        mark, last = CallMark(literal, literal), self._source.last
        start = find_start(mark, text[blanks:], self._tools, last, WHOLE[literal])
        self._at_head = False
        if start is None or start.head is Head.UNOFFERED:
            return False
        self._hold_blanks(blanks)
        self._hold_call(Candidate.begin(mark, start, Stands.AS_REPLY, self._source.rest))
        return True

    def _hold_call(self, candidate: Candidate) -> None:
        """Hold a candidate from here on. In a thought, begin a draft, which will hold its calls."""
        self._candidate, self._at_head = candidate, False
        if candidate.stands is Stands.IN_THOUGHT and not self._draft:
            rest = self._source.rest
            self._draft = Draft(len(self.calls.read), [rest], len(rest))

    # The text of a candidate, and its end.

    def _feed_candidate(self, candidate: Candidate) -> None:
        """Add the unread text to the candidate. End the candidate if the judge has a verdict, if it
        is too long, or if the reply ends. If its calls are whole already, only decide by the text
        behind it whether they count. Raises `NeedMore` if more text must come for this.
        """
        source, tools = self._source, self._tools or {}
        if candidate.pending_verdict:
            return self._decide_by_text_behind(candidate, *candidate.pending_verdict)
        text, source.rest = source.rest, ""
        while point := candidate.feed(text, source.last):
            text = ""
            if not candidate.is_text and point.end > self._limit_of(candidate):
                return self._end_at_limit(candidate)
            if verdict := candidate.verdict(point, tools):
                return self._end_candidate(candidate, verdict, point)
        if source.end:
            return self._end_candidate(candidate, *candidate.last_verdict(source.end, tools))
        if candidate.is_text:
            # In a thought nothing is emitted, because the text may belong to a draft.
            if candidate.stands is not Stands.IN_THOUGHT and not self._table.forbids_calls:
                self._emit(candidate.take_certain())
        elif candidate.length > self._limit_of(candidate):
            return self._end_at_limit(candidate)
        raise NeedMore

    def _limit_of(self, candidate: Candidate) -> int:
        """Return how many characters of a candidate are held at most: `PYTHON_LIMIT` in a form with
        Python's syntax; `WAITING_LIMIT` if the candidate has the name of an offered tool and would
        end the reply with an error (`_may_break`); else `HELD_LIMIT`.
        """
        if isinstance(candidate.row.body, Python):
            return PYTHON_LIMIT
        return WAITING_LIMIT if candidate.names_tool and self._may_break(candidate) else HELD_LIMIT

    def _end_at_limit(self, candidate: Candidate) -> None:
        """End a candidate that is longer than its limit. If it names an offered tool and stands
        alone, its limit is `WAITING_LIMIT` (`_limit_of`), and the reply ends with an error; else
        the candidate becomes text. It ends exactly at the limit, wherever the stream was cut into
        pieces.
        """
        end, verdict = self._limit_of(candidate), Verdict(failed=Failed.TEXT)
        if end == WAITING_LIMIT:
            verdict = Verdict(failed=Failed.BROKEN, broken_tool=candidate.name(self._tools or {}))
        self._end_candidate(candidate, verdict, Point(End.STOP, end, end))

    def _end_candidate(self, candidate: Candidate, verdict: Verdict, point: Point) -> None:
        """End a candidate at `point`, by the judge's verdict: as calls, as text or as a call that
        must not run. If the text behind it must decide whether its calls count, hold it until then.
        """
        text, self._candidate = candidate.text, None
        self._source.rest = text[point.end :] + self._source.rest
        written = text[: point.end]
        # `CUT` with text behind it is not the reply's end. It is the closer of the thought in which
        # the candidate stands, in the middle of a call: no call of the draft counts.
        if point.reason is End.CUT and point.body_end < len(text):
            self._settle_draft(counts=False)
        elif candidate.is_text:
            self._emit_unoffered_call(candidate, point)
        elif verdict.calls:
            if candidate.waits_for_text(point, self._expectations.in_sentences):
                candidate.pending_verdict, candidate.pieces = (verdict, point), [written]
                self._candidate = candidate
            else:
                self._emit_calls(candidate, verdict, point)
        elif verdict.failed is Failed.BROKEN and self._may_break(candidate):
            self._break_reply(verdict.broken_tool)
        else:
            if self._source.last and point.reason in (End.STOP, End.CUT) and candidate.names_tool:
                self.calls.cut_names.append(candidate.name(self._tools or {}))
            self._emit_as_text(candidate, written)

    def _decide_by_text_behind(self, candidate: Candidate, verdict: Verdict, point: Point) -> None:
        """Emit a candidate whose calls are whole: as calls or as text, as the text behind it
        decides. Raises `NeedMore` if more of this text must come.
        """
        follows = candidate.kind_behind(self._source, self._marks)
        self._candidate = None
        if (candidate.stands, follows) in COUNTED:
            self._emit_calls(candidate, verdict, point)
        else:
            self._emit_as_text(candidate, candidate.text[: point.end])

    def _emit_unoffered_call(self, candidate: Candidate, point: Point) -> None:
        """Emit the rest of the text of a candidate that only looks like a call
        (`Candidate.is_text`); in a thought, add it to the draft. If the request allows no call,
        drop the marks before and behind the body.
        """
        text = candidate.text
        text_left = text[candidate.emitted_length : point.end]
        if self._table.forbids_calls:
            blanks = re.findall(r"\s+", text[: candidate.start.body_offset])
            text_left = "".join(blanks) + text[candidate.start.body_offset : point.body_end]
        if candidate.stands is Stands.IN_THOUGHT:
            return self._add_to_draft([Text(text_left, self._expectations.choice)], closes=False)
        self._emit(text_left)
        if point.reason in (End.CLOSER, End.BODY):
            self._step_behind(Mark.TOOL)
            self._context = Context()
        return None

    def _may_break(self, candidate: Candidate) -> bool:
        """Return True if the reply must end with an error if this candidate is a call without a
        clear meaning. This is so for a candidate that is `Stands.ALONE`, but not in the engine that
        reads thoughts (`ThoughtCalls`). In all other cases such a call becomes text.
        """
        return candidate.stands is Stands.ALONE and self._expectations.in_sentences

    def _break_reply(self, name: str) -> None:
        """Record that a call of the tool `name` must not run, and drop the unread text. The stage
        then ends the reply with an error.
        """
        self.calls.broken_name = self.calls.broken_name or name
        self._source.rest = ""

    def _emit_calls(self, candidate: Candidate, verdict: Verdict, point: Point) -> None:
        """Emit the calls of a candidate; in a thought, add them to the draft. Calls beyond
        `Expectations.most` are dropped. Text between the last call and its closer becomes unread
        text again; if it has only characters of `_EDGES`, it is dropped.
        """
        row, text = candidate.row, candidate.text
        behind = text[candidate.start.body_offset + verdict.length : point.body_end]
        self._source.rest = (behind if behind.strip(_EDGES) else "") + self._source.rest
        if self._source.last and candidate.is_half_closer(self._source.rest.strip()):
            self._source.rest = ""  # the reply ends within the call's closer
        events: list[Event] = []
        choice, most = self._expectations.choice, self._expectations.most
        # The end of the slice is never negative, because `read` never has more than `most` calls.
        for call in verdict.calls[: most - len(self.calls.read)]:
            if call.text_before:
                events.append(Text(call.text_before, choice))
            index, ends, form = len(self.calls.read), not call.is_cut, f"text ({row.name})"
            name = call.id or f"{self._expectations.id_prefix}{index}"
            events.append(
                ToolCall(index, name, call.name, call.arguments, choice, read_from=form, ends=ends)
            )
            self.calls.read.append(ReadCall(call.name, row.name, ends))
        opened, closer = candidate.start.has_opener, text[point.body_end : point.end]
        lacks_mark = opened and bool(row.closes) and point.reason is not End.CLOSER
        if candidate.stands is Stands.IN_THOUGHT:
            self._add_to_draft(events, closes=row.in_thoughts and not lacks_mark)
        else:
            self.answer.held_blanks = ""
            self._step_behind(Mark.TOOL)
            self._context.feed("\n\n")  # the text behind the calls is a new paragraph
            self._out += events
        self._section = SECTIONS.get(candidate.mark.begins, self._section or ())
        if not self._section and opened and closer not in row.closes:
            self._section = (row,)
        self._late = row.closes if opened and point.reason is End.BODY else ()
        self._select_marks()
        if verdict.failed is Failed.BROKEN and self._may_break(candidate):
            self._break_reply(verdict.broken_tool)

    def _emit_as_text(self, candidate: Candidate, text: str) -> None:
        """Emit `text`, the text of a candidate that is not a call, as ordinary text, or make it
        unread text again.

        All of it is emitted if its head has an offered name, if it is longer than `RESCAN_LIMIT`,
        or if, outside a thought, it ends with the mark's closer. Ignored marks in it are then left
        out, except in a thought. Else at most its mark is emitted, and the text behind becomes
        unread text again, because further marks may stand in it.
        """
        mark, source = candidate.mark, self._source
        is_span = candidate.names_tool or len(text) > RESCAN_LIMIT
        if candidate.stands is Stands.IN_THOUGHT:
            if is_span:
                return self._add_to_draft([Text(text, self._expectations.choice)], closes=False)
            source.rest = text + source.rest
            if self._draft and not self._draft.events:
                self._draft = None
            return self._emit(source.take(len(mark.mark)))
        if candidate.stands is Stands.AS_REPLY and not is_span:
            source.rest = self.answer.take_blanks() + text + source.rest
            self._context = Context()
            return None
        if is_span or (mark.close and text.endswith(mark.close)):
            self._emit(self._table.without_ignored(text))
            # A backtick in the candidate must not turn the text behind it into Markdown code.
            return self._context.close_code()
        source.rest = text + source.rest
        return self._emit_or_drop_call_mark(mark, text[len(mark.mark) :])

    # Calls in a thought.

    def _add_to_draft(self, events: list[Event], *, closes: bool) -> None:
        """Add the events of a candidate in a thought to the draft. `closes`: True if they are whole
        calls in a form of `CallRow.in_thoughts`, which count although the thought's closer follows;
        False for text and for other calls.
        """
        draft = self._draft
        assert draft
        if draft.text_behind:
            thought = Thought(self._expectations.choice)
            draft.events += [*thought.feed(draft.text_behind), *thought.end()]
            draft.text_behind = ""
        draft.events += events
        draft.stands = draft.stands if closes else Stands.IN_THOUGHT
        self._state, self._context = State.CALLED_INSIDE, Context()
        self._select_marks()

    def _settle_draft(self, counts: bool = True, behind: int = 0) -> str:
        """End the draft. If its calls count (`counts`), end the thought before them, emit them, and
        return the text behind the last call, which the caller must read.

        Else emit the text of the draft as a part of the thought, and return an empty text. The
        draft also has the unread text, and before it `behind` characters of a mark that the caller
        has read. Neither is emitted here. Without a draft, only return an empty text.
        """
        draft, self._draft = self._draft, None
        if draft is None:
            return ""
        if not counts:
            del self.calls.read[draft.calls_before :]
            self._state, self._section = State.THINKING, None
            self._emit_thought(self.thought.read(draft.text_until(len(self._source.rest) + behind)))
            self._select_marks()
            return ""
        self._emit_thought(self.thought.settle_guess())
        self._emit_thought(self.thought.end())
        self._out += draft.events
        return draft.text_behind
