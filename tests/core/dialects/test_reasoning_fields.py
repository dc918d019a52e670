"""Rows of fields, the words in them, and one thought under several names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.reasoning_fields import (
    REASONING_FIELDS,
    THINKING,
    ReasoningMerger,
    has_value,
    read_map,
    thinking_in,
    thoughts_of,
)
from converter.core.dialects.wire_form import Mapped
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def test_a_row_gives_a_field_its_block_and_key() -> None:
    rows = read_map(
        ["my_custom_field=custom:custom_data", "x-plan.v2=plan:steps", "musings=thinking:thinking"]
    )
    assert rows == {
        "my_custom_field": Mapped("custom", "custom_data"),
        "x-plan.v2": Mapped("plan", "steps"),
        "musings": THINKING,
    }


def test_no_rows_are_allowed() -> None:
    assert read_map([]) == {}


def test_a_name_of_thinking_may_become_another_block() -> None:
    assert read_map(["reasoning=plan:steps"]) == {"reasoning": Mapped("plan", "steps")}


BAD_ROWS = ROWS["bad rows"]


@pytest.mark.parametrize(("row", "pattern"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_is_refused_with_what_is_allowed(row: str, pattern: str) -> None:
    with pytest.raises(ValueError, match=pattern) as refused:
        read_map(["good=custom:x", row])
    assert repr(row) in str(refused.value)


def test_a_field_has_one_row() -> None:
    with pytest.raises(ValueError, match="a has a row already"):
        read_map(["a=b:c", "a=b:d"])


def test_every_name_that_means_thinking_is_mapped_to_it() -> None:
    assert set(REASONING_FIELDS.values()) == {THINKING}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), ("", False), ([], False), ({}, False), (0, True), ([0], True)],
)
def test_what_says_something(value: object, expected: bool) -> None:
    assert has_value(value) is expected


TEXTS: dict[str, tuple[object, str]] = ROWS["texts"]


@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=TEXTS)
def test_text_in_a_field(value: object, text: str) -> None:
    assert thinking_in(value) == text


def test_deep_nesting_has_no_text_and_raises_nothing() -> None:
    value: object = "a"
    for _ in range(5000):
        value = [value]
    assert thinking_in(value) == ""


def _merged(*pieces: tuple[str, str]) -> str:
    voices = ReasoningMerger()
    return "|".join(voices.feed(name, text) for name, text in pieces)


ONE_THOUGHT = ROWS["one thought"]


@pytest.mark.parametrize(("pieces", "expected"), ONE_THOUGHT.values(), ids=ONE_THOUGHT)
def test_one_text_under_several_names_is_emitted_once(
    pieces: list[tuple[str, str]], expected: str
) -> None:
    assert _merged(*pieces) == expected


SEVERAL = ROWS["several"]


@pytest.mark.parametrize(("pieces", "expected"), SEVERAL.values(), ids=SEVERAL)
def test_a_text_that_goes_on_otherwise_is_emitted_whole(
    pieces: list[tuple[str, str]], expected: str
) -> None:
    assert _merged(*pieces) == expected


@given(st.text(max_size=30), st.lists(st.integers(1, 5)), st.randoms(use_true_random=False))
def test_however_it_is_cut_and_mixed_one_text_is_emitted_once(
    text: str, lengths: list[int], chance: random.Random
) -> None:
    voices, emitted, places = ReasoningMerger(), "", {"a": 0, "b": 0, "c": 0}
    for length in [*lengths, *[len(text)] * 9]:
        name = chance.choice("abc")
        emitted += voices.feed(name, text[places[name] : places[name] + length])
        places[name] += length
    assert emitted == text[: max(places.values())]


def test_a_long_thought_in_short_pieces_is_emitted_once() -> None:
    voices, emitted = ReasoningMerger(), 0
    for _ in range(100_000):
        emitted += len(voices.feed("a", "0123456789")) + len(voices.feed("b", "0123456789"))
    assert emitted == 1_000_000


def test_a_thought_under_two_names_of_a_message_is_emitted_once() -> None:
    message = {"reasoning_content": "deep", "reasoning": "deep", "thinking": None, "content": "a"}
    assert thoughts_of(message) == {"reasoning_content": "deep", "reasoning": ""}
