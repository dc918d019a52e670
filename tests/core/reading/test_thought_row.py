"""The facts of a row in the families' table."""

from converter.core.reading.rows import Counts, tag
from converter.core.reading.thought_row import Lone, ThoughtRow


def test_a_row_of_two_marks_promises_nothing_else() -> None:
    row = ThoughtRow("a", *tag("a"), counts=Counts.IN_TEXT)
    assert (row.ignored, row.labels, row.torn, row.answer_tags) == ((), (), (), None)
    assert not row.ambiguous_in_prose
    assert row.lone is Lone.THOUGHT


def test_a_row_that_a_model_switches_on_may_stand_in_prose() -> None:
    rows = [
        ThoughtRow("a", *tag("a"), counts=Counts.IN_TEXT, model_pattern="granite") for _ in range(2)
    ]
    assert all(row.ambiguous_in_prose for row in rows)
    assert len({*rows}) == 2
