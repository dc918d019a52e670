"""Messages of all dialects, walked by one walker: each block once, and nothing lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.message_walk import Piece, Unread, WalkedItem, read_content, walk_items
from converter.core.model.conversation import (
    Document,
    RedactedThinking,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from converter.core.wire.printable import in_json
from tests.support.strategies import law
from tests.support.transcript_samples import JSON


def _blocks(item: WalkedItem) -> list[object]:
    return [piece.block for piece in item.pieces]


@pytest.mark.parametrize(
    ("message", "blocks"),
    [
        (  # chat completions
            {
                "role": "assistant",
                "reasoning_content": "hm",
                "content": "Hi",
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            [ThinkingBlock("hm"), TextBlock("Hi"), ToolUse("c", "f", "{}")],
        ),
        (  # their older form
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            [ToolUse("", "f", "{}")],
        ),
        (  # Ollama's
            {
                "role": "assistant",
                "thinking": "hm",
                "content": "",
                "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
            },
            [ThinkingBlock("hm"), TextBlock(""), ToolUse("", "f", in_json({"a": 1}))],
        ),
        (  # Messages
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "AAAA"},
                    {"type": "server_tool_use", "id": "s", "name": "search", "input": {}},
                ],
            },
            [ThinkingBlock("hm"), RedactedThinking("AAAA"), ToolUse("s", "search", "{}")],
        ),
        (  # an item of Responses
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "ls"},
            [ToolUse("c", "f", "ls")],
        ),
    ],
)
def test_a_message_is_walked_in_any_dialect(message: dict[str, Any], blocks: list[object]) -> None:
    (item,) = walk_items([message])
    assert item.speaker == "assistant"
    assert _blocks(item) == blocks


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "c", "content": "wet"},
        {"type": "function_call_output", "call_id": "c", "output": "wet"},
    ],
)
def test_a_result_has_its_content_within(result: dict[str, Any]) -> None:
    (item,) = walk_items([result])
    (piece,) = item.pieces
    assert item.speaker == "tool"
    assert piece.block == ToolResult("c")
    assert piece.inner == (Piece(TextBlock("wet")),)


def test_a_result_in_a_content_has_its_blocks_within() -> None:
    inner = [{"type": "text", "text": "wet"}, {"type": "tool_reference", "tool_name": "look"}]
    (piece,) = read_content([{"type": "tool_result", "tool_use_id": "c", "content": inner}])
    assert piece.block == ToolResult("c")
    assert [each.block for each in piece.inner] == [TextBlock("wet"), TextBlock("Tool: look")]


def test_a_block_comes_with_the_object_that_it_was_read_from() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "words"}
    (piece,) = read_content([{"type": "document", "source": source}])
    assert isinstance(piece.block, Document)
    assert piece.fields
    assert piece.fields.values["source"] == source


@pytest.mark.parametrize(
    ("block", "read"),
    [
        (
            {"type": "tool_use", "id": "c", "name": "f", "input": {}, "caller": {"type": "direct"}},
            ToolUse("c", "f", "{}"),
        ),
        (
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True},
            ThinkingBlock("hm"),
        ),
        (
            {"type": "thinking", "thinking": {"odd": 1}},
            Unread("", {"type": "thinking", "thinking": {"odd": 1}}),
        ),
    ],
)
def test_a_block_is_read_alone_or_stays_as_it_came(block: dict[str, Any], read: object) -> None:
    assert [piece.block for piece in read_content([block])] == [read]


def test_a_thought_is_sealed_only_where_it_has_no_text() -> None:
    sealed = {"type": "reasoning", "encrypted_content": "AAAA"}
    open_item = {**sealed, "summary": [{"type": "summary_text", "text": "hm"}]}
    assert [_blocks(each) for each in walk_items([open_item, sealed])] == [
        [ThinkingBlock("hm")],
        [ThinkingBlock("", note="sealed, 3 bytes")],
    ]


def test_fields_that_nobody_read_stand_beside_the_blocks() -> None:
    (item,) = walk_items([{"role": "user", "content": "Hi", "mood": "good", "id": "m", "name": ""}])
    assert _blocks(item) == [TextBlock("Hi"), Unread("mood", "good")]


@pytest.mark.parametrize("role", ["", "r" * 201, 7, None])
def test_a_message_without_a_usable_role_stays_as_it_came(role: object) -> None:
    message = {"role": role, "content": "Hi"}
    (item,) = walk_items([message])
    assert (item.speaker, _blocks(item), item.is_message) == ("?", [Unread("", message)], False)


def test_results_in_results_are_read_to_a_depth() -> None:
    deepest: dict[str, object] = {"type": "text", "text": "Hi"}
    value = deepest
    for _ in range(9):
        value = {"type": "tool_result", "tool_use_id": "c", "content": [value]}
    pieces, levels = read_content([value]), 0
    while pieces[0].inner:
        pieces, levels = [*pieces[0].inner], levels + 1
    assert levels == 8
    assert isinstance(pieces[0].block, Unread)


@pytest.mark.parametrize(
    "odd", [{"type": "new", "says": 1}, {"type": "function_call", "name": {}}, 7, ["nested"]]
)
def test_an_object_that_no_row_reads_stays_as_it_came(odd: object) -> None:
    (item,) = walk_items([odd])
    assert _blocks(item) == [Unread("", odd)]


def test_an_input_may_be_a_text_or_nothing() -> None:
    assert [*walk_items("Hi")] == [WalkedItem("user", [Piece(TextBlock("Hi"))], is_message=False)]
    assert [*walk_items(None)] == [*walk_items([])] == [*walk_items({})] == []


@law(60)
@given(JSON | st.lists(st.fixed_dictionaries({"role": st.text(), "content": JSON}), max_size=4))
def test_nothing_that_a_client_sends_makes_the_walk_raise(messages: object) -> None:
    for item in walk_items(json.loads(json.dumps(messages))):
        assert isinstance(item.speaker, str)
