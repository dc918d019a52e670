"""The families that are looked for: how they are chosen."""

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from converter.core.reading.families import FAMILIES, TABLE
from converter.core.reading.mark_search import head_of
from converter.core.reading.reading import Reading
from converter.core.reading.rows import Counts
from converter.core.reading.thought_row import PLAIN, ThoughtRow

AUTO = "auto"
_BY_NAME = {family.name: family for family in TABLE}


def choose(names: Sequence[str]) -> tuple[ThoughtRow, ...]:
    """Return the families that `names` ask for: `auto`, a family's name, or a literal pair `OPEN
    CLOSE`.

    Of two with an opener in common the later is taken. Raises ValueError, saying what is allowed,
    for anything else and for marks that a reader could not tell apart.
    """
    return _chosen(tuple(filter(None, map(str.strip, names))))


@lru_cache(32)
def _chosen(names: tuple[str, ...]) -> tuple[ThoughtRow, ...]:
    families = _merged(family for name in names for family in _rows(name))
    if confused := _confused(families):
        mark, other = confused
        raise ValueError(
            f"{mark!r} begins {other!r}, so that a stream's reader cannot tell them apart in time"
        )
    return families


def for_model(model: str) -> tuple[ThoughtRow, ...]:
    """Return the families that the name of a model asks for beyond `auto`."""
    return tuple(
        family
        for family in TABLE
        if family.model_pattern and re.search(family.model_pattern, model, re.IGNORECASE)
    )


def joined(families: tuple[ThoughtRow, ...], more: Iterable[ThoughtRow]) -> tuple[ThoughtRow, ...]:
    """Return `families` and `more`: a row takes the place of those with its opener; one that a
    reader confuses stays out.
    """
    for family in more:
        merged = _merged([*families, family])
        families = families if _confused(merged) else merged
    return families


def families_of(reading: Reading) -> tuple[ThoughtRow, ...]:
    """Return the families that a reply is read by: auto knows more of them when the model's name
    does.
    """
    return _with_models_own(reading.tags, reading.expected.model)


@lru_cache(maxsize=64)
def _with_models_own(tags: tuple[ThoughtRow, ...], model: str) -> tuple[ThoughtRow, ...]:
    return joined(tags, for_model(model)) if set(choose([AUTO])) <= set(tags) else tags


def _merged(families: Iterable[ThoughtRow]) -> tuple[ThoughtRow, ...]:
    chosen: list[ThoughtRow] = []
    for family in families:
        if family not in chosen:
            chosen = [
                *(other for other in chosen if not set(other.opens) & set(family.opens)),
                family,
            ]
    return tuple(chosen)


def _confused(families: Iterable[ThoughtRow]) -> tuple[str, str] | None:
    """Return an opener and another mark of which one begins the other, if there are such. A row of
    the table has its own tried with it.
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


def _rows(name: str) -> Iterable[ThoughtRow]:
    if name == AUTO:
        return [family for family in TABLE if not family.ambiguous_in_prose]
    if name in _BY_NAME:
        return [_BY_NAME[name]]
    pair = name.split(" ")
    if len(pair) == 2 and all(pair):
        own = ThoughtRow(name, PLAIN, (pair[0],), (pair[1],), counts=Counts.IN_TEXT)
        fixed = (row for row in FAMILIES if not row.model_pattern)
        return [next((row for row in fixed if [row.open, row.close] == pair), own)]
    raise ValueError(
        f"expected {AUTO}, a pair OPEN CLOSE with one space between, "
        f"or one of: {', '.join(_BY_NAME)}; got {name!r}"
    )
