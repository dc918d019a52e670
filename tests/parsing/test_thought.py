"""One thought after another: what of it goes out, and when."""

import pytest

from converter.model.events import Thinking, ThinkingEnd
from converter.parsing.thought import UNREADABLE_CONFIDENCE, Thought
from converter.wire.bounds import BLANKS_LIMIT


def test_line_breaks_are_held_until_something_follows() -> None:
    thought = Thought()
    assert thought.feed("\n") == []
    assert thought.feed("a\n") == [Thinking("a")]
    assert thought.feed("b") == [Thinking("\nb")]
    assert thought.end() == [ThinkingEnd()]


def test_a_thought_of_blanks_has_no_end() -> None:
    thought = Thought()
    assert thought.feed(" \n ") == []
    assert thought.end() == []


def test_after_its_end_another_begins() -> None:
    thought = Thought(2)
    assert [*thought.feed("a\n"), *thought.end(), *thought.feed("\nb")] == [
        Thinking("a", 2),
        ThinkingEnd(2),
        Thinking("b", 2),
    ]


def test_no_more_blanks_are_held_than_the_limit() -> None:
    thought = Thought()
    assert thought.feed("a" + "\n" * (BLANKS_LIMIT + 3)) == [Thinking("a\n\n\n")]


@pytest.mark.parametrize(
    ("confidence", "read"),
    [
        ('"0.7"', 0.7),
        ("'1'", 1.0),
        ('"much"', UNREADABLE_CONFIDENCE),
        ('"inf"', UNREADABLE_CONFIDENCE),
    ],
)
def test_a_tag_tells_the_thought_and_what_is_known_of_it(confidence: str, read: float) -> None:
    thought = Thought()
    tag = f' thought="a" thought_type=\'plan\' other="b" confidence={confidence}/>'
    assert thought.read_attributes(tag) == [Thinking("a")]
    assert thought.end() == [ThinkingEnd(0, "plan", read)]
