"""The search for marks in a text that arrives in pieces."""

import enum
import re
from collections.abc import Mapping
from functools import lru_cache

from converter.core.reading.rows import GAP, POSITIONS, SUFFIX

SUFFIX_LIMIT = 32
"""Characters of a suffix: vocabularies name eight hex digits, and the held text stays short."""
GAP_LIMIT = 48
"""Characters of a gap: gpt-oss writes blanks there, and a type of content."""
_SUFFIX_CHARACTER = "[0-9A-Za-z_.:-]"
_CONSTRAIN = "<|constrain|>"
_GAP_TEXT = rf"(?:(?!to=)[^<]){{0,{GAP_LIMIT}}}+"
_WHOLE = {
    SUFFIX: rf"({_SUFFIX_CHARACTER}{{1,{SUFFIX_LIMIT}}}+)",
    GAP: rf"()(?=[^\w<]|{re.escape(_CONSTRAIN)}){_GAP_TEXT}(?:{re.escape(_CONSTRAIN)}{_GAP_TEXT})?",
}
"""The expressions of the words that stand for others in a mark; the group is the suffix."""
_BEGUN = {
    SUFFIX: rf"{_SUFFIX_CHARACTER}{{0,{SUFFIX_LIMIT}}}",
    GAP: rf"(?!\w){_GAP_TEXT}(?:{re.escape(_CONSTRAIN)}{_GAP_TEXT})?",
}
_REACH = 2 * GAP_LIMIT + 2 * len(_CONSTRAIN)
"""Characters that may stand for a word of one."""


class NeedMore(Exception):  # noqa: N818 - nothing is wrong
    """More text must come before the next step is decided. Nothing was taken for that step."""


class Mark(enum.Enum):
    """The effect of a piece of the text.

    WHOLE is a thought in one tag, `<thinking thought="..."/>`; WITH_ATTRIBUTES opens one of that
    kind. SILENT is no text, UNMATCHED a closer without opener. LABEL names the kind of a thought
    behind its opener. FRAME and FRAME_END are answer
    tags. PHRASE begins a thought, PHRASE_END ends it, and both stay in the text. WORDS are no mark:
    text that is not blank.
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
    PHRASE = enum.auto()
    PHRASE_END = enum.auto()
    TEXT = enum.auto()


class MarkSearch:
    """Marks to look for in a text that arrives in pieces, and the meaning of each. `suffix`: the
    one that counts; without it, any.
    """

    def __init__(self, kinds: Mapping[str, Mark], suffix: str = "") -> None:
        kinds = {mark.replace(SUFFIX, suffix or SUFFIX): kind for mark, kind in kinds.items()}
        opened = [mark for mark in kinds if GAP in mark or (SUFFIX in mark and not suffix)]
        self._kinds = kinds
        self._opened = {mark: re.compile(expression(mark)) for mark in opened}
        # a mark that is spelled out stands before one that leaves words open
        ordered = sorted(kinds, key=lambda mark: len(head_of(mark)), reverse=True)
        self._pattern = re.compile(
            "|".join(expression(mark) if mark in opened else re.escape(mark) for mark in ordered)
            or "(?!)"
        )
        fixed = [mark for mark in kinds if mark not in opened]
        fixed += [head_of(mark) + "?" for mark in opened]
        self._beginnings = {mark[:length] for mark in fixed for length in range(1, len(mark))}
        self._begun = re.compile(rf"(?:{'|'.join(map(_begun, opened)) or '(?!)'})\Z")
        self._worded = re.compile(
            rf"(?:{'|'.join(re.escape(head_of(mark)) for mark in opened) or '(?!)'})\s*+[^\s<]"
        )
        self._end_of = lru_cache(maxsize=64)(self._undecided)  # one end is asked for at each mark
        self._longest = max(
            [*map(len, self._beginnings), *(len(mark) + _REACH for mark in opened)], default=0
        )
        self.firsts = "".join(sorted({mark[0] for mark in kinds}))
        self._first = re.compile("|".join(map(re.escape, self.firsts)) or "(?!)")
        self.search = self._pattern.search

    def read(self, literal: str) -> tuple[Mark, str, str]:
        """Return the meaning of a mark that was found, how its row spells it, and its suffix, if
        the row leaves that open.
        """
        if literal in self._kinds and literal not in self._opened:
            return self._kinds[literal], literal, ""
        for mark, pattern in self._opened.items():
            if match := pattern.fullmatch(literal):
                return self._kinds[mark], mark, match[1]
        raise KeyError(literal)

    def may_begin(self, text: str) -> bool:
        """Return True if any character of the text begins a mark."""
        return self._first.search(text) is not None

    def is_torn(self, text: str) -> bool:
        """Return True if a text is the beginning of a mark, and no words that an answer may be."""
        begun = text in self._beginnings or not self._worded.match(text)
        return begun and self.undecided(text, 0) == len(text)

    def undecided(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` may begin a mark."""
        return self._end_of(text[max(begin, len(text) - self._longest) :])

    def _undecided(self, end: str) -> int:
        for match in self._first.finditer(end):
            offset = match.start()
            if end[offset:] in self._beginnings or self._begun.match(end, offset):
                return len(end) - offset
        return 0


