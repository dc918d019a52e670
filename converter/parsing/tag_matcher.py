"""The families that a parser looks for: how they are chosen, and the search for their marks in a
text that arrives in pieces.
"""

import enum
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from converter.parsing.families import FAMILIES, PHRASES, SUFFIX, TABLE, ThinkTags

__all__ = [
    "AUTO",
    "FAMILIES",
    "PHRASES",
    "TABLE",
    "Mark",
    "MarkSearch",
    "TagSet",
    "ThinkTags",
    "choose",
    "for_model",
    "joined",
    "tag_set",
]

AUTO = "auto"
SUFFIX_LIMIT = 32
"""Characters of a suffix: vocabularies name eight hex digits, and what is held back stays short."""
_BY_NAME = {family.name: family for family in TABLE}
_ATTRIBUTE_BLANKS = " \t\r\n"
_SUFFIX_CHARACTER = "[0-9A-Za-z_-]"


class Mark(enum.Enum):
    """What a mark does. WHOLE is a thought in one tag, `<thinking thought="..."/>`; SILENT is no
    text; FRAME is a companion.
    """

    OPEN = enum.auto()
    CLOSE = enum.auto()
    WHOLE = enum.auto()
    SILENT = enum.auto()
    FRAME = enum.auto()
    FRAME_END = enum.auto()


def choose(names: Sequence[str]) -> tuple[ThinkTags, ...]:
    """Return the families that `names` ask for: `auto`, a family's name, or a literal pair `OPEN
    CLOSE`.

    Of two with an opener in common the later is taken. Raises ValueError, saying what is allowed,
    for anything else and for marks that a reader could not tell apart.
    """
    families = _merged(
        family for name in filter(None, map(str.strip, names)) for family in _rows(name)
    )
    if confused := _confused(families):
        mark, other = confused
        raise ValueError(
            f"{mark!r} begins {other!r}, so that a stream's reader cannot tell them apart in time"
        )
    return families


def for_model(model: str) -> tuple[ThinkTags, ...]:
    """Return the families that the name of a model asks for beyond `auto`."""
    return tuple(
        family
        for family in TABLE
        if family.model_pattern and re.search(family.model_pattern, model, re.IGNORECASE)
    )


def joined(families: tuple[ThinkTags, ...], more: Iterable[ThinkTags]) -> tuple[ThinkTags, ...]:
    """Return `families` and `more`: a row takes the place of those with its opener; one that a
    reader confuses stays out.
    """
    for family in more:
        merged = _merged([*families, family])
        families = families if _confused(merged) else merged
    return families


def _merged(families: Iterable[ThinkTags]) -> tuple[ThinkTags, ...]:
    chosen: list[ThinkTags] = []
    for family in families:
        if family not in chosen:
            chosen = [
                *(other for other in chosen if not set(other.openers) & set(family.openers)),
                family,
            ]
    return tuple(chosen)


def _confused(families: Iterable[ThinkTags]) -> tuple[str, str] | None:
    """Return two marks of which one begins the other, if there are such."""
    rows = tuple(families)
    openers = [mark for row in rows for mark in row.openers]
    others = {
        mark for row in rows for mark in (*row.closers, *row.ignored, *(row.answer_tags or ()))
    }
    pairs = itertools.permutations([*openers, *others], 2)
    return next(
        ((mark, other) for mark, other in pairs if other.startswith(mark.partition(SUFFIX)[0])),
        None,
    )


def _rows(name: str) -> Iterable[ThinkTags]:
    if name == AUTO:
        return [family for family in TABLE if not family.ambiguous_in_prose]
    if name in _BY_NAME:
        return [_BY_NAME[name]]
    pair = name.split(" ")
    if len(pair) == 2 and all(pair):
        return [ThinkTags(name, pair[0], pair[1])]
    raise ValueError(
        f"{name!r} is neither {AUTO}, nor a pair OPEN CLOSE with one space between, nor one of: {', '.join(_BY_NAME)}"
    )


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
            rf"(?:{'|'.join(map(re.escape, heads)) or '(?!)'}){_SUFFIX_CHARACTER}{{0,{SUFFIX_LIMIT}}}\Z"
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

    def undecided(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` may be the beginning of a mark."""
        for found in self._first.finditer(text, max(begin, len(text) - self._longest)):
            place = found.start()
            if text[place:] in self._beginnings or self._suffix_begun.match(text, place):
                return len(text) - place
        return 0


def _expression(mark: str) -> str:
    head, _, tail = mark.partition(SUFFIX)
    return rf"{re.escape(head)}({_SUFFIX_CHARACTER}{{1,{SUFFIX_LIMIT}}}+){re.escape(tail)}"


class TagSet:
    """The families a parser looks for, made ready: marks by what a parser may meet next."""

    def __init__(self, families: tuple[ThinkTags, ...], attributes: bool) -> None:
        self.opened_by = {mark: family for family in families for mark in family.openers}
        self.attributes_of: dict[str, ThinkTags] = {}
        for family in families:
            if attributes and family.attributes:
                self.attributes_of |= {
                    family.open[:-1] + blank: family for blank in _ATTRIBUTE_BLANKS
                }
        self.answer_tags = {
            mark: family.answer_tags
            for family in families
            if family.answer_tags
            for mark in family.closers
        }
        self._head = [
            mark for family in families if family.only_at_start for mark in family.openers
        ]
        self._base = _kinds_by_mode(
            families, [*(set(self.opened_by) - set(self._head)), *self.attributes_of]
        )
        self._closers = MarkSearch(self._base["closing"])
        self._made: dict[tuple[str, bool, str, str], MarkSearch] = {}

    def closers(self, family: ThinkTags, suffix: str) -> MarkSearch:
        """Return what ends a thought of `family`."""
        return _closers(family.closers, suffix)

    def marks(self, mode: str, head: bool, frame: str, frame_end: str) -> MarkSearch:
        """Return the marks that count in `mode`; at a message's `head` those of phrases as well;
        and a companion's, if given.
        """
        key = (mode, head and bool(self._head), frame, frame_end)
        if key not in self._made:
            here = dict.fromkeys(self._head, Mark.OPEN) if head else {}
            frames = {
                mark: kind
                for mark, kind in ((frame, Mark.FRAME), (frame_end, Mark.FRAME_END))
                if mark
            }
            self._made[key] = MarkSearch(self._base[mode] | here | frames)
        return self._made[key]


def _kinds_by_mode(
    families: tuple[ThinkTags, ...], openers: Iterable[str]
) -> dict[str, dict[str, Mark]]:
    """What each mark does, by mode: some end a thought in one, and are not text in another."""
    silent = {mark: Mark.SILENT for family in families for mark in family.ignored}
    closing = {mark: Mark.CLOSE for family in families for mark in family.closers}
    lone = {
        mark: Mark.CLOSE
        for family in families
        if family.bare_close_means_thinking
        for mark in family.closers
        if mark not in family.ignored
    }
    answering = silent | dict.fromkeys(openers, Mark.OPEN)
    return {
        "answering": answering,
        "undecided": answering | lone,
        "beginning": answering | closing,
        "closing": closing,
    }


@lru_cache(maxsize=64)
def _closers(closers: tuple[str, ...], suffix: str) -> MarkSearch:
    return MarkSearch(dict.fromkeys(closers, Mark.CLOSE), suffix)


@lru_cache(maxsize=64)
def tag_set(families: tuple[ThinkTags, ...], attributes: bool = True) -> TagSet:
    """Return the set, made once for the same rows."""
    return TagSet(families, attributes)
