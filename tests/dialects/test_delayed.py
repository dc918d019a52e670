"""Content that waits for a call's end, and blanks that wait for words."""

from collections import deque
from itertools import chain, repeat

import pytest

from converter.dialects.delayed import BLANKS_LIMIT, DELAYED_LIMIT, Blanks, InOrder
from converter.dialects.tool_pieces import ToolPiece
from converter.model.events import Text, Thinking, ToolCall
from converter.wire.limits import TooMuchError

BEGIN, END = ToolCall(0, "c", "f", "{"), ToolCall(0, "", "", "}")


def test_what_comes_within_a_call_waits_for_its_end() -> None:
    order = InOrder[Text | Thinking]()
    said: list[Text | Thinking] = [Text("a"), Thinking("b"), Text("c")]
    assert [*order.feed(BEGIN)] == [ToolPiece(True, "c", "f"), ToolPiece(False, json="{")]
    assert [made for event in said for made in order.feed(event)] == []
    assert [*order.feed(END)] == [ToolPiece(False, json="}"), *said]
    assert [*order.feed(Text("d")), *order.end()] == [Text("d")]


def test_what_waits_comes_with_the_end_of_the_reply_too() -> None:
    order = InOrder[Text]()
    made = [made for event in (BEGIN, Text("a")) for made in order.feed(event)]
    assert [*made, *order.end()][-1] == Text("a")


@pytest.mark.parametrize("text", ["", "a", "word " * 1000])
def test_so_much_waits_and_no_more(text: str) -> None:
    order = InOrder[Text]()
    deque(order.feed(BEGIN))
    events = chain.from_iterable(map(order.feed, repeat(Text(text), DELAYED_LIMIT)))
    with pytest.raises(TooMuchError, match="text within a tool call of more than 1,048,576"):
        deque(events, 0)


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
