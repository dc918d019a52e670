"""The input of a Responses request as a person reads it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.transcript import request, terminal, text
from converter.addon.transcript.blocks import parts_of_item, turns_of
from converter.addon.transcript.turns import Field, Raw, ShownTurn
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.printable import in_json
from tests.support.rows import rows_of
from tests.support.strategies import law
from tests.support.transcript_samples import JSON

ROWS = rows_of(__file__)

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "ok"}


def parts_read(item: dict[str, Any]) -> tuple[object, ...]:
    (turn,) = turns_of([item])
    return turn.parts


def test_a_text_is_a_users_turn() -> None:
    assert turns_of("hi") == [ShownTurn("user", (TextBlock("hi"),))]


def test_what_the_model_wrote_and_what_its_tools_gave_is_a_turn_each() -> None:
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    answer = {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    assert turns_of([message, message, THOUGHT, CALL, OUTPUT, OUTPUT, answer]) == [
        ShownTurn("user", (TextBlock("hi"),)),
        ShownTurn("user", (TextBlock("hi"),)),
        ShownTurn("assistant", (ThinkingBlock("hm"), ToolUse("c", "f", '{"a":1}'))),
        ShownTurn(
            "tool", (ToolResult("c", (TextBlock("ok"),)), ToolResult("c", (TextBlock("ok"),)))
        ),
        ShownTurn("assistant", (TextBlock("done"),)),
    ]


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        ({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, (ThinkingBlock("hm"),)),
        ({"type": "reasoning", "summary": [], "encrypted_content": "Z0FB"}, (ThinkingBlock("", note="sealed, 3 bytes"),)),
        (CALL | {"namespace": "mcp"}, (ToolUse("c", "mcp.f", '{"a":1}'),)),
        (
            {"type": "mcp_call", "id": "m", "server_label": "files", "name": "g", "arguments": "{}", "output": "x"},
            (ToolUse("m", "files.g", "{}"), Field("output", "x")),
        ),
        ({"type": "custom_tool_call", "call_id": "c", "name": "g", "input": "ls"}, (ToolUse("c", "g", "ls"),)),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}, (ToolUse("c", "shell", in_json({"commands": ["ls"]})),)),
        (OUTPUT | {"output": [{"type": "input_text", "text": "a"}], "status": "failed"}, (ToolResult("c", (TextBlock("a"),), is_error=True),)),
        ({"type": "item_reference", "id": "rs_1"}, (Raw(in_json({"type": "item_reference", "id": "rs_1"})),)),
    ],
)  # fmt: skip
def test_an_item_is_read(item: dict[str, Any], parts: tuple[object, ...]) -> None:
    assert parts_read(item) == parts


def test_thinking_in_an_assistants_text_is_set_apart() -> None:
    item = {"role": "assistant", "content": "<think>hm</think>Hello"}
    (turn,) = request.read(json.dumps({"input": [item]}).encode()).turns
    assert turn == ShownTurn("assistant", (ThinkingBlock("hm"), TextBlock("Hello")))


def test_an_item_of_a_reply_is_read_alike() -> None:
    search = {"type": "web_search_call", "id": "w", "action": {"query": "q"}}
    assert parts_of_item(search) == [ToolUse("w", "web_search", in_json({"query": "q"}))]


def test_a_request_shows_its_instructions_and_its_turns() -> None:
    body = {"model": "m", "instructions": "be brief", "input": [CALL], "store": False}
    read = request.read(json.dumps(body).encode())
    assert [turn.role for turn in read.turns] == ["system", "assistant"]
    assert read.settings == {"model": "m", "store": False}


KINDS = st.sampled_from(["message", "reasoning", "function_call", "shell_call_output", "new", ""])
NAMES = ROWS["names"]
ITEMS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    KINDS,
    st.dictionaries(st.sampled_from(NAMES), JSON),
)


@law(60)
@given(JSON | st.lists(ITEMS | JSON, max_size=4))
def test_whatever_a_client_sends_every_rendering_takes_it(input_: object) -> None:
    read = request.read(json.dumps({"model": "m", "input": input_}).encode())
    for rendering in (text.write, terminal.write):
        rendering(read)
