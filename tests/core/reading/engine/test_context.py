"""Where a mark stands, and which code is open there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.engine.context import Context, MarkPlace
from converter.core.reading.rows import LINE, PARAGRAPH, SENTENCE
from tests.support.strategies import law


def _behind(*pieces: str) -> Context:
    context = Context()
    for piece in pieces:
        context.feed(piece)
    return context


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", MarkPlace.AT_BREAK),
        ("word\n  ", MarkPlace.AT_BREAK),
        ("word.", MarkPlace.AT_BREAK),
        ("word. ", MarkPlace.BEHIND_SENTENCE),
        ("word: ", MarkPlace.BEHIND_SENTENCE),
        ("I use ", MarkPlace.IN_SENTENCE),
        ("so, ", MarkPlace.IN_SENTENCE),
        ('the mark "', MarkPlace.QUOTED),
        ("the mark (", MarkPlace.QUOTED),
    ],
)
def test_a_mark_stands_somewhere_on_its_line(text: str, place: MarkPlace) -> None:
    assert _behind(text).place is _behind(*text).place is place


@pytest.mark.parametrize(
    ("text", "places"),
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
    text: str, places: set[str]
) -> None:
    for context in (_behind(text), _behind(*text)):
        assert {place for place in (PARAGRAPH, SENTENCE, LINE) if context.begins(place)} == places


@pytest.mark.parametrize(
    ("words", "blanks", "places"),
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
    words: str, blanks: str, places: set[str]
) -> None:
    context = _behind(words)
    assert {it for it in (PARAGRAPH, SENTENCE, LINE) if context.begins(it, blanks)} == places


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
    context.begin_code_anew()
    assert not context.in_code
    assert context.shows_calls
    context = _behind("a `b")
    context.begin_code_anew()
    assert not context.shows_calls


@law(50)
@given(st.lists(st.sampled_from(["a", " ", "\n", "`", "```", "> ", "~~~\n", '"'])))
def test_asked_or_not_on_the_way_the_answers_are_the_same(pieces: list[str]) -> None:
    asked = Context()
    for piece in pieces:
        asked.feed(piece)
        assert isinstance(asked.in_code, bool)
    once = _behind("".join(pieces))
    assert (asked.place, asked.before, asked.in_fence, asked.shows_calls, asked.in_code) == (
        once.place,
        once.before,
        once.in_fence,
        once.shows_calls,
        once.in_code,
    )
