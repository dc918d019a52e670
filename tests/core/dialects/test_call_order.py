"""Content and calls that wait for a call's end."""

from collections import deque
from collections.abc import Iterable
from itertools import chain, repeat

import pytest

from converter.core.dialects.call_order import InOrder, ToolPiece
from converter.core.model.events import Text, Thinking, ToolCall
from converter.core.wire.bounds import DELAYED_LIMIT, TooMuchError


def _piece(index: int, arguments: str = "", name: str = "", id_: str = "") -> ToolCall:
    return ToolCall(index, id_, name, arguments)


def _pieces(emitted: Iterable[Text | ToolPiece]) -> list[ToolPiece]:
    return [piece for piece in emitted if isinstance(piece, ToolPiece)]


def test_the_first_call_goes_out_as_it_comes() -> None:
    order = InOrder[Text]()
    begin, *_ = _pieces(order.feed(_piece(0, "", "f", "a")))
    assert (begin.begins, begin.id, begin.name) == (True, "a", "f")
    pieces = _pieces(order.feed(_piece(0, '{"x":"long')))
    assert [piece.json for piece in pieces] == ['{"x":"long']


def test_the_second_call_waits_until_the_first_is_complete() -> None:
    order = InOrder[Text]()
    deque(order.feed(_piece(0, '{"x":', "f", "a")))
    assert [*order.feed(_piece(1, '{"y":2}', "g", "b"))] == []
    first = _pieces(order.feed(ToolCall(0, "", "", "1}", ends=True)))
    assert [piece.name or piece.json for piece in first] == ["1}", "g", '{"y":2}']


def test_a_call_without_an_end_stays_open_though_nothing_was_sent_of_it() -> None:
    for arguments in ("", '{"x": 1'):
        order = InOrder[Text]()
        text = "".join(piece.json for piece in _pieces(order.feed(_piece(0, arguments, "f", "a"))))
        rest = _pieces(order.end())
        assert rest[-1].cut
        assert (text + "".join(piece.json for piece in rest)).startswith("{")


def test_a_call_that_ended_has_no_rest() -> None:
    order = InOrder[Text]()
    deque(order.feed(ToolCall(0, "a", "f", "{}", ends=True)))
    assert [*order.end()] == []


BEGIN, END = ToolCall(0, "c", "f", "{"), ToolCall(0, "", "", "}", ends=True)


def test_what_comes_within_a_call_waits_for_its_end() -> None:
    order = InOrder[Text | Thinking]()
    between: list[Text | Thinking] = [Text("a"), Thinking("b"), Text("c")]
    assert [*order.feed(BEGIN)] == [ToolPiece(True, "c", "f"), ToolPiece(False, json="{")]
    assert [emitted for event in between for emitted in order.feed(event)] == []
    assert [*order.feed(END)] == [ToolPiece(False, json="}"), *between]
    assert [*order.feed(Text("d")), *order.end()] == [Text("d")]


def test_what_waits_comes_with_the_end_of_the_reply_too() -> None:
    order = InOrder[Text]()
    emitted = [emitted for event in (BEGIN, Text("a")) for emitted in order.feed(event)]
    assert [*emitted, *order.end()][-1] == Text("a")


@pytest.mark.parametrize("text", ["", "a", "word " * 1000])
def test_so_much_waits_and_no_more(text: str) -> None:
    order = InOrder[Text]()
    deque(order.feed(BEGIN))
    events = chain.from_iterable(map(order.feed, repeat(Text(text), DELAYED_LIMIT)))
    with pytest.raises(TooMuchError, match="text within a tool call of more than 1,048,576"):
        deque(events, 0)
