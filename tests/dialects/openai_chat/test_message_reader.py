import base64
from typing import Any

import pytest

from converter.dialects.openai_chat.message_reader import Messages
from converter.dialects.openai_chat.messages import TOOL_ERROR
from converter.dialects.openai_parts import read_arguments
from converter.model.conversation import (
    Data,
    Document,
    Image,
    Linked,
    RequestError,
    Sound,
    Stored,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.wire.checked import Fields

TEXT = base64.b64encode("a = 1 # é".encode()).decode()


def turns(*messages: dict[str, Any]) -> list[Turn]:
    read = Messages()
    for message in messages:
        read.add(Fields(message))
    return read.turns


def blocks(message: dict[str, Any]) -> tuple[object, ...]:
    (turn,) = turns(message)
    return turn.blocks


def part(value: dict[str, Any]) -> object:
    (block,) = blocks({"role": "user", "content": [value]})
    return block


def call(**function: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": function}


@pytest.mark.parametrize(
    ("role", "read"),
    [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant")],
)
def test_each_role_has_its_turn(role: str, read: str) -> None:
    assert turns({"role": role, "content": "a"}) == [Turn(read, (TextBlock("a"),))]  # type: ignore[arg-type]


def test_a_role_nobody_knows_is_read_as_user_with_a_note() -> None:
    messages = Messages()
    messages.add(Fields({"role": "observer", "content": "a"}))
    assert messages.turns == [Turn("user", (TextBlock("a"),))]
    assert messages.left_out == {"role 'observer', read as user"}


@pytest.mark.parametrize("content", [None, "", []])
def test_a_message_may_say_nothing(content: object) -> None:
    assert blocks({"role": "assistant", "content": content}) == ()


@pytest.mark.parametrize(
    ("value", "block"),
    [
        ({"type": "text", "text": "a"}, TextBlock("a")),
        ({"type": "refusal", "refusal": "no"}, TextBlock("no")),
        ({"type": "thinking", "thinking": "hm"}, ThinkingBlock("hm")),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, ThinkingBlock("hm")),
        ({"type": "image_url", "image_url": {"url": "http://h/p.png"}}, Image(Linked("http://h/p.png"))),
        ({"type": "image_url", "image_url": {"url": "http://h/p", "detail": "low"}}, Image(Linked("http://h/p"), "low")),
        ({"type": "image_url", "image_url": "data:image/png;base64,aGk="}, Image(Data("image/png", "aGk="))),
        (
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            Sound(Data("audio/mp3", "aGk=")),
        ),
        ({"type": "video_url", "video_url": {"url": "http://h/v"}}, Document(Linked("http://h/v"))),
        ({"type": "file", "file": {"file_id": "f1"}}, Document(Stored("f1"))),
        (
            {"type": "file", "file": {"file_data": "aGk=", "filename": "a.pdf"}},
            Document(Data("", "aGk="), "a.pdf"),
        ),
        (
            {"type": "file", "file": {"file_data": f"data:text/plain;base64,{TEXT}", "filename": "a.py"}},
            Document((TextBlock("a = 1 # é"),), "a.py"),
        ),
    ],
)  # fmt: skip
def test_each_content_part_has_its_block(value: dict[str, Any], block: object) -> None:
    assert part(value) == block


def test_a_text_file_that_is_no_text_keeps_its_bytes() -> None:
    bad = base64.b64encode(b"\xff\xfe").decode()
    file = {"type": "file", "file": {"file_data": f"data:text/plain;base64,{bad}"}}
    assert part(file) == Document(Data("text/plain", bad))


def test_a_part_nobody_knows_is_left_out_with_a_note() -> None:
    messages = Messages()
    messages.add(
        Fields({"role": "user", "content": [{"type": "smell"}, {"type": "text", "text": "a"}]})
    )
    assert messages.turns == [Turn("user", (TextBlock("a"),))]
    assert messages.left_out == {"smell"}


@pytest.mark.parametrize(
    "name", ["reasoning_content", "reasoning", "thinking", "reasoning_details"]
)
def test_a_reasoning_field_in_the_history_is_thinking(name: str) -> None:
    value = [{"type": "reasoning.text", "text": "hm"}] if name.endswith("details") else "hm"
    message = {"role": "assistant", "content": "a", name: value}
    assert blocks(message) == (ThinkingBlock("hm"), TextBlock("a"))


def test_thinking_under_two_names_is_one_thought() -> None:
    message = {"role": "assistant", "content": "a", "reasoning": "hm", "reasoning_content": "hm"}
    assert blocks(message) == (ThinkingBlock("hm"), TextBlock("a"))


def test_calls_follow_what_is_said() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "tool_calls": [call(name="f", arguments='{"b": 1}')],
    }
    assert blocks(message) == (TextBlock("a"), ToolUse("c1", "f", {"b": 1}))


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a":', {"arguments": '{"a":'}),
    ],
)
def test_arguments_are_an_object_whatever_came(arguments: object, read: object) -> None:
    assert read_arguments(arguments) == read


def test_a_custom_call_holds_its_text() -> None:
    entry = {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "text"}}
    assert blocks({"role": "assistant", "tool_calls": [entry]}) == (
        ToolUse("c1", "f", {"input": "text"}),
    )


def test_tool_messages_in_a_row_are_one_turn() -> None:
    read = turns(
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
        {"role": "user", "content": "c"},
    )
    assert read == [
        Turn("user", (ToolResult("a", (TextBlock("1"),)), ToolResult("b", (TextBlock("2"),)))),
        Turn("user", (TextBlock("c"),)),
    ]


def test_an_error_that_our_own_writer_marked_is_one_again() -> None:
    message = {"role": "tool", "tool_call_id": "a", "content": f"{TOOL_ERROR}\nno file"}
    assert blocks(message) == (ToolResult("a", (TextBlock("no file"),), is_error=True),)


def test_a_legacy_function_answers_its_last_call() -> None:
    read = turns(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "2"},
    )
    assert [turn.blocks for turn in read] == [
        (ToolUse("call_1", "f", {}),),
        (ToolResult("call_1", (TextBlock("1"),)),),
        (ToolUse("call_2", "f", {}),),
        (ToolResult("call_2", (TextBlock("2"),)),),
    ]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "user", "content": 1}, "content"),
        ({"role": "user", "content": ["a"]}, "content.0"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "tool_calls.0.function"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "content.0.image_url"),
    ],
)
def test_a_wrong_type_is_refused_with_its_place(message: dict[str, Any], place: str) -> None:
    with pytest.raises(RequestError) as raised:
        turns(message)
    assert raised.value.place == place
