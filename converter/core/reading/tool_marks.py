"""The marks around a tool call that a model writes into its text, as far as they end a thought.

An opener ends a thought that has no closer, because models leave the closer out before they call:
vLLM, SGLang, llama.cpp and Ollama agree. The text between the marks is the call's, and no tag is
looked for in it; where the form has no closing mark, up to the end of its JSON. `[TOOL_CALLS]` ends
no thought: inside `[THINK]` it stays thinking, as in llama.cpp.

A mark that prose may say counts only where a call goes on behind it. Models that think about their
own marks write them in code, in quotes, or as words of a sentence: `I would begin with <tool_call>
and a name.` Special tokens are never prose.
"""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from converter.core.reading.families import CLOSERS
from converter.core.reading.tool_calls.call_form import EndsThought
from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.parser import CLAUSE_ENDS, QUOTES
from converter.core.reading.tool_calls.tag_body import Tags

_QUOTES = QUOTES + "`"
BEFORE_LIMIT = 64
"""Characters before a mark that tell where it stands."""
_BLANKS_LIMIT = 64
"""Characters of blanks behind a mark, or of a tool's name, that are waited through."""
_NAME = rf"\w[\w.-]{{0,{_BLANKS_LIMIT}}}+"
_GAP = rf"\s{{0,{_BLANKS_LIMIT}}}+"
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
_BEGUN = {mark[:length] for mark in CLOSERS for length in range(2, len(mark))}
_BEHIND_CLOSER = re.compile(rf"{_GAP}(?:{'|'.join(map(re.escape, _BEGUN))}|{_CLOSER}<?)\Z")


@dataclass(frozen=True, slots=True)
class ToolMarks:
    """The marks of one form.

    `ambiguous_in_prose`: an answer or a thought may say the opener and mean nothing by it.
    `only_offered`: the opener counts only where the request offers tools. `in_thoughts`: it ends a
    thought. `close`: empty where nothing but the end of its JSON closes a call. `before`: marks
    that a call without it ends before, outside of strings.
    """

    open: str
    close: str
    ambiguous_in_prose: bool = False
    only_offered: bool = False
    in_thoughts: bool = True
    before: tuple[str, ...] = ()


def _marks() -> Iterator[ToolMarks]:
    for form in FORMS:
        if form.whole:
            continue
        ambiguous = form.ends_thought is not EndsThought.ALWAYS
        offered = form.ends_thought in (EndsThought.NEVER, EndsThought.BEFORE_OFFERED_CALL)
        ends = form.ends_thought is not EndsThought.NEVER
        yield from (ToolMarks(*pair, ambiguous, offered, ends, form.before) for pair in form.pairs)
        body = form.body
        if form.alone and isinstance(body, Tags) and not body.open_ended:
            yield from (ToolMarks(head, body.end[0], True, True, False) for head in body.heads)


TOOL_MARKS = tuple(dict.fromkeys(_marks()))


class MarkPlace(enum.Enum):
    """The place of a mark that prose may say."""

    AT_BREAK = enum.auto()  # at a line's head, or with no blank behind other words
    BEHIND_SENTENCE = enum.auto()
    IN_SENTENCE = enum.auto()  # a word and a blank before it
    QUOTED = enum.auto()


BY_OPENER = {row.open: row for row in TOOL_MARKS}
"""The marks that begin a call in a text, where the request offers tools."""


def openers_in_thought(offered: bool) -> tuple[str, ...]:
    """Return the marks that end a thought. `offered`: the request offers tools."""
    rows = [row for row in TOOL_MARKS if row.in_thoughts]
    return tuple(row.open for row in rows if offered or not row.only_offered)


def where(before: str) -> MarkPlace:
    """Tell where a mark stands. `before`: the end of the text since the last mark."""
    line = before.rpartition("\n")[2]
    words = line.rstrip()
    last = words[-1:]
    if not words or words == line:
        return MarkPlace.QUOTED if words and last in _QUOTES else MarkPlace.AT_BREAK
    return (
        MarkPlace.IN_SENTENCE
        if last.isalnum() or last in CLAUSE_ENDS
        else MarkPlace.BEHIND_SENTENCE
    )


def begins_call(before: str, behind: str, last: bool) -> bool | None:
    """Tell whether a mark that prose may say begins a call; None: more text must tell.

    `behind`: the text behind it, as far as it has come. `last`: no more will.
    """
    place = where(before)
    if place in (MarkPlace.QUOTED, MarkPlace.IN_SENTENCE):
        return False
    at_break = place is MarkPlace.AT_BREAK
    if _CALL.match(behind) or (at_break and _CALL_AT_BREAK.match(behind)):
        return True
    if _UNDECIDED.match(behind):
        return at_break if last else None
    return None if _BEHIND_CLOSER.match(behind) and not last else False


def begins_call_in_sentence(before: str, behind: str, last: bool) -> bool | None:
    """Tell whether a call stands behind a mark in the middle of a sentence; None: more text must
    tell. Prose shows calls there as well, but neither has a tag in it.
    """
    if where(before) is not MarkPlace.IN_SENTENCE:
        return False
    if _CALL.match(behind):
        return True
    return None if _UNDECIDED.match(behind) and not last else False
