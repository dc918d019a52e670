"""Thinking that nobody asked for."""

from converter.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall
from converter.parsing.hiding import ThinkingHider


def test_all_but_thinking_passes() -> None:
    others: list[Event] = [Text("a"), ToolCall(0, "1", "f", "{}"), Finish("stop")]
    hider = ThinkingHider()
    said = [Thinking("why"), *others[:1], Thinking("so"), ThinkingEnd(), *others[1:]]
    assert [made for event in said for made in hider.feed(event)] == others
    assert hider.close() == []
