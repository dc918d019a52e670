"""The oracle's blocks: thoughts with and without attributes."""

import pytest

from laws.oracle_blocks import Block, thought_block, with_attributes


def test_a_thought_loses_line_breaks_at_both_ends_and_nothing_else() -> None:
    assert thought_block("\n a \r\n", None) == Block("thinking", " a ")


@pytest.mark.parametrize(
    ("written", "confidence"),
    [('confidence="0.7"', 0.7), ("confidence='x'", 0.5), ('confidence="nan"', 0.5), ("", 0.5)],
)
def test_a_confidence_is_a_number_or_a_half(written: str, confidence: float) -> None:
    block = with_attributes("", "", f' thought="why" thought_type="plan" {written}')
    assert block == Block("thinking", "why", "plan", confidence)


def test_the_words_of_an_attribute_stand_before_those_of_its_element() -> None:
    assert with_attributes("", "behind", ' thought="before"').text == "before\n\nbehind"
