"""Text in; text and thinking out, as it arrives.

The parser is a small state machine over marks. In each state it looks for the marks that could
matter next, gives out the text before one, and takes the step of the table; a pair that the
table lacks is ordinary text. A possible beginning of a mark is held until it is decided.
Nothing is ever lost: thinking, text and marks together are the text that came in, but for the CR
and LF around a thought and for thoughts of nothing but blanks.
"""

import re
from collections.abc import Callable

from converter.core.model.events import LateCloser, Text, Thinking, WordKind, joined
from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.families import SUFFIX, ThinkTags
from converter.core.reading.json_extent import JsonExtent
from converter.core.reading.mark_search import Mark, MarkSearch
from converter.core.reading.tag_matcher import TagSet, within_call
from converter.core.reading.think_states import (
    BEHIND_CALL,
    FIRST_STATE,
    IN_CALL,
    IN_TEXT,
    IN_THOUGHT,
    NEXT_STATE,
    SILENT_SO_FAR,
    UNDECIDED,
    Grammar,
    Mode,
    State,
)
from converter.core.reading.thought import ENDS, Draft, Guess, Said, Thought, attribute_tag
from converter.core.reading.tool_marks import (
    BEFORE_LIMIT,
    BY_OPENER,
    MarkPlace,
    ToolMarks,
    begins_call,
    begins_call_in_sentence,
    where,
)
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT, GUESS_LIMIT, HELD_LIMIT

STOP = "stop"
"""The finish of a reply that ended by itself, because a thought should have had its closer."""
type _Find = Callable[[str, int, int], re.Match[str] | None]

_NONE = ("", "")
_MAY_BE_DRAFT = (State.CALLING_INSIDE, State.CALLED_INSIDE, State.RESUMED)
"""States behind the opener of a call that a thought holds, until that thought has an end."""
_JSON_BEGINS = ("[", "{", '"')
_GRAMMAR_LIMIT = 4096
"""Characters of an answer by a grammar that wait for a mark, if it is no JSON: a choice, a number,
some lines; models that think before it write the closer within as much, or are read as text."""
_VALUE = re.compile(r"[\[{]")
_VALUE_AT_HEAD = re.compile(r"\s*+[\[{]")


