"""`MarkSearch` finds marks (`<think>`) in text that arrives in pieces; `PhraseSearch` finds phrases
too ("Let me think"). `Mark` has the kinds of marks; `NeedMore` is raised if more text must come to
decide a step. The marks themselves stand in `families` and `tool_calls.forms`.
"""

import enum
import re
from collections.abc import Mapping
from functools import lru_cache

from converter.core.reading.rows import GAP, POSITIONS, SUFFIX

SUFFIX_LIMIT = 32
"""The most characters for which the wildcard SUFFIX in a mark stands. In the special tokens of
models, eight hexadecimal digits stand there.
"""
GAP_LIMIT = 48
"""The most characters for which the wildcard GAP in a mark stands, on each side of `<|constrain|>`.
gpt-oss writes blanks and a content type (`json`) there.
"""
_SUFFIX_CHARACTER = "[0-9A-Za-z_.:-]"
"""The pattern of one character of the text for which SUFFIX stands."""
_CONSTRAIN = "<|constrain|>"
"""The special token of gpt-oss before the content type in a header."""
_GAP_TEXT = rf"(?:(?!to=)[^<]){{0,{GAP_LIMIT}}}+"
"""The pattern of the text before or behind `<|constrain|>` in a GAP. It has no `<`, and no `to=`,
which would name a recipient.
"""
_WHOLE = {
    SUFFIX: rf"({_SUFFIX_CHARACTER}{{1,{SUFFIX_LIMIT}}}+)",
    GAP: rf"()(?=[^\w<]|{re.escape(_CONSTRAIN)}){_GAP_TEXT}(?:{re.escape(_CONSTRAIN)}{_GAP_TEXT})?",
}
"""wildcard in a mark -> the pattern of the text for which it stands, if the whole mark has come.
Each pattern has one group: this text for SUFFIX, an empty text for GAP.
"""
_BEGUN = {
    SUFFIX: rf"{_SUFFIX_CHARACTER}{{0,{SUFFIX_LIMIT}}}",
    GAP: rf"(?!\w){_GAP_TEXT}(?:{re.escape(_CONSTRAIN)}{_GAP_TEXT})?",
}
"""wildcard in a mark -> the pattern of its text so far, if the rest of the mark has not come."""
_REACH = 2 * GAP_LIMIT + 2 * len(_CONSTRAIN)
"""A bound for the length of a wildcard's text. A mark in a text may be longer than in its row by so
many characters, so that a longer end of the text must be compared with incomplete marks.
"""


class NeedMore(Exception):  # noqa: N818 - nothing is wrong
    """Raised if a step of the reading cannot be decided before more text has come. The text about
    which it is undecided stays held, and the step is tried again when more text has come.
    """


class Mark(enum.Enum):
    """The kinds of marks, by the effect that a mark has."""

    OPEN = enum.auto()
    """An opener; it begins a thought."""
    WITH_ATTRIBUTES = enum.auto()
    """An opener with attributes; it begins a thought."""
    WHOLE = enum.auto()
    """A tag that has a complete thought in it: `<thinking thought="..."/>`."""
    LABEL = enum.auto()
    """A word directly behind an opener that names the kind of the thought (`thought` in Gemma's
    channel). It is dropped.
    """
    CLOSE = enum.auto()
    """A closer; it ends a thought."""
    SILENT = enum.auto()
    """A mark without a meaning for the reader of the reply. It is dropped."""
    UNMATCHED = enum.auto()
    """A closer that has no opener before it and is dropped, because it is a special token."""
    ANSWER_OPEN = enum.auto()
    """The opener of an answer (`<answer>`), which is dropped."""
    ANSWER_CLOSE = enum.auto()
    """The closer of an answer (`</answer>`), which is dropped at the end of the reply."""
    TOOL = enum.auto()
    """A mark with which a call may begin."""
    TOOL_END = enum.auto()
    """The closer of a call or of a section of calls."""
    PHRASE = enum.auto()
    """Words that begin a thought and stay in the text."""
    PHRASE_END = enum.auto()
    """Words that end a thought which a phrase has begun. They stay in the text."""
    TEXT = enum.auto()
    """Not a mark, but text that is not blank. Like a mark, it may lead to another state."""


