"""The families that a parser looks for: how they are chosen, which of their marks count where."""

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from converter.core.reading.families import FAMILIES, TABLE, ThinkTags
from converter.core.reading.mark_search import Mark, MarkSearch, head_of
from converter.core.reading.think_states import State
from converter.core.reading.tool_calls.forms import CLOSERS as CALL_CLOSERS
from converter.core.reading.tool_marks import BY_OPENER, openers_in_thought

AUTO = "auto"
_BY_NAME = {family.name: family for family in TABLE}
_ATTRIBUTE_BLANKS = " \t\r\n"
_CALL_OVER = dict.fromkeys(CALL_CLOSERS, Mark.TOOL_END)


def choose(names: Sequence[str]) -> tuple[ThinkTags, ...]:
    """Return the families that `names` ask for: `auto`, a family's name, or a literal pair `OPEN
    CLOSE`.

    Of two with an opener in common the later is taken. Raises ValueError, saying what is allowed,
    for anything else and for marks that a reader could not tell apart.
    """
    return _chosen(tuple(filter(None, map(str.strip, names))))


@lru_cache(32)
def _chosen(names: tuple[str, ...]) -> tuple[ThinkTags, ...]:
    families = _merged(family for name in names for family in _rows(name))
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
    """Return an opener and another mark of which one begins the other, if there are such. A row of
    the table has its own tried with it.
    """
    rows = tuple(families)
    openers = [(row, mark, head_of(mark)) for row in rows for mark in row.openers]
    others = [
        (row, mark, head_of(mark))
        for row in rows
        for mark in (*row.closers, *row.ignored, *(row.answer_tags or ()))
    ]
    pairs = [
        *itertools.permutations(openers, 2),
        *itertools.product(openers, others),
        *itertools.product(others, openers),
    ]
    return next(
        (
            (mark, other)
            for (row, mark, head), (its, other, _) in pairs
            if other.startswith(head) and (row != its or row not in TABLE)
        ),
        None,
    )


def _rows(name: str) -> Iterable[ThinkTags]:
    if name == AUTO:
        return [family for family in TABLE if not family.ambiguous_in_prose]
    if name in _BY_NAME:
        return [_BY_NAME[name]]
    pair = name.split(" ")
    if len(pair) == 2 and all(pair):
        known = (row for row in FAMILIES if [row.open, row.close] == pair and not row.model_pattern)
        return [next(known, ThinkTags(name, pair[0], pair[1]))]
    raise ValueError(
        f"expected {AUTO}, a pair OPEN CLOSE with one space between, "
        f"or one of: {', '.join(_BY_NAME)}; got {name!r}"
    )


class TagSet:
    """The families a parser looks for, made ready: the marks that count in each of its states.

    `tools_offered`: whether the request offers tools, so that a tool call may stand in the text.
    """

    def __init__(
        self, families: tuple[ThinkTags, ...], attributes: bool, tools_offered: bool = False
    ) -> None:
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
        self.openers = tuple(self.opened_by)
        telling = [family for family in families if family.bare_close_means_thinking]
        self.bare_closers = tuple(mark for family in telling for mark in family.closers)
        self.torn = tuple(mark for family in families for mark in family.torn)
        self.tools_offered = tools_offered and bool(families)
        self._tools = openers_in_thought(tools_offered) if families else ()
        self._base = _kinds_by_state(
            families, [*self.attributes_of], self._tools, self.tools_offered
        )
        self._made: dict[tuple[State, str, str], MarkSearch] = {}

    def within(self, family: ThinkTags, suffix: str, head: bool) -> MarkSearch:
        """Return the marks that count in a thought of `family`. `head`: it has said nothing yet."""
        return _within(family, suffix, head, self._tools)

    def marks(self, state: State, frame: str = "", frame_end: str = "") -> MarkSearch:
        """Return the marks that count in `state`, and an answer's tags, if given."""
        key = (state, frame, frame_end)
        if key not in self._made:
            frames = {frame: Mark.FRAME, frame_end: Mark.FRAME_END}
            frames.pop("", None)
            self._made[key] = MarkSearch(self._base[state] | frames)
        return self._made[key]


