"""A row of the grammar: the same words for thoughts and for calls."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import pytest

from converter.core.reading.families import HEURISTIC, TABLE
from converter.core.reading.rows import Counts, Row, tag
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.bodies import Json
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS

OF_THOUGHTS = {Counts.IN_TEXT, Counts.AT_START, Counts.AT_PARAGRAPH}


def test_a_rows_usual_mark_is_its_first() -> None:
    row = Row("a", ("<a>", "<b>"), ("</a>", "</b>"), counts=Counts.IN_TEXT)
    assert (row.open, row.close) == ("<a>", "</a>")


def test_a_row_without_marks_is_one_whose_body_begins_and_ends_it() -> None:
    row = Row("a", counts=Counts.IN_TEXT)
    assert (row.opens, row.open, row.closes, row.close) == ((), "", (), "")


@pytest.mark.parametrize("kind", [Row, ThoughtRow, partial(CallRow, body=Json())])
def test_a_row_is_like_no_other(kind: Callable[..., object]) -> None:
    first, second = (kind("a", counts=Counts.IN_TEXT) for _ in range(2))
    assert first != second
    assert {first: 1, second: 2} == {second: 2, first: 1}


def test_the_marks_of_a_tag() -> None:
    assert tag("a:b") == (("<a:b>",), ("</a:b>",))


def test_each_region_where_marks_count_is_one_regions() -> None:
    assert {row.counts for row in (*TABLE, HEURISTIC)} == OF_THOUGHTS
    assert {row.counts for row in FORMS} == set(Counts) - OF_THOUGHTS


def test_rows_of_both_regions_have_the_same_fields_first_and_no_more_than_fourteen() -> None:
    common = [field.name for field in fields(Row)]
    for row in (ThoughtRow, CallRow):
        names = [field.name for field in fields(row)]
        assert names[: len(common)] == common
        assert len(names) <= 14
