from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import (
    Event,
    Failure,
    Finish,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reply.message import Message, message_of

EVENTS: list[Event] = [
    Start("1", "m"),
    Thinking("a"),
    Thinking("b"),
    ThinkingEnd(signature="s"),
    Thinking("c"),
    ThinkingEnd(),
    Text("d"),
    ToolCall(0, "c0", "f", '{"x"'),
    ToolCall(1, "c1", "g", ""),
    ToolCall(0, "", "", ": 1}"),
    Text("e"),
    Text("other", choice=1),
    Finish("stop", choice=1),
    Finish("tool_calls"),
    Usage(1, 2),
]


def test_a_message_has_its_blocks_in_their_order() -> None:
    message = message_of(EVENTS)
    assert message == Message(
        (
            ThinkingBlock("ab", "s"),
            ThinkingBlock("c"),
            TextBlock("d"),
            ToolUse("c0", "f", '{"x": 1}'),
            ToolUse("c1", "g"),
            TextBlock("e"),
        ),
        "m",
        "tool_calls",
        Usage(1, 2),
    )
    assert (message.text, message.thinking) == ("de", "ab\n\nc")
    assert [(call.name, call.input) for call in message.calls] == [("f", {"x": 1}), ("g", {})]


def test_another_choice_has_its_own() -> None:
    message = message_of(EVENTS, choice=1)
    assert (message.blocks, message.finish) == ((TextBlock("other"),), "stop")


def test_the_first_failure_is_told() -> None:
    assert message_of([Failure("gone"), Failure("again")]).failure == "gone"
    assert message_of([]) == Message()
