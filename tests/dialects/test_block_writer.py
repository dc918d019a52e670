"""Content that waits for a call's end, and blanks that wait for words."""

from collections import deque
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import pytest

from converter.dialects.anthropic.message_events import MessageEvents
from converter.dialects.block_writer import Blanks, BlockWriter, InOrder
from converter.dialects.dialect import ReplyContext
from converter.dialects.responses.context import ResponseContext
from converter.dialects.responses.item_events import ItemEvents
from converter.dialects.tool_pieces import ToolPiece
from converter.model.events import Text, Thinking, ToolCall
from converter.wire.bounds import BLANKS_LIMIT, DELAYED_LIMIT, TooMuchError

BEGIN, END = ToolCall(0, "c", "f", "{"), ToolCall(0, "", "", "}", ends=True)


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


WRITERS = pytest.mark.parametrize(
    "make",
    [lambda: MessageEvents(ReplyContext()), lambda: ItemEvents(ResponseContext())],
    ids=["message", "response"],
)


@WRITERS
def test_what_had_no_place_is_named_in_one_line(make: Callable[[], BlockWriter[Any, Any]]) -> None:
    writer = make()
    assert writer.notes == []
    writer.leave_out({"b", "a"})
    assert writer.notes == [f"fields that a {writer.reply} has no place for: a, b"]


@WRITERS
def test_a_call_counts_the_same_however_its_arguments_are_spaced(
    make: Callable[[], BlockWriter[Any, Any]],
) -> None:
    """Streamed they are the server's own JSON text, whole they are an object written anew."""
    writers = [make(), make()]
    arguments = ['{"city": "New York",\n "n": 1}', '{"city":"New York","n":1}']
    for writer, text in zip(writers, arguments, strict=True):
        deque(writer.write(ToolCall(0, "c", "f", text)))
    assert writers[0].said == writers[1].said > 0
