"""Choose the families of thinking marks by which a reply is read: those of the option `think_tags`
(`choose`), and with `auto` (`AUTO`) those for the model's name (`for_model`). `families_of` returns
all families for a reply.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from converter.core.reading.families import FAMILIES, TABLE
from converter.core.reading.mark_search import head_of
from converter.core.reading.reading import Reading
from converter.core.reading.rows import Counts
from converter.core.reading.thought_row import ThoughtRow

AUTO = "auto"
"""The name that stands for all families that are read for every model."""
_BY_NAME = {family.name: family for family in TABLE}
"""name of a family -> its row."""


def choose(names: Sequence[str]) -> tuple[ThoughtRow, ...]:
    """Return the families for `names`. A name is `auto`, the name of a family, or an opener and a
    closer with a blank between: `<mine> </mine>`.

    If two families have an opener in common, only the later one is returned. Raises ValueError for
    any other name, and if a mark of one family is the beginning of a mark of another, and one of
    the two is an opener.
    """
    return _parse_names(tuple(filter(None, map(str.strip, names))))


@lru_cache(32)
def _parse_names(names: tuple[str, ...]) -> tuple[ThoughtRow, ...]:
    """Return the families for `names`, as `choose` does. The results are cached."""
    families = _merge_families(family for name in names for family in _parse_name(name))
    if confused := _find_confused_marks(families):
        mark, other = confused
        raise ValueError(
            f"{mark!r} begins {other!r}, so that a stream's reader cannot tell them apart in time"
        )
    return families


def for_model(model: str) -> tuple[ThoughtRow, ...]:
    """Return the families whose `model_pattern` fits the model's name."""
    return tuple(
        family
        for family in TABLE
        if family.model_pattern and re.search(family.model_pattern, model, re.IGNORECASE)
    )


def joined(families: tuple[ThoughtRow, ...], more: Iterable[ThoughtRow]) -> tuple[ThoughtRow, ...]:
    """Return `families` together with the rows of `more`.

    A row of `more` replaces the rows that have an opener in common with it. But it is left out if
    one of its marks is the beginning of a mark of another row, or begins with such a mark, and one
    of the two is an opener (`_find_confused_marks`).
    """
    for family in more:
        merged = _merge_families([*families, family])
        families = families if _find_confused_marks(merged) else merged
    return families


def families_of(reading: Reading) -> tuple[ThoughtRow, ...]:
    """Return the families by which a reply is read: those that the user chose. If these include all
    families of `auto`, the families for this model's name are added.
    """
    return _add_families_of_model(reading.tags, reading.expected.model)


@lru_cache(maxsize=64)
def _add_families_of_model(tags: tuple[ThoughtRow, ...], model: str) -> tuple[ThoughtRow, ...]:
    """Return the families `tags`, which the user chose. If they include all families of `auto`, add
    those for the model's name.
    """
    return joined(tags, for_model(model)) if set(choose([AUTO])) <= set(tags) else tags


def _merge_families(families: Iterable[ThoughtRow]) -> tuple[ThoughtRow, ...]:
    """Return the families, each once. If several have an opener in common, return only the last of
    them, because an opener must show its family.
    """
    chosen: list[ThoughtRow] = []
    for family in families:
        if family not in chosen:
            chosen = [other for other in chosen if not set(other.opens) & set(family.opens)]
            chosen.append(family)
    return tuple(chosen)


def _find_confused_marks(families: Iterable[ThoughtRow]) -> tuple[str, str] | None:
    """Return two marks of the families of which the first is the beginning of the second, as
    `<a>` and `<a>b`: in a stream, `<a>` must be read before it shows whether `b` follows. Return
    `None` if there are none.

    At least one of the two is an opener. Two marks of the same row are compared only if the user
    wrote the row as a pair.
    """
    rows = tuple(families)
    openers = [(row, mark, head_of(mark)) for row in rows for mark in row.opens]
    others = [
        (row, mark, head_of(mark))
        for row in rows
        for mark in (*row.closes, *row.ignored, *(row.answer_tags or ()))
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


def _parse_name(name: str) -> Iterable[ThoughtRow]:
    """Return the families for one of the names that `choose` takes. Raises ValueError for any
    other name.
    """
    if name == AUTO:
        return [family for family in TABLE if not family.ambiguous_in_prose]
    if name in _BY_NAME:
        return [_BY_NAME[name]]
    pair = name.split(" ")
    if len(pair) == 2 and all(pair):
        own = ThoughtRow(name, (pair[0],), (pair[1],), counts=Counts.IN_TEXT)
        fixed = (row for row in FAMILIES if not row.model_pattern)
        return [next((row for row in fixed if [row.open, row.close] == pair), own)]
    raise ValueError(
        f"expected {AUTO}, a pair OPEN CLOSE with one space between, "
        f"or one of: {', '.join(_BY_NAME)}; got {name!r}"
    )
