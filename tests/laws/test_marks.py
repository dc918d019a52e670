"""Marks in a text: what may go, and what must arrive."""

import pytest

from converter.core.reading.family_choice import choose
from laws.marks import Explanation, count, literal_marks, pattern, without_blanks

FAMILIES = choose(["auto"])


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("plain", "plain"),
        ("<think>why</think>so", "whyso"),
        ("<think>why</think>so", "<think>why</think>so"),
        ("`<think>`<think>t</think>", "`<think>`t"),
        ("<think:a1>t</think:a1>x", "tx"),
        ('<thinking thought="a b" confidence="0.7"/>x', "abx"),
        ("a<|channel>thought\nt<channel|>x", "atx"),
        (
            "<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>final<|message|>x<|return|>",
            "tx",
        ),
    ],
)
def test_all_that_may_be_missing_is_marks(sent: str, told: str) -> None:
    assert (
        Explanation(FAMILIES, attributes=True).missing(without_blanks(sent), without_blanks(told))
        is None
    )


@pytest.mark.parametrize(
    ("sent", "told", "place"),
    [
        ("<think>why</think>so", "whso", (9, 2)),
        ("<think>why</think>so", "whysoo", (20, 5)),
        ("so", "so<think>", (2, 2)),
        ("<thinker>", "er>", (0, 0)),
        ("abc", "acb", (1, 1)),
    ],
)
def test_a_lost_doubled_or_moved_word_is_found(
    sent: str, told: str, place: tuple[int, int]
) -> None:
    assert Explanation(FAMILIES, attributes=True).missing(sent, told) == place


def test_forms_with_attributes_go_only_when_they_are_read() -> None:
    form = '<thinkingthought="a"/>x'
    assert Explanation(FAMILIES, attributes=True).missing(form, "ax") is None
    assert Explanation(FAMILIES, attributes=False).missing(form, "ax") is not None


def test_every_mark_of_a_family_is_known_and_counted() -> None:
    marks = literal_marks(FAMILIES)
    assert {"<think>", "</think>", "[THINK]", "<|return|>", "<|start|>assistant"} <= set(marks)
    assert count("<think>", ["<think><think>", "<thi", "nk>"]) == 2
    assert count("<think:SUFFIX>", ["<think:a><think:b_2><think:>"]) == 2
    assert pattern("<|channel>thought\n").pattern == "<\\|channel>thought"


@pytest.mark.parametrize(
    ("sent", "told", "arrived"),
    [
        ("a to=f<|channel|>commentary json<|message|>{}b", "ab", True),
        ("a to=f{}b", "ab", True),
        ("a to=f x{}b", "ab", False),
    ],
)
def test_a_call_may_be_missing_with_the_marks_within_it(
    sent: str, told: str, arrived: bool
) -> None:
    explanation = Explanation(FAMILIES, False, ["to=f{}"])
    assert (explanation.missing(without_blanks(sent), told) is None) is arrived
