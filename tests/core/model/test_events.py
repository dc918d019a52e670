"""Events are flat values."""

import dataclasses

from converter.core.model import events
from converter.core.model.events import (
    Event,
    Finish,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    joined,
)


def test_what_only_one_dialect_can_write_back_is_passed_to_that_one() -> None:
    own = events.Own("a", {"x": 1}, b"raw")
    assert events.own_fields(own, "a") == {"x": 1}
    assert events.own_fields(own, "b") is events.own_fields(None, "a") is None


def test_only_text_of_one_kind_and_choice_is_joined() -> None:
    events: list[Event] = [
        Thinking("a"),
        Thinking("b"),
        ThinkingEnd(),
        Text("c"),
        Text("d", 1),
        Text("e", 1),
        Text("f", own=Own("openai")),
        Text("g", refusal=True),
    ]
    assert joined(events) == [
        Thinking("ab"),
        ThinkingEnd(),
        Text("c"),
        Text("de", 1),
        Text("f", own=Own("openai")),
        Text("g", refusal=True),
    ]


def test_pieces_of_one_call_are_one() -> None:
    pieces = [ToolCall(0, "i", "n", ""), ToolCall(0, "", "", "{"), ToolCall(0, "", "", "}")]
    another = [ToolCall(1, "j", "n", ""), ToolCall(1, "", "", "{}")]
    assert joined([*pieces, *another]) == [ToolCall(0, "i", "n", "{}"), ToolCall(1, "j", "n", "{}")]


def test_other_events_stay_apart() -> None:
    assert joined([Finish("stop"), Finish("stop")]) == [Finish("stop"), Finish("stop")]
    assert joined([]) == []


def test_text_of_one_field_is_joined_where_its_fields_may_be_lost() -> None:
    first, second = (Thinking(word, own=Own("openai", {"reasoning": word})) for word in "ab")
    assert joined([first, second]) == [first, second]
    assert joined([first, second], fields=True) == [dataclasses.replace(first, text="ab")]
    assert joined([first, Thinking("c")], fields=True) == [first, Thinking("c")]


def test_a_call_of_another_id_begins_anew() -> None:
    calls = [ToolCall(0, "i", "n", "{}"), ToolCall(0, "j", "", "{}")]
    assert joined(calls) == calls
