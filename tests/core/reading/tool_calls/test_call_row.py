"""The marks that a form begins and ends with."""

from functools import partial

import pytest

from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.bodies import Json
from converter.core.reading.tool_calls.call_row import CallRow

form = partial(CallRow, "a", body=Json(), counts=Counts.EVERYWHERE)
AROUND = ("<s>", "</s>")


@pytest.mark.parametrize(
    ("row", "firsts", "ends"),
    [
        (form(), ("{", "["), ()),
        (form(("<a>",), ("</a>",)), ("<a>",), ("</a>",)),
        (form(("<a>",), ("</a>",), alone=True), ("<a>", "{", "["), ("</a>",)),
        (form(section=AROUND), ("{", "["), ("</s>",)),
        (form(("<a>",), section=AROUND), ("<a>",), ("</s>",)),
    ],
)
def test_a_call_begins_with_its_mark_or_with_its_body(
    row: CallRow, firsts: tuple[str, ...], ends: tuple[str, ...]
) -> None:
    assert (row.firsts, row.ends) == (firsts, ends)


def test_in_a_section_a_call_may_begin_with_its_body() -> None:
    assert form(("<a>",), section=AROUND).in_section == ("<a>", "{", "[")


@pytest.mark.parametrize(
    ("row", "pairs"),
    [
        (form(), ()),
        (form(("<a>",), ("</a>",)), (("<a>", "</a>"),)),
        (form(section=AROUND), (("<s>", "</s>"),)),
        (
            form(("<a>", "<b>"), ("</a>",), section=AROUND),
            (("<s>", "</s>"), ("<a>", "</a>"), ("<b>", "</a>")),
        ),
        (form(("to=",), ("</a>",), thought_suffix="f"), (("to=f", "</a>"),)),
    ],
)
def test_each_opener_has_what_closes_it(row: CallRow, pairs: tuple[tuple[str, str], ...]) -> None:
    assert row.pairs == pairs
