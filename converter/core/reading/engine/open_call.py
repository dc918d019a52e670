"""A call that is being read, and the tests of the text behind a mark that may begin one."""

import re
from dataclasses import dataclass

from converter.core.reading.engine.context import BLANKS, MarkPlace
from converter.core.reading.engine.mark_table import CallMark
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import Mark, MarkSearch
from converter.core.reading.tool_calls.forms import OPENERS, SECTIONS
from converter.core.reading.tool_calls.place import CallPlace, Expectations, PlaceText
from converter.core.reading.tool_calls.source import Source
from converter.core.wire.bounds import BLANKS_LIMIT

_GAP_LIMIT = 64
"""Characters of blanks behind a mark, or of a tool's name, that are waited through."""
_NAME = rf"\w[\w.-]{{0,{_GAP_LIMIT}}}+"
_GAP = rf"\s{{0,{_GAP_LIMIT}}}+"
_CLOSER = rf"(?:{'|'.join(map(re.escape, CLOSERS))}){_GAP}"
_CALL = re.compile(
    rf"{_GAP}(?:{_CLOSER})?+(?:[\[{{]|<[^/])"
    rf"|{_NAME}{_GAP}(?:[\[{{(]|<[^/])|{_NAME}[^\S\n]*+\n"
)
"""Arguments, an inner tag, or a name with either behind it; a thought's closer before the first two
is the call's.
"""
_CALL_AT_BREAK = re.compile(rf"(?:(?=[^\S\n]*\n){_GAP})?+\w")
"""A name, where the mark stands at a break."""
_UNDECIDED = re.compile(rf"(?:{_GAP}|{_NAME}{_GAP})<?\Z")
_BEGUN = {mark[:length] for mark in CLOSERS for length in range(1, len(mark))}
_BEHIND_CLOSER = re.compile(rf"{_GAP}(?:{'|'.join(map(re.escape, _BEGUN))}|{_CLOSER}<?)\Z")
_WORDS = re.compile(rf"{_GAP}{_NAME}:?(?:[ \t]++[^\s<{{\[(`]|[^\w\s.:<{{\[(`-]|:\s)")
"""A word that goes on as words do, and as no call of a section does."""
_WORDS_BEGUN = re.compile(rf"{_GAP}(?:{_NAME}:?[ \t]*+)?\Z")
_LINE_BLANKS = " \t"
_OPENERS = (*OPENERS, *SECTIONS)
_NO_TEXT = (Mark.SILENT, Mark.UNMATCHED, Mark.FRAME_END)
_OPENING = (Mark.OPEN, Mark.WITH_ATTRIBUTES)
_VALUE_AT_HEAD = re.compile(r"\s*+[\[{]")


def may_begin_call(place: MarkPlace, behind: str, last: bool) -> bool | None:
    """Tell whether a mark that prose may say begins a call; None: more text must tell.

    `behind`: the text behind it, as far as it has come. `last`: no more will.
    """
    if place in (MarkPlace.QUOTED, MarkPlace.IN_SENTENCE):
        return False
    if not last and _BEHIND_CLOSER.match(behind):
        return None  # a closer may begin as an inner tag or a list does
    at_break = place is MarkPlace.AT_BREAK
    if _CALL.match(behind) or (at_break and _CALL_AT_BREAK.match(behind)):
        return True
    if _UNDECIDED.match(behind):
        return at_break if last else None
    return False


def begins_words(behind: str, last: bool) -> bool | None:
    """Tell whether words stand behind the mark of a section; None: not decided."""
    if _WORDS.match(behind):
        return True
    return None if _WORDS_BEGUN.match(behind) and not last else False


@dataclass(frozen=True, slots=True)
class MetMark:
    """A mark of calls, and the place where it stands. `ended_thought`: a thought ended before it,
    so that a call begins in any case; `doubted`: what stands behind it counts by the text behind
    that, `whole`: only if there is none.
    """

    mark: CallMark
    at: MarkPlace
    in_code: bool
    ended_thought: bool = False
    doubted: bool = False
    whole: bool = False

    def guards(self, behind: str) -> bool:
        """Tell whether a text behind it that is no call holds no tags either. `behind`: that
        text.
        """
        if self.ended_thought:
            return True
        if self.in_code or not self.mark.guards:
            return False
        if self.mark.special or self.at is MarkPlace.AT_BREAK:
            return True
        return may_begin_call(self.at, behind, last=True) is True

    def shows_value(self, behind: str) -> bool:
        """Tell whether JSON is shown behind it in the middle of a sentence."""
        shown = self.at is MarkPlace.IN_SENTENCE and self.mark.guards and not self.in_code
        return shown and _VALUE_AT_HEAD.match(behind) is not None


@dataclass(frozen=True, slots=True)
class OpenCall:
    """The text behind a mark, while `place` reads it by the forms of the mark. `around`: the marks
    of a text that is no call, if it stands between such.
    """

    met: MetMark
    place: CallPlace
    around: CallMark

    @classmethod
    def begin(
        cls, met: MetMark, source: Source, asked: Expectations, number: int, around: CallMark
    ) -> "OpenCall":
        """Begin to read at the mark, which comes next in the source. `number`: of the call."""
        text = PlaceText(asked.choice, met.doubted)
        place = CallPlace(source, asked, number, text, met.whole)
        place.begin(met.mark.begins)
        return cls(met, place, around)

    @property
    def enters(self) -> bool:
        """Tell whether its text is a call's even where the call is none of the tools'."""
        return not (self.met.doubted or self.met.whole)

    def counts(self, source: Source, marks: MarkSearch) -> bool | None:
        """Tell whether a call in doubt counts, by the text behind it; None: undecided. `marks`:
        those that count there.
        """
        if self.place.asked.in_sentences and self.place.closed and not self.met.whole:
            return True
        rest = source.rest.lstrip(BLANKS if self.met.whole else _LINE_BLANKS)
        if len(source.rest) - len(rest) > BLANKS_LIMIT:
            return False
        if self.met.whole:
            return _ends(rest, source.last, marks)
        if not rest:
            return True if source.last else None
        if rest[0] in BLANKS:
            return True
        opener = source.look(_OPENERS, _LINE_BLANKS)
        return None if opener is None else bool(opener[0])


def _ends(rest: str, last: bool, marks: MarkSearch) -> bool | None:
    """Tell whether the text ends before `rest`: nothing stands in it but marks that are no text, or
    a thought follows; None: undecided.
    """
    while rest and (last or marks.undecided(rest, 0) < len(rest)):
        found = marks.search(rest)
        mark = marks.read(found[0])[0] if found and not found.start() else None
        if not found or mark not in _NO_TEXT:
            return mark in _OPENING
        rest = rest[found.end() :].lstrip(BLANKS)
    return True if last and not rest else None
