"""`Marks` finds the marks, such as `<parameter=city>` and `</parameter>`, in the text of a call
with keys and values, and counts for each what stands around it. The marks that a form has are
defined in its row (`bodies.Keyed`).

`keyed_judge` decides which of the marks in a text count, because a value may contain such marks
too.
"""

import enum
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from converter.core.reading.tool_calls.bodies import HEADER, Keyed
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.span import Span
from converter.core.reading.tool_calls.verdict import End


class Kind(enum.Enum):
    """The kinds of marks in a call with keys and values."""

    HEAD = "head"
    """A tag with the tool's name: `<function=f>`."""
    KEY = "key"
    """A mark with the name of a key: `<parameter=city>`."""
    VALUE_END = "close"
    """A mark that closes a value: `</parameter>`."""
    BODY_END = "end"
    """A mark that closes the body of a call: `</function>`."""
    CALL_END = "outer"
    """The closer of a call or of its section: `</tool_call>`."""
    OPENER = "opener"
    """The opener of a call or of its section: `<tool_call>`."""
    INNER_TAG = "opened"
    """A tag without a key, `<parameter>`, in the text of a value. `</parameter>` closes it too, so
    the text between the two tags counts as a value within the value.
    """
    KEY_BEGUN = "begun"
    """The first characters of the mark before a key, `<parameter`, without the rest."""
    END = ""
    """No mark: the text ends."""
    TEXT = "words"
    """No mark: text that is not blank stands before the next mark, or before the text's end."""


_STEPS = {Kind.KEY: 1, Kind.INNER_TAG: 1, Kind.VALUE_END: -1}
"""Kind of a mark -> by how much the mark changes the number of open values."""
CALL_ENDS = (Kind.BODY_END, Kind.CALL_END)
"""The kinds of marks that close a call."""
_OF_CALLS = (Kind.HEAD, Kind.OPENER, *CALL_ENDS)
"""The kinds of marks that begin or close a call."""


class Half(enum.Enum):
    """The kind of an incomplete mark with which a reply ends."""

    NONE = enum.auto()
    """The reply does not end within a mark."""
    OPENING = enum.auto()
    """The reply ends with the beginning of an opener, of the mark before a key, or of a tag with
    the tool's name: `<param`.
    """
    CLOSING = enum.auto()
    """The reply ends with the beginning of a mark that closes a value, a call or a section: `</`.
    """
    EITHER = enum.auto()
    """The reply ends with text that may begin a mark of OPENING and one of CLOSING: `<`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in the text of a call."""

    kind: Kind
    """The kind of the mark."""
    begin: int
    """The offset of the mark in the text of the span."""
    end: int
    """The offset behind the mark in the text of the span."""
    tag: str = ""
    """The text in the mark that has the key or the tool's name: `city` in `<parameter=city>` and in
    the nested closer `</city>`, `"f" id=1` in `<invoke name="f" id=1>`. Empty in all other marks.
    """
    has_value_mark: bool = True
    """For a KEY: False if the model left out the mark before the value (`Keyed.value_opener`), else
    True. Marks of other kinds do not use it.
    """


