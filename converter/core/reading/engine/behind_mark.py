"""Tests of the text behind a mark of calls: a call, or the text of an answer about such marks."""

import re

from converter.core.reading.engine.context import MarkPosition
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import NeedMore

_GAP_LIMIT = 64
"""The most blanks behind a mark, and the most characters of a tool's name."""
_NAME = rf"\w[\w.-]{{0,{_GAP_LIMIT}}}+"
_GAP = rf"\s{{0,{_GAP_LIMIT}}}+"
_CLOSER = rf"(?:{'|'.join(map(re.escape, CLOSERS))}){_GAP}"
_CALL = re.compile(
    rf"{_GAP}(?:{_CLOSER})?+(?:[\[{{]|<[^/])"
    rf"|{_NAME}{_GAP}(?:[\[{{(]|<[^/])|{_NAME}[^\S\n]*+\n"
)
"""The pattern of a call behind its mark: JSON, an inner tag, or a name with a bracket, a tag or a
line end behind it. A closer of a thought may stand before JSON or a tag.
"""
_CALL_AT_BREAK = re.compile(rf"(?:(?=[^\S\n]*\n){_GAP})?+\w")
"""The pattern of a call behind a mark that stands at a break of the text (AT_BREAK). There any word
may begin a call, directly behind the mark or on a new line.
"""
_UNDECIDED = re.compile(rf"(?:{_GAP}|{_NAME}{_GAP})<?\Z")
_BEGUN = {mark[:length] for mark in CLOSERS for length in range(1, len(mark))}
_BEHIND_CLOSER = re.compile(rf"{_GAP}(?:{'|'.join(map(re.escape, _BEGUN))}|{_CLOSER}<?)\Z")
_PROSE = re.compile(rf"{_GAP}{_NAME}:?(?:[ \t]++[^\s<{{\[(`]|[^\w\s.:<{{\[(`-]|:\s)")
"""The pattern of a word with ordinary text behind it, as no call begins."""
_PROSE_BEGUN = re.compile(rf"{_GAP}(?:{_NAME}:?[ \t]*+)?\Z")


def may_begin_call(position: MarkPosition, behind: str, last: bool) -> bool:
    """Return True if a mark seems to begin a call, by its position and the text behind it. Ordinary
    text may have the mark too. Raises `NeedMore` if the text does not decide yet.

    `position`: the position of the mark. `behind`: the text behind the mark, as far as it has come.
    `last`: no more text comes.
    """
    if position in (MarkPosition.QUOTED, MarkPosition.IN_SENTENCE):
        return False
    if not last and _BEHIND_CLOSER.match(behind):
        # The text ends behind a closer of a thought, or with the beginning of one, as `<` or `[`.
        # These may also begin an inner tag or a list.
        raise NeedMore
    at_break = position is MarkPosition.AT_BREAK
    if _CALL.match(behind) or (at_break and _CALL_AT_BREAK.match(behind)):
        return True
    if not _UNDECIDED.match(behind):
        return False
    if not last:
        raise NeedMore
    return at_break


def begins_prose(behind: str, last: bool) -> bool:
    """Return True if ordinary text, and no call, stands in `behind`, the text behind the opener of
    a section. `last`: no more text comes. Raises `NeedMore` if the text does not decide yet.
    """
    prose = _PROSE.match(behind)
    if not prose and not last and _PROSE_BEGUN.match(behind):
        raise NeedMore
    return prose is not None
