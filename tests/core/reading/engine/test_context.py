"""The position of a mark, and the code that is open there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.engine.context import Context
from converter.core.reading.rows import LINE, PARAGRAPH, SENTENCE
from tests.support.strategies import law


def _behind(*pieces: str) -> Context:
    context = Context()
    for piece in pieces:
        context.feed(piece)
    return context


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", ""),
        ("word\n  ", ""),
        ("word.", ""),
        ("word. ", ""),
        ("word: ", ""),
        ("I use ", "in sentence"),
        ("so, ", "in sentence"),
        ('the mark "', "quoted"),
        ("the mark (", "quoted"),
    ],
)
def test_a_mark_stands_somewhere_on_its_line(text: str, position: str) -> None:
    for context in (_behind(text), _behind(*text)):
        assert (context.quoted, context.in_sentence) == (
            position == "quoted",
            position == "in sentence",
        )


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("", {PARAGRAPH, SENTENCE, LINE}),
        (" \n\t", {PARAGRAPH, SENTENCE, LINE}),
        ("a\n \n ", {PARAGRAPH, SENTENCE, LINE}),
        ("a\n", {SENTENCE, LINE}),
        ("a.\n", {SENTENCE, LINE}),
        ('a." ', {SENTENCE}),
        ("a.", set()),
        ("a ", set()),
        ("a\n" + " " * 80, set()),
    ],
)
def test_a_phrase_counts_where_a_paragraph_a_sentence_or_a_line_begins(
    text: str, positions: set[str]
) -> None:
    for context in (_behind(text), _behind(*text)):
        assert {
            position for position in (PARAGRAPH, SENTENCE, LINE) if context.stands_at(position)
        } == positions


@pytest.mark.parametrize(
    ("before", "blanks", "positions"),
    [
        ("", "", {PARAGRAPH, SENTENCE, LINE}),
        ("", " \n\t", {PARAGRAPH, SENTENCE, LINE}),
        ("a", "\n \n ", {PARAGRAPH, SENTENCE, LINE}),
        ("a\n", "\n", {PARAGRAPH, SENTENCE, LINE}),
        ("a", "\n", {SENTENCE, LINE}),
        ('a."', " ", {SENTENCE}),
        ("a.", "", set()),
        ("a", " ", set()),
        ("a", "\n" + " " * 80, {SENTENCE, LINE}),
    ],
)
def test_blanks_that_wait_count_as_blanks_that_have_come(
    before: str, blanks: str, positions: set[str]
) -> None:
    context = _behind(before)
    assert {it for it in (PARAGRAPH, SENTENCE, LINE) if context.stands_at(it, blanks)} == positions


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a `", True),
        ("a `tick\n", False),
        ("```\ncode\n", True),
        ("> ", True),
        ("+", True),
        ("- item\n", False),
        ('say "', True),
        ('say " ', False),
    ],
)
def test_a_call_is_shown_in_code_in_a_quoted_line_and_behind_a_quotation_mark(
    text: str, shown: bool
) -> None:
    assert _behind(text).shows_calls is _behind(*text).shows_calls is shown


def test_a_mark_that_is_no_text_closes_code_and_keeps_the_line() -> None:
    context = _behind("> a `b")
    context.close_code()
    assert not context.in_code
    assert context.shows_calls
    context = _behind("a `b")
    context.close_code()
    assert not context.shows_calls


@law(50)
@given(st.lists(st.sampled_from(["a", " ", "\n", "`", "```", "> ", "~~~\n", '"'])))
def test_queries_between_pieces_change_no_answer(pieces: list[str]) -> None:
    read_between = Context()
    for piece in pieces:
        read_between.feed(piece)
        assert isinstance(read_between.in_code, bool)
    once = _behind("".join(pieces))
    assert (
        read_between.in_sentence,
        read_between.text_before,
        read_between.in_fence,
        read_between.shows_calls,
        read_between.in_code,
    ) == (once.in_sentence, once.text_before, once.in_fence, once.shows_calls, once.in_code)
