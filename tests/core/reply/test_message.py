from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import Event, Failure, Text, Usage
from converter.core.reply.message import Message, message_of
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

EVENTS: list[Event] = ROWS["events"]


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


def test_a_refusal_is_a_block_of_its_own() -> None:
    blocks = message_of([Text("no", refusal=True), Text("yes")]).blocks
    assert blocks == (TextBlock("no", "refusal"), TextBlock("yes"))


def test_another_choice_has_its_own() -> None:
    message = message_of(EVENTS, choice=1)
    assert (message.blocks, message.finish) == ((TextBlock("other"),), "stop")


def test_the_first_failure_is_reported() -> None:
    assert message_of([Failure("gone"), Failure("again")]).failure == "gone"
    assert message_of([]) == Message()
