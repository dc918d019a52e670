"""The search for marks in a text that arrives in pieces."""

import enum
import re
from collections.abc import Mapping

from converter.parsing.think_tags import SUFFIX

SUFFIX_LIMIT = 32
"""Characters of a suffix: vocabularies name eight hex digits, and what is held back stays short."""
_SUFFIX_CHARACTER = "[0-9A-Za-z_-]"


class Mark(enum.Enum):
    """The effect of a piece of the text.

    WHOLE is a thought in one tag, `<thinking thought="..."/>`; WITH_ATTRIBUTES opens one of that
    kind. SILENT is no text, UNMATCHED a closer without opener. LABEL names the kind of a thought
    behind its opener. FRAME and FRAME_END are answer tags. WORDS are no mark: text that is not
    blank.
    """

    OPEN = enum.auto()
    WITH_ATTRIBUTES = enum.auto()
    WHOLE = enum.auto()
    LABEL = enum.auto()
    CLOSE = enum.auto()
    SILENT = enum.auto()
    UNMATCHED = enum.auto()
    FRAME = enum.auto()
    FRAME_END = enum.auto()
    TOOL = enum.auto()
    TOOL_END = enum.auto()
    WORDS = enum.auto()


class MarkSearch:
    """Marks to look for in a text that arrives in pieces, and what each does. `suffix`: the one
    that counts; without it, any.
    """

    def __init__(self, kinds: Mapping[str, Mark], suffix: str = "") -> None:
        kinds = {mark.replace(SUFFIX, suffix or SUFFIX): kind for mark, kind in kinds.items()}
        suffixed = [] if suffix else [mark for mark in kinds if SUFFIX in mark]
        heads = [mark.partition(SUFFIX)[0] for mark in suffixed]
        self._kinds = kinds
        self._suffixed = {mark: re.compile(_expression(mark)) for mark in suffixed}
        ordered = sorted(kinds, key=len, reverse=True)
        self._pattern = re.compile(
            "|".join(_expression(mark) if mark in suffixed else re.escape(mark) for mark in ordered)
            or "(?!)"
        )
        whole = [mark for mark in kinds if mark not in suffixed]
        self._beginnings = {mark[:length] for mark in whole for length in range(1, len(mark))}
        self._beginnings |= {head[:length] for head in heads for length in range(1, len(head) + 1)}
        self._suffix_begun = re.compile(
            rf"(?:{'|'.join(map(re.escape, heads)) or '(?!)'})"
            rf"{_SUFFIX_CHARACTER}{{0,{SUFFIX_LIMIT}}}\Z"
        )
        self._longest = max(
            [*map(len, self._beginnings), *(len(head) + SUFFIX_LIMIT for head in heads)], default=0
        )
        self.firsts = "".join(sorted({mark[0] for mark in kinds}))
        self._first = re.compile("|".join(map(re.escape, self.firsts)) or "(?!)")
        self.search = self._pattern.search

    def read(self, literal: str) -> tuple[Mark, str, str]:
        """Return what a mark that was found does, how its row spells it, and its suffix, if the row
        leaves that open.
        """
        for mark, expression in self._suffixed.items():
            if found := expression.fullmatch(literal):
                return self._kinds[mark], mark, found[1]
        return self._kinds[literal], literal, ""

    def may_begin(self, text: str) -> bool:
        """Tell whether any character of the text begins a mark."""
        return self._first.search(text) is not None

    def undecided(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` may begin a mark."""
        for found in self._first.finditer(text, max(begin, len(text) - self._longest)):
            place = found.start()
            if text[place:] in self._beginnings or self._suffix_begun.match(text, place):
                return len(text) - place
        return 0


def _expression(mark: str) -> str:
    head, _, tail = mark.partition(SUFFIX)
    return rf"{re.escape(head)}({_SUFFIX_CHARACTER}{{1,{SUFFIX_LIMIT}}}+){re.escape(tail)}"