class ThinkParser:
    """Pieces of one choice's text in, text and thinking out; cut anywhere, the same message. Set
    `tells_late_closers` to get `LateCloser` as well. `json_answer`: the answer is to be JSON.
    `grammar`: the one by which the answer is made: such a reply begins as text though it were to
    begin in a thought, unless it has a mark or, where JSON is wanted, begins with a word.
    """

    def __init__(
        self,
        tags: TagSet,
        start: Mode = Mode.ANSWERING,
        choice: int = 0,
        json_answer: bool = False,
        grammar: Grammar = Grammar.NONE,
    ) -> None:
        self._tags = tags
        self.tells_late_closers = False
        by_grammar = start in (Mode.THINKING, Mode.GUESSED) and grammar is not Grammar.NONE
        self._grammar = grammar if by_grammar else Grammar.NONE
        self._start = start
        self._waiting = 0  # characters of an answer by a grammar
        self._state = FIRST_STATE[Mode.UNDECIDED if by_grammar else start]
        self._choice = choice
        self._answer_tags = _NONE  # of the thought directly before, blanks aside
        self._frame_end = ""  # the answer's closer, once its opener went
        self._opened: tuple[ThinkTags, str] | None = None  # the thought's family, and its suffix
        self._call = ToolMarks("", "")
        self._arguments: JsonExtent | None = None  # of the call, once they have begun
        self._json_answer = json_answer
        self._value: JsonExtent | None = None  # in which nothing is a tag
        self._marks = self._looked_for()
        self._find_value = self._value_search()
        self._held = ""
        self._code = CodeSpans()
        self._before_mark = ""  # the end of the text since the last mark
        self._thought = Thought(choice)
        self._guess = Guess() if start is Mode.GUESSED and not by_grammar else None
        self._before: list[Text] = []  # said while UNDECIDED
        self._out: list[Said] = []
        self._draft: Draft | None = None
        self.unmatched_closer = False
        """Whether a closer without its opener went, because it is a special token."""

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The closers of a thought that is open and has said nothing."""
        if self._state is State.BEGINNING:
            return self._tags.bare_closers
        return self._opened[0].closers if self._opened and self._state is State.OPENED else ()

    def feed(self, text: str) -> list[Said]:
        """Return the words that are decided once `text` has arrived."""
        self._read(text, last=False)
        return self._drain()

    def plain(self) -> tuple[WordKind, str] | None:
        """Return the meaning of words that hold none of the characters returned with it; None
        while they would do more than come out.
        """
        if self._held or self._guess or self._draft:
            return None
        if self._value:
            return (Text, self._value.wakes) if self._value.wakes else None
        if self._state is State.ANSWERING:
            return Text, self._marks.firsts + ("[{" if self._json_answer else "")
        if self._state is State.THINKING and self._thought.at_ease:
            return Thinking, self._marks.firsts + "\r\n"  # held at a thought's end
        return None

    @property
    def thought_marks(self) -> tuple[str, str] | None:
        """Return the opener and the closer of the last thought that had an opener."""
        if self._opened is None:
            return None
        tags, suffix = self._opened
        return tags.open.replace(SUFFIX, suffix), tags.close.replace(SUFFIX, suffix)

    def flush(self, finish: str = "") -> list[Said]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new
        block. `finish`: why the reply ended, if it has.
        """
        if self._is_torn():
            self._held = ""
            self._out += self._thought.feed(self._settle_guess())
        self._read("", last=True)
        self._settle_draft()
        self._value = None
        self._settle_before(Mark.OPEN)
        answer = self._settle_guess()
        if finish != STOP:
            self._out += self._thought.feed(answer)
        self._out += self._thought.end()
        if finish == STOP and answer:  # the guess was wrong: it is read as any text is
            parser = ThinkParser(self._tags, Mode.ANSWERING, self._choice, self._json_answer)
            self._out += [*parser.feed(answer), *parser.flush()]
        return self._drain()

    def _drain(self) -> list[Said]:
        if self._draft:
            out, self._draft.out = self._draft.out, []
        else:
            out, self._out = self._out, []
        return out if len(out) < 2 else joined(out)

    def _looked_for(self) -> MarkSearch:
        """Return the marks that count here."""
        if self._state in IN_CALL:
            return within_call(self._call.close, self._call.before)
        if self._opened and self._state in IN_THOUGHT:
            return self._tags.within(*self._opened, head=self._state is State.OPENED)
        return self._tags.marks(self._state, self._answer_tags[0], self._frame_end)

    def _read(self, text: str, last: bool) -> None:
        if not (self._held or self._value or self._find_value or self._marks.may_begin(text)):
            self._say(text)
            return
        buffer, self._held = self._held + text, ""
        position: int | None = 0
        while position is not None:
            if self._value:
                begin = self._skip_value(self._value, buffer, position)
                position = None if self._value else begin
                continue
            begin, marks = position, self._marks
            until = len(buffer) - (0 if last else marks.undecided(buffer, begin))
            found = marks.search(buffer, begin)
            if found and not last and found.start() >= until:
                found = None  # it may become a longer mark
            stop = found.start() if found else until
            value = self._value_in(buffer, begin, stop)
            self._say(buffer[begin : stop if value is None else value])
            begin = position = stop if value is None else value
            if value is not None:
                self._value = JsonExtent()
                continue
            if marks is self._marks:  # else the words changed the marks that count: look again
                position = self._take(buffer, begin, found.end(), last) if found else None
        self._held = buffer[begin:]

    def _value_search(self) -> _Find | None:
        """Return the search for JSON that is a call or the answer, where such may begin."""
        if self._state not in IN_TEXT:
            return None
        if self._json_answer and self._state not in UNDECIDED:
            return _VALUE.search
        wanted = self._json_answer or self._tags.tools_offered
        return _VALUE_AT_HEAD.match if wanted and self._state in SILENT_SO_FAR else None

    def _value_in(self, buffer: str, begin: int, stop: int) -> int | None:
        """Return where such JSON begins in `buffer[begin:stop]`."""
        if not self._find_value or self._code.inside():
            return None
        found = self._find_value(buffer, begin, stop)
        return found.end() - 1 if found else None

    def _skip_value(self, value: JsonExtent, buffer: str, begin: int) -> int:
        """Say the JSON as far as it has come; return where to go on."""
        end = value.feed(buffer[begin:])
        place = len(buffer) if end is None else begin + end
        self._say(buffer[begin:place])
        if end is not None:
            self._value = None
            if self._state in IN_CALL:
                self._step(Mark.TOOL_END)
        return place

    def _is_torn(self) -> bool:
        """Tell whether the held text is the beginning of a mark that is never prose."""
        held = self._held
        begun = held.startswith(self._tags.torn) and self._state not in IN_CALL
        in_code = self._state in IN_TEXT and begun and self._code.inside()
        return begun and not in_code and self._marks.is_torn(held)

    def _take(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """Act on the mark at `begin:end`; return where to go on, None while it is not decided."""
        mark, literal, suffix = self._marks.read(buffer[begin:end])
        self._begin_by_json(literal)
        if (self._state, mark) not in NEXT_STATE or self._is_words(mark, literal):
            return self._ordinary(buffer, begin)
        if mark is Mark.FRAME_END:
            return self._take_frame_end(buffer, begin, end, last)
        if mark is Mark.WITH_ATTRIBUTES:
            return self._take_attributes(buffer, begin, end, last)
        if mark is Mark.TOOL:
            return self._take_tool(buffer, begin, end, last)
        if mark is Mark.TOOL_OVER:
            return self._take_next(buffer, begin)
        if mark is Mark.TOOL_END:
            self._keep(literal)
            self._out.append(Text(literal, self._choice))
        self.unmatched_closer = self.unmatched_closer or mark is Mark.UNMATCHED
        if mark is Mark.OPEN and self._state is not State.OPENED:
            self._opened = (self._tags.opened_by[literal], suffix)
        self._step(mark, literal)
        return end

    def _is_words(self, mark: Mark, literal: str) -> bool:
        """Tell whether a mark is text, by its place."""
        if self._state not in IN_TEXT or mark is Mark.FRAME_END:
            return False
        row = self._tags.opened_by.get(literal)
        words = mark is Mark.OPEN and row is not None and row.not_behind
        return bool(words and re.search(words, self._before_mark)) or self._code.inside()

    def _take_attributes(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        found = attribute_tag(buffer, begin, end)
        if found and not found["end"] and not last and len(buffer) < begin + ATTRIBUTE_LIMIT:
            return None
        mark = found and ENDS.get(found["end"])
        if not found or not mark or (self._state, mark) not in NEXT_STATE:
            return self._ordinary(buffer, begin)
        self._opened = (self._tags.attributes_of[buffer[begin:end]], "")
        self._step(mark)
        self._out += self._thought.read_attributes(found[0])
        if mark is Mark.WHOLE:
            self._out += self._thought.end()
        return found.end()

    def _take_frame_end(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """The answer's closer goes at the reply's very end, blanks behind it or not; anywhere else
        it is text.
        """
        behind = buffer[end : end + BLANKS_LIMIT + 1]
        if len(behind) > BLANKS_LIMIT or behind.strip():
            return self._ordinary(buffer, begin)
        if last:
            self._step(Mark.FRAME_END)
        return end if last else None

    def _take_tool(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """Begin a tool call, if it is one; its marks are left in the text for who reads it."""
        row = BY_OPENER[buffer[begin:end]]
        call = self._is_call(buffer[end:], last) if row.ambiguous_in_prose else True
        if not call:
            return None if call is None else self._take_quoted(buffer, begin, end, last)
        if self._state in IN_THOUGHT and not self._draft:
            guessed = self._guess is not None
            self._out += self._thought.feed(self._settle_guess())
            self._draft = Draft(self._thought, guessed, self._out)
            self._out = []
        self._call, self._arguments = row, None
        self._step(Mark.TOOL)
        self._say(buffer[begin:end])
        self._value = None if row.close else JsonExtent(header=True)
        return end

    def _take_next(self, buffer: str, begin: int) -> int:
        """End a call that has no closing mark where the next header begins, which stays."""
        if not self._arguments or self._arguments.quoted:
            return self._ordinary(buffer, begin)
        self._step(Mark.TOOL_OVER)
        return begin

    def _take_quoted(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """Pass a mark in the middle of a sentence, with the JSON behind it, if there is any: it may
        be a call, which the calls' own parser decides.
        """
        behind = buffer[end:]
        shown = self._state in IN_TEXT and begins_call_in_sentence(self._before_mark, behind, last)
        if shown is None:
            return None
        if not shown or not _VALUE_AT_HEAD.match(behind):
            return self._ordinary(buffer, begin)
        self._say(buffer[begin:end])
        self._value = JsonExtent()
        return end

    def _is_call(self, behind: str, last: bool) -> bool | None:
        """Tell whether a mark that prose may say begins a call; None: that is not decided.

        In an answer one at a break is taken for one at once: the text is the same, and need not
        wait.
        """
        if self._code.fenced():
            return False
        if self._state in IN_TEXT and where(self._before_mark) is MarkPlace.AT_BREAK:
            return True
        return begins_call(self._before_mark, behind, last)

    def _ordinary(self, buffer: str, begin: int) -> int:
        self._say(buffer[begin])
        return begin + 1

    def _follow(self, text: str) -> None:
        """Follow the arguments of a call: in their strings no mark is one."""
        begin = 0 if self._arguments else text.find("{")
        if begin >= 0:
            self._arguments = self._arguments or JsonExtent()
            self._arguments.feed(text[begin:])

    def _step(self, mark: Mark, literal: str = "") -> None:
        if mark is Mark.CLOSE and self._state is State.RESUMED:
            self._settle_draft(as_thought=True)
        if mark not in (Mark.SILENT, Mark.UNMATCHED):
            self._settle_before(mark)
            self._out += self._thought.feed(self._settle_guess())
        if mark in (Mark.CLOSE, Mark.TOOL):
            self._out += self._thought.end()
        late = mark is Mark.CLOSE and self._state in BEHIND_CALL
        if late and self.tells_late_closers:
            self._out.append(LateCloser(self._choice))
        if mark in (Mark.FRAME, Mark.FRAME_END):
            self._frame_end = self._answer_tags[1] if mark is Mark.FRAME else ""
        closed = literal if mark is Mark.CLOSE else ""
        self._answer_tags = self._tags.answer_tags.get(closed, _NONE)
        self._code = CodeSpans()
        self._before_mark = ""
        self._go(mark)

    def _go(self, mark: Mark) -> None:
        self._state = NEXT_STATE[self._state, mark]
        if self._state is State.RESUMED:
            self._guess = Guess()
        elif self._state not in _MAY_BE_DRAFT:
            self._settle_draft()
        self._marks = self._looked_for()
        self._find_value = self._value_search()

    def _settle_before(self, mark: Mark) -> None:
        """Give out the words of UNDECIDED: a thought if a closer comes first, and else text."""
        before, self._before = self._before, []
        if mark is Mark.CLOSE and self._state is not State.UNDECIDED_HEAD:
            self._out += [part for event in before for part in self._thought.feed(event.text)]
        else:
            self._out += before

    def _settle_guess(self) -> str:
        """Return the words that waited: the guess is right, or the reply has ended."""
        guess, self._guess = self._guess, None
        return guess.rest if guess else ""

    def _say(self, text: str) -> None:
        """Give out ordinary text, as the state reads it."""
        if not text:
            return
        if self._state in SILENT_SO_FAR and not text.isspace():
            text = self._begin_words(text)
        self._before_mark = (self._before_mark + text)[-BEFORE_LIMIT:]
        self._code.feed("{" if self._value else text)  # a backtick in JSON begins no code
        if self._keep(text):
            return
        if self._call.before and self._state in IN_CALL:
            self._follow(text)
        if self._state in IN_THOUGHT:
            self._out += self._thought.feed(self._guess.feed(text) if self._guess else text)
            return
        said = Text(text, self._choice)
        (self._before if self._state in UNDECIDED else self._out).append(said)
        self._wait_no_longer(text)

    def _begin_words(self, text: str) -> str:
        """Take the first words since a mark; return those that are still to be said."""
        self._answer_tags = _NONE
        self._begin_by_json(text)
        if self._state is State.CALLED_INSIDE:
            text = self._say_blanks(text)
        self._go(Mark.WORDS)
        return text

    def _wait_no_longer(self, text: str) -> None:
        """Take an answer by a grammar for one once it is long, because no mark has told else."""
        if self._grammar is Grammar.OTHER and self._state in UNDECIDED:
            self._waiting += len(text)
            if self._waiting > _GRAMMAR_LIMIT:
                self._begin_anew(State.ANSWERING)

    def _begin_by_json(self, text: str) -> None:
        """Begin in the answer where `text`, the first of the reply, begins JSON; else as without a
        grammar.
        """
        if self._state is not State.UNDECIDED_HEAD or self._grammar is not Grammar.JSON:
            return
        in_text = text.lstrip().startswith(_JSON_BEGINS)
        self._begin_anew(State.HEAD if in_text else State.BEGINNING)
        if not in_text and self._start is Mode.GUESSED:
            self._guess = Guess()

    def _begin_anew(self, state: State) -> None:
        """Go on as if the reply had begun there; the words that waited are of that kind."""
        before, self._before = self._before, []
        self._grammar, self._state = Grammar.NONE, state
        for event in before:
            self._out += self._thought.feed(event.text) if state in IN_THOUGHT else [event]
        self._marks = self._looked_for()
        self._find_value = self._value_search()

    # A call in a thought waits for what comes behind it.

    def _keep(self, text: str) -> bool:
        """Keep what may be of a draft; tell whether that has shown to be one, and has gone out."""
        if not self._draft:
            return False
        self._draft.feed(text, self._state is State.RESUMED)
        is_draft = self._draft.words > GUESS_LIMIT
        if is_draft or self._draft.length > HELD_LIMIT:
            self._settle_draft(as_thought=is_draft)
        return is_draft

    def _settle_draft(self, as_thought: bool = False) -> None:
        """Let the call in a thought go out. `as_thought`: it is a draft, because the thought went
        on, so that all that waited is a part of the thought.
        """
        draft, self._draft = self._draft, None
        if draft is None:
            return
        if as_thought:
            self._guess = Guess() if draft.guessed else None
            self._thought, self._state = draft.thought, State.THINKING
            text = "".join(draft.text)
            self._out = [
                *draft.out,
                *self._thought.feed(self._guess.feed(text) if self._guess else text),
            ]
            self._marks = self._looked_for()
        else:
            self._out = draft.out + self._out

    def _say_blanks(self, text: str) -> str:
        """Give out the blanks before words of a thought that may go on; return the words."""
        words = text.lstrip()
        self._say(text[: len(text) - len(words)])
        return words
