"""Thinking that its client does not want."""

from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.reading.thinking_hider import ThinkingHider


def test_all_but_thinking_passes() -> None:
    others: list[Event] = [Text("a"), ToolCall(0, "1", "f", "{}"), Finish("stop")]
    hider = ThinkingHider()
    events = [Thinking("why"), *others[:1], Thinking("so"), ThinkingEnd(), *others[1:]]
    assert [emitted for event in events for emitted in hider.feed(event)] == others
    assert hider.close() == []


def test_plain_text_is_that_of_the_answer() -> None:
    assert ThinkingHider().plain(Text) == (Text, "")
    assert ThinkingHider().plain(ToolCall) == (ToolCall, "")
    assert ThinkingHider().plain(Thinking) is None
