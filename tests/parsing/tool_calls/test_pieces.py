"""Neighbouring pieces are one."""

from converter.model.events import Finish, Text, ToolCall
from converter.parsing.tool_calls.pieces import joined


def test_pieces_of_one_text_are_one() -> None:
    assert joined([Text("a"), Text("b"), Text("c", 1), Text("d", 1, refusal=True)]) == [
        Text("ab"),
        Text("c", 1),
        Text("d", 1, refusal=True),
    ]


def test_pieces_of_one_call_are_one() -> None:
    pieces = [ToolCall(0, "i", "n", ""), ToolCall(0, "", "", "{"), ToolCall(0, "", "", "}")]
    another = [ToolCall(1, "j", "n", ""), ToolCall(1, "", "", "{}")]
    assert joined([*pieces, *another]) == [ToolCall(0, "i", "n", "{}"), ToolCall(1, "j", "n", "{}")]


def test_other_events_stay_apart() -> None:
    assert joined([Finish("stop"), Finish("stop")]) == [Finish("stop"), Finish("stop")]
    assert joined([]) == []
