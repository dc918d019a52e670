"""The tests of the text behind a mark that may begin a call."""

import re

from converter.core.reading.engine.context import MarkPosition
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import NeedMore

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
_PROSE = re.compile(rf"{_GAP}{_NAME}:?(?:[ \t]++[^\s<{{\[(`]|[^\w\s.:<{{\[(`-]|:\s)")
"""A word that goes on as words do, and as no call of a section does."""
_PROSE_BEGUN = re.compile(rf"{_GAP}(?:{_NAME}:?[ \t]*+)?\Z")


def may_begin_call(position: MarkPosition, behind: str, last: bool) -> bool:
    """Return True if a mark that prose may hold begins a call. Raises `NeedMore`.

    `behind`: the text behind it, as far as it has come. `last`: no more will.
    """
    if position in (MarkPosition.QUOTED, MarkPosition.IN_SENTENCE):
        return False
    if not last and _BEHIND_CLOSER.match(behind):
        raise NeedMore  # a closer may begin as an inner tag or a list does
    at_break = position is MarkPosition.AT_BREAK
    if _CALL.match(behind) or (at_break and _CALL_AT_BREAK.match(behind)):
        return True
    if not _UNDECIDED.match(behind):
        return False
    if not last:
        raise NeedMore
    return at_break


def begins_prose(behind: str, last: bool) -> bool:
    """Return True if words stand behind the mark of a section. Raises `NeedMore`."""
    prose = _PROSE.match(behind)
    if not prose and not last and _PROSE_BEGUN.match(behind):
        raise NeedMore
    return prose is not None
