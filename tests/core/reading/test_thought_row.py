"""What a row of the families' table says of itself."""

from converter.core.reading.rows import Counts, tag
from converter.core.reading.thought_row import NO_MODEL, Lone, ThoughtRow, Words


def test_a_row_of_two_marks_promises_nothing_else() -> None:
    row = ThoughtRow("a", Words(), *tag("a"), counts=Counts.IN_TEXT)
    assert (row.ignored, row.body.labels, row.torn, row.answer_tags) == ((), (), (), None)
    assert not row.ambiguous_in_prose
    assert row.lone is Lone.THOUGHT


def test_a_row_that_models_or_the_user_switch_on_may_stand_in_prose() -> None:
    rows = [
        ThoughtRow("a", Words(), *tag("a"), counts=Counts.IN_TEXT, model_pattern=pattern)
        for pattern in (NO_MODEL, "granite")
    ]
    assert all(row.ambiguous_in_prose for row in rows)
    assert len({*rows}) == 2
