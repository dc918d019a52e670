"""`MarkTable` has the marks that count in each state of the engine. It makes them from the rows of
`families` and `forms` by the table `COUNTING` (`states`). `CallMark` is a mark that begins a call.

`MarkTable.state_search` returns the search for the marks that count in a state. `mark_table`
returns the same table for equal arguments.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from converter.core.reading.engine.states import COUNTING, NEXT_STATE, Group, State
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import Mark, MarkSearch, PhraseSearch, pattern_of
from converter.core.reading.rows import Counts
from converter.core.reading.thought_row import Lone, ThoughtRow
from converter.core.reading.tool_calls.bodies import Keyed
from converter.core.reading.tool_calls.forms import CLOSERS as CALL_CLOSERS
from converter.core.reading.tool_calls.forms import FORMS, OPENERS, SECTIONS

_ATTRIBUTE_BLANKS = " \t\r\n"
"""The blanks that may stand between the name of a tag and its first attribute."""
_PHRASES = {Mark.PHRASE, Mark.PHRASE_END}
"""The kinds of marks that are phrases."""


@dataclass(frozen=True, slots=True)
class CallMark:
    """A mark that begins a call (`<tool_call>`), or a section around several calls
    (`<|tool_calls_section_begin|>`).

    Many of these marks also end a thought, because models leave out the thought's closer before a
    call. vLLM, SGLang, llama.cpp and Ollama end the thought there too. `[TOOL_CALLS]` does not end
    a thought: inside `[THINK]` it is thinking, as in llama.cpp.

    The text behind such a mark may only look like a call, for example if no such tool is offered.
    """

    mark: str
    """The literal text of the mark."""
    begins: str
    """The opener with which `mark` begins, as a key of the table `OPENERS` or `SECTIONS`. Mostly it
    is `mark` itself, but `mark` may have more text behind it (`CallRow.thought_suffix`).
    """
    counts: Counts = Counts.AS_WHOLE_REPLY
    """The positions at which the mark counts."""
    close: str = ""
    """The closer that ends a text which begins with `mark` but only looks like a call. Empty if
    such a text ends with the last bracket of its JSON.
    """
    alone: bool = False
    """True if the mark is the beginning of a call's body, in a form whose calls may lack their
    opener. Such a mark ends a thought only if calls are read.
    """

    @property
    def special(self) -> bool:
        """True if the mark is a special token of the model, which ordinary text never has."""
        return self.counts is Counts.EVERYWHERE

    def ends_thought(self, offered: bool, reads: bool = False) -> bool:
        """Return True if a call with this mark may end a thought. `offered`: True if the request
        offers tools. `reads`: True if the addon reads calls in the reply; if it does not, the
        beginning of a body without its opener (`alone`) ends no thought.
        """
        with_tools = self.counts is Counts.IN_THOUGHTS_WITH_TOOLS
        ends = self.special or self.counts is Counts.IN_THOUGHTS or (offered and with_tools)
        return ends and (reads or not self.alone)


def _marks_of_forms() -> Iterator[CallMark]:
    """Yield a `CallMark` for each opener of a section or call, and for each beginning of a body
    that needs no opener. Forms whose calls must be the whole reply are left out.
    """
    for form in FORMS:
        if form.whole:
            continue
        for mark, close in form.pairs:
            # The tables have openers alone. In some forms, `mark` has more text behind the opener
            # (`thought_suffix`).
            opener = max((it for it in (*OPENERS, *SECTIONS) if mark.startswith(it)), key=len)
            yield CallMark(mark, opener, form.counts, close)
        body = form.body
        if form.alone and isinstance(body, Keyed):
            close = "" if body.may_lack_closer else body.body_closers[0]
            for head in body.starts:
                yield CallMark(head, head, form.counts, close, alone=True)


FULL_MARKS = {row.mark: row for row in _marks_of_forms()}
"""mark -> its `CallMark`, for the marks in the form in which they may end a thought: openers of
sections; openers of calls, with the text that must follow them in a thought
(`CallRow.thought_suffix`); and beginnings of bodies. `CallMark.ends_thought` says which do so.
"""
CALL_MARKS = {mark: CallMark(mark, mark, row.counts) for mark, (row, *_) in OPENERS.items()}
"""mark -> its `CallMark`, for all marks with which a call may begin."""
CALL_MARKS |= FULL_MARKS


def openers_in_thought(offered: bool, reads: bool = False) -> tuple[str, ...]:
    """Return the marks with which a call may end a thought. `offered` and `reads` are those of
    `CallMark.ends_thought`: True if the request offers tools; True if the addon reads calls.
    """
    return tuple(mark for mark, row in FULL_MARKS.items() if row.ends_thought(offered, reads))


ALL_CLOSERS = (*CALL_CLOSERS, *CLOSERS)
"""The closers of calls and of thoughts. Behind a call within the JSON of an answer, all of them are
dropped.
"""
_CALLS = dict.fromkeys(CALL_MARKS, Mark.TOOL)
"""mark with which a call may begin -> its kind, always `Mark.TOOL`."""
_WITHIN_VALUE, _NO_MARKS = MarkSearch(_CALLS), MarkSearch({})


class MarkTable:
    """The marks that count in each state of the engine.

    Arguments:
        families: the rows of the families whose marks count.
        attributes: True if openers may have attributes.
        offered: True if the request offers tools, so that the text may have calls.
        reads_calls: True if calls are read. If not, their marks count all the same if tools are
            offered or calls are forbidden, because no tag of a thought counts within a call; but
            the call stays text.
        forbids_calls: True if the request offers tools but forbids calling them, so that the marks
            of calls are dropped.
        behind_field: True if a thought came in a field. Of the marks of thoughts, then only those
            count that the server may have left in the text: closers at its beginning, and the tags
            of the answer.
    """

    def __init__(
        self,
        families: tuple[ThoughtRow, ...],
        attributes: bool = True,
        offered: bool = False,
        reads_calls: bool = False,
        forbids_calls: bool = False,
        behind_field: bool = False,
    ) -> None:
        phrases = () if behind_field else families
        phrases = tuple(row for row in phrases if row.counts is Counts.AT_PARAGRAPH)
        families = tuple(row for row in families if row.counts is not Counts.AT_PARAGRAPH)
        self.answer_tags = {
            mark: row.answer_tags for row in families if row.answer_tags for mark in row.closes
        }
        self.families = rows = () if behind_field else families
        self.torn = tuple(mark for row in rows for mark in row.torn)
        self.opened_by = {mark: row for row in rows for mark in row.opens}
        self.attributes_of = {
            row.open[:-1] + blank: row
            for row in rows
            if attributes and row.attributes
            for blank in _ATTRIBUTE_BLANKS
        }
        telling = [row for row in rows if row.lone is not Lone.TEXT]
        self.bare_closers = tuple(mark for row in telling for mark in row.closes)
        self._silent = tuple(mark for row in rows for mark in row.ignored)
        self.shows_calls = {mark for row in rows for mark in row.shown}
        self.offered, self.reads_calls = offered and bool(rows), reads_calls
        self.forbids_calls = forbids_calls
        self.calls_in_thought = openers_in_thought(offered, reads_calls) if rows else ()
        # The search for the marks that count in the JSON of an answer: the marks of calls if calls
        # are read, else none.
        self.json_search = _WITHIN_VALUE if reads_calls else _NO_MARKS
        others = tuple(mark for mark in CLOSERS if mark not in self.bare_closers)
        self.behind_calls = (*CALL_CLOSERS, *others)
        groups = self._marks_by_group(families, phrases)
        self._base: dict[State, dict[str, Mark]] = {state: {} for state in COUNTING}
        for state, counting in COUNTING.items():
            for group in counting:
                self._base[state] |= groups[group]
        if forbids_calls:
            self._base[State.CALLED] |= dict.fromkeys(CALL_CLOSERS, Mark.SILENT)
        self.calls = re.compile("|".join(map(re.escape, sorted(CALL_MARKS, key=len, reverse=True))))
        self._searches: dict[object, MarkSearch] = {}

    def ignored_at(self, text: str) -> str:
        """Return the longest ignored mark (`Row.ignored`) with which a text begins; empty if there
        is none.
        """
        return max(filter(text.startswith, self._silent), key=len, default="")

    def without_ignored(self, text: str) -> str:
        """Return a text without the ignored marks (`Row.ignored`) in it."""
        silent = sorted(map(pattern_of, self._silent), key=len, reverse=True)
        return re.sub("|".join(silent), "", text) if silent else text

    def state_search(
        self,
        state: State,
        answer_open: str = "",
        answer_close: str = "",
        *,
        late: tuple[str, ...] = (),
        next_calls: tuple[str, ...] = (),
        thought: bool = False,
        emitted: bool = False,
    ) -> MarkSearch:
        """Return the search for the marks that count in `state`.

        Args:
            state: the engine's state, which decides the marks that count.
            answer_open: the answer's opener, if it counts; else empty.
            answer_close: the answer's closer, if it counts; else empty.
            late: closers that the last call lacked. They may still come in this text, and are then
                dropped.
            next_calls: the marks with which another call may begin directly behind a call, because
                a section is open.
            thought: True if the reply has had an opener of a thought, so that a closer in the
                answer is text.
            emitted: True if text of a thought was emitted, so that no phrase begins a thought
                (`OpenThought.emitted`).
        """
        key = (state, answer_open, answer_close, late, next_calls, thought, emitted)
        if key not in self._searches:
            tags = {answer_open: Mark.ANSWER_OPEN, answer_close: Mark.ANSWER_CLOSE}
            tags.pop("", None)
            mute = {Mark.PHRASE} if emitted else set()
            if thought and (state, Mark.CLOSE) not in NEXT_STATE:
                mute.add(Mark.CLOSE)
            kinds = {mark: kind for mark, kind in self._base[state].items() if kind not in mute}
            has_phrases = not _PHRASES.isdisjoint(kinds.values())
            ends = dict.fromkeys(late, Mark.SILENT)
            kinds = ends | dict.fromkeys(next_calls, Mark.TOOL) | kinds | tags
            self._searches[key] = PhraseSearch(kinds) if has_phrases else MarkSearch(kinds)
        return self._searches[key]

    def _marks_by_group(
        self, families: tuple[ThoughtRow, ...], phrases: tuple[ThoughtRow, ...]
    ) -> Mapping[Group, Mapping[str, Mark]]:
        """Return the table group -> mark -> kind of the mark.

        `families`: the families whose marks are not phrases. `phrases`: those whose marks are
        phrases. If a thought came in a field, `self.families` is empty. Then only the closers of
        `families` count (`Group.LEFT_CLOSERS`), because the server may have left one in the text.
        """
        rows = self.families
        left = () if rows else families
        starts = (row for row in rows if row.counts is Counts.AT_START)
        first = {mark: Mark.OPEN for row in starts for mark in row.opens}
        anywhere = {mark: Mark.OPEN for mark in self.opened_by if mark not in first}
        ignored = dict.fromkeys((mark for row in rows for mark in row.ignored), Mark.SILENT)
        dropped = (mark for row in rows if row.lone is Lone.NOTHING for mark in row.closes)
        any_call = self.offered or self.reads_calls or self.forbids_calls
        return {
            Group.OPENERS: anywhere | dict.fromkeys(self.attributes_of, Mark.WITH_ATTRIBUTES),
            Group.FIRST_OPENERS: first,
            Group.AGAIN: {mark: Mark.SILENT for row in rows for mark in row.again},
            Group.CLOSERS: {mark: Mark.CLOSE for row in rows for mark in row.closes},
            Group.LONE_CLOSERS: {m: Mark.CLOSE for m in self.bare_closers if m not in ignored},
            Group.LEFT_CLOSERS: {mark: Mark.CLOSE for row in left for mark in row.closes},
            Group.DROPPED_CLOSERS: {m: Mark.UNMATCHED for m in dropped if m not in ignored},
            Group.IGNORED: ignored,
            Group.CALLS: _CALLS if any_call else {},
            Group.THOUGHT_CALLS: dict.fromkeys(self.calls_in_thought, Mark.TOOL),
            Group.CALL_ENDS: dict.fromkeys(CALL_CLOSERS, Mark.TOOL_END),
            Group.PHRASES: {mark: Mark.PHRASE for row in phrases for mark in row.opens},
            Group.PHRASE_ENDS: {mark: Mark.PHRASE_END for row in phrases for mark in row.closes},
        }


@lru_cache(maxsize=64)
def thought_search(row: ThoughtRow, suffix: str, head: bool, calls: tuple[str, ...]) -> MarkSearch:
    """Return the search for the marks that count in a thought which an opener of the family `row`
    has begun. `suffix`: the text for SUFFIX in this opener; empty for none. `head`: True if the
    thought has no text yet. `calls`: the marks of calls that may end a thought.
    """
    kinds = dict.fromkeys(calls, Mark.TOOL) | dict.fromkeys(row.closes, Mark.CLOSE)
    kinds |= dict.fromkeys(row.again, Mark.SILENT)
    if head:
        kinds |= dict.fromkeys(row.opens, Mark.OPEN)
        kinds |= dict.fromkeys(row.labels, Mark.LABEL)
        kinds |= {
            label.rstrip("\n") + closer: Mark.CLOSE for label in row.labels for closer in row.closes
        }
    return MarkSearch(kinds, suffix)


mark_table = lru_cache(maxsize=64)(MarkTable)
"""Return a `MarkTable` for the arguments of its class. Equal arguments get the same table."""


def is_half_closer(text: str) -> bool:
    """Return True if a text is the beginning of a closer of calls, and of no opener of calls."""
    closes = any(mark.startswith(text) for mark in CALL_CLOSERS)
    return closes and not any(mark.startswith(text) for mark in (*SECTIONS, *OPENERS))