def _kinds_by_state(
    families: tuple[ThinkTags, ...],
    attributes: Iterable[str],
    ending: Iterable[str],
    tools_offered: bool,
) -> dict[State, dict[str, Mark]]:
    """Return the effect of each mark, by state: some end a thought in one, and are not text in
    another.
    """
    silent = {mark: Mark.SILENT for row in families for mark in row.ignored}
    openers, first = _openers(families)
    closing = {mark: Mark.CLOSE for row in families for mark in row.closers}
    bare, unmatched = _unopened(families)
    tools = dict.fromkeys(ending, Mark.TOOL)
    in_text = dict.fromkeys(BY_OPENER, Mark.TOOL) if tools_offered else {}
    words = silent | openers | dict.fromkeys(attributes, Mark.WITH_ATTRIBUTES)
    answering = words | in_text
    return {
        State.HEAD: answering | bare | first,
        State.CALLED: answering | bare | first | tools,
        State.CALLED_INSIDE: _CALL_OVER | closing | answering | first | tools,
        State.ENDED: answering | bare | first | unmatched,
        State.BEHIND: answering | first | unmatched,
        State.ANSWERING: answering | unmatched,
        State.UNDECIDED_HEAD: answering | bare | first,
        State.UNDECIDED: answering | bare,
        State.UNDECIDED_BEHIND: answering | bare | first,
        State.BEGINNING: tools | words | closing | first,
        **dict.fromkeys((State.THINKING, State.RESUMED), tools | closing),
    }


def _openers(families: tuple[ThinkTags, ...]) -> tuple[dict[str, Mark], dict[str, Mark]]:
    """Return the openers that count anywhere, and those that count at the start alone."""
    first = {mark: Mark.OPEN for row in families for mark in row.openers if row.only_at_start}
    openers = {mark: Mark.OPEN for row in families for mark in row.openers if mark not in first}
    return openers, first


def _unopened(families: tuple[ThinkTags, ...]) -> tuple[dict[str, Mark], dict[str, Mark]]:
    """Return the closers that tell of a thought without an opener, and those that are no text."""
    telling = [row for row in families if row.bare_close_means_thinking]
    bare = {m: Mark.CLOSE for row in telling for m in row.closers if m not in row.ignored}
    dropped = [row for row in families if not row.unmatched_close_is_text]
    lone = {m: Mark.UNMATCHED for row in dropped for m in row.closers if m not in row.ignored}
    return bare, lone


@lru_cache(maxsize=64)
def _within(family: ThinkTags, suffix: str, head: bool, tools: tuple[str, ...]) -> MarkSearch:
    kinds = dict.fromkeys(tools, Mark.TOOL) | dict.fromkeys(family.closers, Mark.CLOSE)
    if head:
        kinds |= dict.fromkeys(family.openers, Mark.OPEN)
        kinds |= dict.fromkeys(family.labels, Mark.LABEL)
        kinds |= {
            label.rstrip("\n") + closer: Mark.CLOSE
            for label in family.labels
            for closer in family.closers
        }
    return MarkSearch(kinds, suffix)


@lru_cache(maxsize=64)
def within_call(close: str, before: tuple[str, ...] = ()) -> MarkSearch:
    """Return the marks that end a tool call in the text; no mark does where its JSON ends it."""
    ends = {close: Mark.TOOL_END} if close else {}
    return MarkSearch(ends | dict.fromkeys(before, Mark.TOOL_OVER))


@lru_cache(maxsize=64)
def tag_set(
    families: tuple[ThinkTags, ...], attributes: bool = True, tools_offered: bool = False
) -> TagSet:
    """Return the set, made once for the same rows."""
    return TagSet(families, attributes, tools_offered)
