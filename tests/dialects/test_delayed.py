"""Content that waits for a call's end, and blanks that wait for words."""

from collections import deque
from itertools import repeat

import pytest

from converter.dialects.delayed import BLANKS_LIMIT, DELAYED_LIMIT, Blanks, Delayed
from converter.events import Text, Thinking
from converter.limits import TooMuchError


def test_what_waits_comes_in_its_order_once() -> None:
    delayed = Delayed[Text | Thinking]()
    said: list[Text | Thinking] = [Text("a"), Thinking("b"), Text("c")]
    for event in said:
        delayed.add(event)
    assert (delayed.take(), delayed.take()) == (said, [])


@pytest.mark.parametrize("text", ["", "a", "word " * 1000])
def test_so_much_waits_and_no_more(text: str) -> None:
    delayed = Delayed[Text]()
    with pytest.raises(TooMuchError, match="text within a tool call of more than 1,048,576"):
        deque(map(delayed.add, repeat(Text(text), DELAYED_LIMIT)), 0)


def test_blanks_wait_for_words() -> None:
    blanks = Blanks()
    said = [blanks.with_words(text) for text in ("\n", " ", "a", "b")]
    assert said == ["", "", "\n a", "b"]


def test_blanks_are_forgotten_when_something_else_begins() -> None:
    blanks = Blanks()
    blanks.with_words("\n")
    blanks.clear()
    assert blanks.with_words("a") == "a"


def test_more_blanks_than_are_held_begin_the_answer() -> None:
    blanks = Blanks()
    assert blanks.with_words("\n" * BLANKS_LIMIT) == ""
    assert blanks.with_words("\n") == "\n" * (BLANKS_LIMIT + 1)