class Marks:
    """The marks in the text of a span, and counts for each mark.

    The lists of counts have an item for each mark, at the mark's index, and one for the text's end.

    The constructor searches the text from the offset `at` on. `first`: a key before this offset, if
    the model left out the mark before the key, so that the search cannot find it; else `None`.

    Attributes:
        span: the text of a candidate in which the marks stand.
        all: the marks, in their order.
        balance: how many values are open before each mark; below 0 if more were closed than opened.
        closers: how many VALUE_END marks stand before each mark.
        of_calls: how many marks that begin or close a call or section stand before each mark.
    """

    def __init__(self, span: Span, at: int = 0, first: Mark | None = None) -> None:
        self.span = span
        match = _pattern(span.row).finditer(span.text, at)
        self.all = [*([first] if first else []), *map(_mark, match)]
        self._begins = [mark.begin for mark in self.all]
        self.balance = [0, *accumulate(_STEPS.get(mark.kind, 0) for mark in self.all)]
        self.closers = [0, *accumulate(mark.kind is Kind.VALUE_END for mark in self.all)]
        self.of_calls = [0, *accumulate(mark.kind in _OF_CALLS for mark in self.all)]

    def __len__(self) -> int:
        return len(self.all)

    @cached_property
    def least(self) -> list[int]:
        """Index of a mark -> the lowest `balance` from this mark to the text's end. If it is
        below the mark's own `balance`, some text from the mark on closes more values than it opens.
        """
        return [*accumulate(reversed(self.balance), min)][::-1]

    @cached_property
    def next_call_end(self) -> list[int]:
        """Index of a mark -> the index of the next mark that closes the call (`CALL_ENDS`),
        which may be this mark itself; the number of marks if there is none.
        """
        ends = [len(self.all)] * (len(self.all) + 1)
        for at in reversed(range(len(self.all))):
            ends[at] = at if self.all[at].kind in CALL_ENDS else ends[at + 1]
        return ends

    @cached_property
    def next_keys(self) -> dict[str, list[int]]:
        """Name of a key -> the indexes of the KEY marks with this name that follow a VALUE_END
        mark, with nothing but blanks and closers of thoughts between the two.
        """
        indexes: dict[str, list[int]] = {}
        for at, (before, mark) in enumerate(zip(self.all, self.all[1:], strict=False), 1):
            directly = self.span.skip_blanks(before.end) == mark.begin
            if directly and before.kind is Kind.VALUE_END and mark.kind is Kind.KEY:
                indexes.setdefault(name_in(mark.tag), []).append(at)
        return indexes

    def index(self, at: int) -> int:
        """Return the index of the first mark at or behind the offset `at`."""
        return bisect_left(self._begins, at)

    def kind_behind(self, at: int, index: int) -> Kind:
        """Return the kind of the next mark behind the offset `at`, if only blanks and closers of
        thoughts stand before it. Return TEXT if other text stands before it or, without a mark,
        before the text's end. Return END if neither text nor a mark stands behind `at`. `index`:
        the index of the next mark.
        """
        end = self.all[index].begin if index < len(self.all) else len(self.span.text)
        if self.span.skip_blanks(at) < end:
            return Kind.TEXT
        return self.all[index].kind if index < len(self.all) else Kind.END

    @cached_property
    def kinds_behind(self) -> list[Kind]:
        """Index of a mark -> the kind of the mark directly behind it, or TEXT, or END
        (`kind_behind`).
        """
        return [self.kind_behind(mark.end, index) for index, mark in enumerate(self.all, 1)]

    def half_mark(self, at: int, index: int) -> Half:
        """Return the kind of the incomplete mark with which the reply ends, if nothing but this
        mark stands behind the offset `at`. Return NONE if anything else or nothing stands there, or
        if the reply goes on behind the text. `index`: the index of the next mark.
        """
        span = self.span
        begun = index == len(self.all) - 1 and self.all[index].kind is Kind.KEY_BEGUN
        if span.end not in (End.STOP, End.CUT) or not (begun or index == len(self.all)):
            return Half.NONE
        rest = span.text[span.skip_blanks(at) :].rstrip()
        opening, closing = _openers_and_closers(span.row)
        opens = any(mark.startswith(rest) for mark in opening) or rest.startswith(opening)
        closes = any(mark.startswith(rest) for mark in closing)
        if not rest or not (opens or closes):
            return Half.NONE
        return Half.EITHER if opens and closes else Half.OPENING if opens else Half.CLOSING

    def is_half_mark(self, written: str) -> bool:
        """Return True if `written` is the beginning of a mark of this form: of an opener, a closer,
        the mark before a key, or one that closes a value.
        """
        opening, closing = _openers_and_closers(self.span.row)
        return any(mark.startswith(written) for mark in (*opening, *closing))


def name_in(tag: str) -> str:
    """Return the name of the tool or parameter in `tag` (`Mark.tag`): `"f" id=1` -> `f`. Return an
    empty text if it has none.
    """
    match = HEADER.fullmatch(tag)
    return match[1] if match else ""


def unopened_key_pattern(body: Keyed) -> re.Pattern[str]:
    """Return the pattern of a bare name and a first key whose opening mark the model left out, up
    to the value: `f city</arg_key><arg_value>`. The first group of the pattern is `f city`.
    """
    return re.compile(rf"\s*+([^<]{{1,300}}+){_behind_key(body)}")


