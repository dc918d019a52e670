"""What a row of the families' table says of itself."""

from converter.parsing.think_tags import ThinkTags


def test_a_row_has_all_its_openers_and_closers() -> None:
    row = ThinkTags("a", "<a>", "</a>", also_open=("<b>",), also_close=("</b>", "</c>"))
    assert row.openers == ("<a>", "<b>")
    assert row.closers == ("</a>", "</b>", "</c>")


def test_a_row_of_two_marks_promises_nothing_else() -> None:
    row = ThinkTags("a", "<a>", "</a>")
    assert (row.ignored, row.labels, row.torn, row.answer_tags) == ((), (), (), None)
    assert not row.ambiguous_in_prose
    assert row.bare_close_means_thinking
    assert row.unmatched_close_is_text