class MarkSearch:
    """A search for marks in text that arrives in pieces.

    Arguments:
        kinds: mark -> its kind.
        suffix: the only text for which SUFFIX in a mark stands; if it is empty, any suffix fits.

    Attributes:
        search: returns the first match of a mark in a text; `None` if there is none.
        firsts: the first characters of all marks.
    """

    def __init__(self, kinds: Mapping[str, Mark], suffix: str = "") -> None:
        kinds = {mark.replace(SUFFIX, suffix or SUFFIX): kind for mark, kind in kinds.items()}
        opened = [mark for mark in kinds if GAP in mark or (SUFFIX in mark and not suffix)]
        self._kinds = kinds
        self._opened = {mark: re.compile(pattern_of(mark)) for mark in opened}
        # `re` takes the first alternative that matches, so the longest mark stands first. Of a mark
        # with a wildcard, only the part before the wildcard is measured (`head_of`).
        ordered = sorted(kinds, key=lambda mark: len(head_of(mark)), reverse=True)
        self._pattern = re.compile(
            "|".join(pattern_of(mark) if mark in opened else re.escape(mark) for mark in ordered)
            or "(?!)"
        )
        fixed = [mark for mark in kinds if mark not in opened]
        fixed += [head_of(mark) + "?" for mark in opened]
        self._beginnings = {mark[:length] for mark in fixed for length in range(1, len(mark))}
        self._begun = re.compile(rf"(?:{'|'.join(map(_pattern_of_begun, opened)) or '(?!)'})\Z")
        self._worded = re.compile(
            rf"(?:{'|'.join(re.escape(head_of(mark)) for mark in opened) or '(?!)'})\s*+[^\s<]"
        )
        # Cached: if a text has several marks, `begun_length` is called at each of them, for the
        # same end of the text.
        self._end_of = lru_cache(maxsize=64)(self._begun_length)
        self._longest = max(
            [*map(len, self._beginnings), *(len(mark) + _REACH for mark in opened)], default=0
        )
        self.firsts = "".join(sorted({mark[0] for mark in kinds}))
        self._first = re.compile("|".join(map(re.escape, self.firsts)) or "(?!)")
        self.search = self._pattern.search

    def read_mark(self, literal: str) -> tuple[Mark, str, str]:
        """Return the kind of the mark `literal`, the text of a match; the mark as its row has it,
        with its wildcard; and the text for which SUFFIX stands, empty if the mark has no SUFFIX:
        `<think:abc>` -> OPEN, `<think:SUFFIX>`, `abc`.
        """
        if literal in self._kinds and literal not in self._opened:
            return self._kinds[literal], literal, ""
        for mark, pattern in self._opened.items():
            if match := pattern.fullmatch(literal):
                return self._kinds[mark], mark, match[1]
        raise KeyError(literal)

    def may_begin(self, text: str) -> bool:
        """Return True if any character of the text is the first character of a mark."""
        return self._first.search(text) is not None

    def is_torn(self, text: str) -> bool:
        """Return True if `text`, the end of a reply, is a mark that was cut off. Text with a word
        in place of a wildcard (`<|channel|>final Hello`) is the beginning of an answer instead.
        """
        begun = text in self._beginnings or not self._worded.match(text)
        return begun and self.begun_length(text, 0) == len(text)

    def begun_length(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` are the beginning of a mark, of
        which the rest may come with the next text: 4 for `so <thi`. Return 0 if no mark begins.
        """
        return self._end_of(text[max(begin, len(text) - self._longest) :])

    def _begun_length(self, end: str) -> int:
        """Return how many characters at the end of `end` are the beginning of a mark."""
        for match in self._first.finditer(end):
            offset = match.start()
            if end[offset:] in self._beginnings or self._begun.match(end, offset):
                return len(end) - offset
        return 0


@lru_cache(maxsize=512)
def beginnings(*marks: str) -> frozenset[str]:
    """Return all incomplete marks: the beginnings of the marks, and the empty text."""
    return frozenset(mark[:length] for mark in marks for length in range(len(mark)))


@lru_cache(maxsize=256)
def search_for(*marks: str) -> MarkSearch:
    """Return a search for these marks, for callers that do not use the kind of a mark. Equal
    arguments get the same object.
    """
    return MarkSearch(dict.fromkeys(marks, Mark.CLOSE))


_PHRASE_LIMIT = 40
"""The most characters of a phrase, with a word such as "okay, " before it."""
_WORD_BEGIN = re.compile(r"(?<!\S)\S")
"""The pattern of the first character of a word."""


class PhraseSearch(MarkSearch):
    """A search for marks, and for phrases such as "Let me think".

    A phrase is a mark that consists of words, in upper or lower case. The first character of the
    mark (`POSITIONS`) is not searched for: it names the position at which the phrase counts.
    """

    def __init__(self, kinds: Mapping[str, Mark]) -> None:
        phrases = {mark: kind for mark, kind in kinds.items() if mark[0] in POSITIONS}
        super().__init__({mark: kind for mark, kind in kinds.items() if mark not in phrases})
        self._phrases = {mark[1:]: (kind, mark) for mark, kind in phrases.items()}
        phrasing = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in self._phrases)
        whole = rf"(?<!\S)(?ai:{phrasing})(?:(?<!\w)|(?!\w))"
        self.search = re.compile(f"{self._pattern.pattern}|{whole}").search

    def read_mark(self, literal: str) -> tuple[Mark, str, str]:
        """Return the kind of the mark or phrase `literal`, the text of a match; the mark or phrase
        as its row has it; and the text for which SUFFIX stands, empty if the mark has no SUFFIX.
        """
        phrase = self._phrases.get(_normalise_phrase(literal))
        return (*phrase, "") if phrase else super().read_mark(literal)

    def may_begin(self, text: str) -> bool:
        """Return True unless the text is blank, because any word may begin a phrase."""
        return not text.isspace()

    def begun_length(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` are the beginning of a phrase or
        a mark, of which the rest may come with the next text: 6 for `Hi. let me`. Return 0 if none
        begins.
        """
        phrasing = _WORD_BEGIN.finditer(text, max(begin, len(text) - _PHRASE_LIMIT))
        begun = (word.start() for word in phrasing if self._positions_of(text[word.start() :]))
        return max(super().begun_length(text, begin), len(text) - next(begun, len(text)))

    def positions(self, text: str) -> set[str]:
        """Return the positions (of `POSITIONS`) at which `text` may be the beginning of a phrase.
        If it stands at none of them, it begins no phrase, and need not be held.

        Return an empty set if `text` may also be the beginning of a mark that is no phrase: then it
        must be held wherever it stands.
        """
        return set() if super().begun_length(text, 0) else self._positions_of(text)

    def _positions_of(self, text: str) -> set[str]:
        """Return the positions (`POSITIONS`) at which the phrases that begin with `text` count.
        More text must show whether one of these phrases has come.

        This is so even if `text` is a complete phrase that ends in a letter or digit, because
        another letter may follow: `let me thinking` is no phrase.
        """
        folded = _normalise_phrase(text)
        begun = (phrase for phrase in self._phrases if phrase.startswith(folded))
        undone = (phrase for phrase in begun if phrase != folded or phrase[-1].isalnum())
        return {self._phrases[phrase][1][0] for phrase in undone}


def _normalise_phrase(text: str) -> str:
    """Return a text as the rows spell phrases: in lower case and with plain apostrophes."""
    return text.lower().replace("’", "'")


def head_of(mark: str) -> str:
    """Return the part of a mark before its wildcard; the whole mark if it has no wildcard."""
    return _split_at_wildcard(mark)[0]


def _split_at_wildcard(mark: str) -> tuple[str, str, str]:
    """Return the text before the wildcard of a mark, the wildcard, and the text behind it. For a
    mark without a wildcard the last two are empty.
    """
    word = next((word for word in _WHOLE if word in mark), "")
    return mark.partition(word) if word else (mark, "", "")


def pattern_of(mark: str) -> str:
    """Return the regular expression that matches a mark. If the mark has a wildcard, the expression
    has one group: the text for which SUFFIX stands, or an empty text for GAP.
    """
    head, word, tail = _split_at_wildcard(mark)
    return re.escape(head) + (_WHOLE[word] if word else "") + re.escape(tail)


def _pattern_of_begun(mark: str) -> str:
    """Return the regular expression for incomplete text of a mark that has a wildcard. Such text
    ends in the wildcard or behind it: `<think:ab` for `<think:SUFFIX>`.
    """
    head, word, tail = _split_at_wildcard(mark)
    cut_off = (tail, _CONSTRAIN) if word == GAP else (tail,)
    ends = [end[:length] for end in cut_off for length in range(len(end) - 1, 0, -1)]
    return rf"{re.escape(head)}{_BEGUN[word]}(?:{'|'.join(map(re.escape, ends))})?"