def _mark(match: re.Match[str]) -> Mark:
    """Return the mark for `match`, a match of the pattern of all marks (`_pattern`)."""
    kind, groups = Kind(match.lastgroup), match.re.groupindex
    tag = match[f"{kind.value}_tag"] if f"{kind.value}_tag" in groups else ""
    opened = "value_opened" not in groups or match["value_opened"] is not None
    return Mark(kind, *match.span(), tag, opened)


@lru_cache(maxsize=128)
def _pattern(row: CallRow) -> re.Pattern[str]:
    """Return the pattern of all marks in calls of a form. It has a named group for each kind of
    mark (`Kind.value`), and for some kinds a further group for the text of `Mark.tag`.
    """
    body = row.body
    assert isinstance(body, Keyed)
    openers, stem = (*row.opens, *row.section[:1]), re.escape(body.stem)
    tag = r"[^<]{0,256}+" if body.bare else r"[^<>/]{1,256}+" if body.nested_values else _TAG
    kinds = {
        Kind.CALL_END: _any(row.ends),
        Kind.OPENER: _any(mark for mark in openers if mark not in body.starts),
        Kind.HEAD: "" if body.bare else _any(body.starts),
        Kind.BODY_END: _any(body.body_closers),
        Kind.VALUE_END: _any(body.value_closers)
        + (r"(?P<close_tag>[^<>]{1,256}+)>" if body.nested_values else ""),
        Kind.KEY: f"(?:{_any(body.key_openers)})(?P<key_tag>{tag}){_behind_key(body)}",
        Kind.INNER_TAG: "" if body.bare or body.nested_values else f"{stem}>",
        Kind.KEY_BEGUN: stem if body.nested_values else rf"{stem}(?=[\s=>])",
    }
    if kinds[Kind.HEAD]:
        kinds[Kind.HEAD] = f"(?:{kinds[Kind.HEAD]})(?P<head_tag>{_TAG}){re.escape(body.key_closer)}"
    # The lookahead `(?=[...])` for the first characters of all marks makes the search fast, because
    # at most positions of a text it fails at once.
    opening, closing = _openers_and_closers(row)
    firsts = re.escape("".join({mark[0] for mark in (*openers, *opening, *closing) if mark}))
    kinds_of = "|".join(f"(?P<{kind.value}>{it})" for kind, it in kinds.items() if it)
    return re.compile(f"(?=[{firsts}])(?:{kinds_of})")


@lru_cache(maxsize=128)
def _openers_and_closers(row: CallRow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two groups of marks: those that begin a call, its body or a key (`<parameter=`); and
    those that close a value, a body, a call or a section (`</parameter>`). A reply may end with the
    first characters of such a mark (`Half`).
    """
    body = row.body
    assert isinstance(body, Keyed)
    opening = filter(None, (*body.key_openers, *body.starts, *row.opens))
    return tuple(opening), (*body.body_closers, *body.value_closers, *row.ends)


def _any(marks: Iterable[str]) -> str:
    """Return the regular expression of any of `marks`. It tries longer marks first."""
    return "|".join(map(re.escape, sorted(filter(None, marks), key=len, reverse=True)))


_TAG = r"""(?:"[^"\n]{0,256}+"|'[^'\n]{0,256}+'|[^"'\n<>])*+"""
"""The pattern of the text within a tag. Only quoted text in it may have `<` and `>`."""


def _behind_key(body: Keyed) -> str:
    """Return the pattern of the text between a key and its value:
    `</arg_key><arg_type>string</arg_type><arg_value>`. The type and `<arg_value>` may be missing,
    and in forms with a bare name `</arg_key>` may be repeated. The group `value_opened` matches
    `<arg_value>`.
    """
    end, value = re.escape(body.key_closer), re.escape(body.value_opener)
    kind, kind_end = map(re.escape, body.type_marks)
    again = rf"(?:\s*+{end})*+" if body.bare else ""
    kind_of = rf"(?:\s*+{kind}[^<]*+{kind_end})?+" if kind else ""
    opened = rf"(?P<value_opened>\s*+{value})?+" if value else ""
    return f"{end}{again}{kind_of}{opened}"