@lru_cache(maxsize=512)
def beginnings(*marks: str) -> frozenset[str]:
    """Return the texts that more text may make one of the marks."""
    return frozenset(mark[:length] for mark in marks for length in range(len(mark)))


@lru_cache(maxsize=256)
def marks_of(*marks: str) -> MarkSearch:
    """Return the search for these marks, made once."""
    return MarkSearch(dict.fromkeys(marks, Mark.CLOSE))


_PHRASE_LIMIT = 40
"""Characters of a phrase, with the words that lead in."""
_WORD = re.compile(r"(?<!\S)\S")


class PhraseSearch(MarkSearch):
    """Marks to look for, and phrases among them: words in any case, whose place tells whether they
    count.
    """

    def __init__(self, kinds: Mapping[str, Mark]) -> None:
        phrases = {mark: kind for mark, kind in kinds.items() if mark[0] in POSITIONS}
        super().__init__({mark: kind for mark, kind in kinds.items() if mark not in phrases})
        self._phrases = {mark[1:]: (kind, mark) for mark, kind in phrases.items()}
        phrasing = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in self._phrases)
        whole = rf"(?<!\S)(?ai:{phrasing})(?:(?<!\w)|(?!\w))"
        self.search = re.compile(f"{self._pattern.pattern}|{whole}").search

    def read(self, literal: str) -> tuple[Mark, str, str]:
        """Return the same of a phrase; the first letter of its spelling is its place."""
        phrase = self._phrases.get(_folded(literal))
        return (*phrase, "") if phrase else super().read(literal)

    def may_begin(self, text: str) -> bool:
        """Return True if any character of the text begins a word or a mark."""
        return not text.isspace()

    def undecided(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` may begin a phrase or a mark."""
        phrasing = _WORD.finditer(text, max(begin, len(text) - _PHRASE_LIMIT))
        begun = (word.start() for word in phrasing if self._positions_of(text[word.start() :]))
        return max(super().undecided(text, begin), len(text) - next(begun, len(text)))

    def positions(self, text: str) -> set[str]:
        """Return the places where a text that may become a phrase would have to stand; none if it
        may become another mark.
        """
        return set() if super().undecided(text, 0) else self._positions_of(text)

    def _positions_of(self, text: str) -> set[str]:
        """Return the positions at which phrases may still count: the text is only the beginning of
        a phrase, or one more letter would make its last word another.
        """
        folded = _folded(text)
        begun = (phrase for phrase in self._phrases if phrase.startswith(folded))
        undone = (phrase for phrase in begun if phrase != folded or phrase[-1].isalnum())
        return {self._phrases[phrase][1][0] for phrase in undone}


def _folded(text: str) -> str:
    return text.lower().replace("’", "'")


def head_of(mark: str) -> str:
    """Return the meaning of a mark, which is the same everywhere."""
    return _parts(mark)[0]


def _parts(mark: str) -> tuple[str, str, str]:
    """Return the head of a mark, the word in it that stands for others, and the rest."""
    word = next((word for word in _WHOLE if word in mark), "")
    return mark.partition(word) if word else (mark, "", "")


def expression(mark: str) -> str:
    """Return the pattern of a mark; its group is the suffix, if the mark leaves that open."""
    head, word, tail = _parts(mark)
    return re.escape(head) + (_WHOLE[word] if word else "") + re.escape(tail)


def _begun(mark: str) -> str:
    head, word, tail = _parts(mark)
    ends = [*_beginnings(tail), *(_beginnings(_CONSTRAIN) if word == GAP else ())]
    return rf"{re.escape(head)}{_BEGUN[word]}(?:{'|'.join(map(re.escape, ends))})?"


def _beginnings(mark: str) -> list[str]:
    return [mark[:length] for length in range(len(mark) - 1, 0, -1)]
