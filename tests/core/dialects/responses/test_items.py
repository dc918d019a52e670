import base64
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from converter.core.dialects.openai_chat.request_writer import write_messages
from converter.core.dialects.request_settings import RequestSettings
from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.compaction import SUMMARY_HEAD
from converter.core.dialects.responses.items import Items
from converter.core.dialects.responses.tools import Toolbox
from converter.core.model.conversation import (
    Conversation,
    Image,
    Linked,
    RequestError,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.core.wire.checked import Fields
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

TEXT = base64.b64encode(b"a = 1").decode()


@pytest.mark.parametrize(("part", "block"), ROWS["each part has its block"])
def test_each_part_has_its_block(part: dict[str, Any], block: object) -> None:
    assert turns({"role": "user", "content": [part]}) == [Turn("user", (block,))]  # type: ignore[arg-type]


def test_a_part_without_a_meaning_here_is_named() -> None:
    assert read({"role": "user", "content": [{"type": "smell"}]}).left_out_types == {"smell"}


pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

ITEM = TypeAdapter[Any](ResponseInputItemParam)
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}


def read(*items: dict[str, Any]) -> Items:
    reading = Items(Toolbox())
    for item in items:
        reading.add(Fields(item))
    return reading


def turns(*items: dict[str, Any]) -> list[Turn]:
    reading = read(*items)
    assert reading.left_out_types == set()
    return reading.turns


@pytest.mark.parametrize(
    ("role", "expected"),
    [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant")],
)
@pytest.mark.parametrize("kind", [{}, {"type": "message"}])
def test_a_message_needs_no_type(role: str, expected: Any, kind: dict[str, str]) -> None:
    assert turns({**kind, "role": role, "content": "a"}) == [Turn(expected, (TextBlock("a"),))]


@pytest.mark.parametrize(("item", "block"), ROWS["a thought is read wherever its client kept it"])
def test_a_thought_is_read_wherever_its_client_kept_it(item: dict[str, Any], block: object) -> None:
    assert turns({"type": "reasoning", "id": "rs_1", **item}) == [Turn("assistant", (block,))]  # type: ignore[arg-type]


def test_an_empty_thought_is_no_turn() -> None:
    assert turns({"type": "reasoning", "id": "rs_1", "summary": []}) == []


def test_what_the_model_did_in_a_row_is_written_as_one_message() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}
    second = {**CALL, "call_id": "c2"}
    outputs = [
        {"type": "function_call_output", "call_id": name, "output": name} for name in ("c1", "c2")
    ]
    read = turns(thought, {"role": "assistant", "content": "a"}, CALL, second, *outputs)
    written = write_messages(Conversation("m", tuple(read)), RequestSettings(history="reasoning"))
    assert [message["role"] for message in written] == ["assistant", "tool", "tool"]
    turn = written[0]
    assert (turn["reasoning"], turn["content"], len(turn["tool_calls"])) == ("t", "a", 2)  # type: ignore[arg-type]
    assert [message["content"] for message in written[1:]] == ["c1", "c2"]


def test_messages_of_others_stand_alone() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert len(turns(*messages)) == 2


def test_an_output_may_be_a_list_with_pictures() -> None:
    parts = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "http://h/p"},
    ]
    output = {"type": "function_call_output", "call_id": "c1", "output": parts}
    assert turns(CALL, output)[1].blocks == (ToolResult("c1", (TextBlock("a"), Image(Linked("http://h/p")))),)  # fmt: skip


CALLS: list[tuple[dict[str, Any], ToolUse]] = [
    ({**CALL, "namespace": "n"}, ToolUse("c1", "n__f", '{"a": 1}')),
    ({"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "t"}, ToolUse("c1", "f", '{"input": "t"}')),
    (
        {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "q"}},
        ToolUse("c1", "tool_search", '{"query": "q"}'),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("item", "block"), CALLS, ids=[item["type"] for item, _ in CALLS])
def test_each_call_of_the_history_is_a_call(item: dict[str, Any], block: ToolUse) -> None:
    ITEM.validate_python(item)
    assert turns(item) == [Turn("assistant", (block,))]


OUTPUTS: list[tuple[dict[str, Any], ToolResult]] = ROWS["outputs"]  # fmt: skip


@pytest.mark.parametrize(("item", "block"), OUTPUTS, ids=[item["type"] for item, _ in OUTPUTS])
def test_each_output_of_the_history_is_a_result(item: dict[str, Any], block: ToolResult) -> None:
    item = {**item, "call_id": "c1"}
    ITEM.validate_python(item)
    assert turns(CALL, item)[1:] == [Turn("user", (block,))]


def test_an_output_without_its_call_is_refused_with_the_apis_text() -> None:
    with pytest.raises(RequestError, match="No tool call found for function call output"):
        read({"type": "function_call_output", "call_id": "c9", "output": "o"})


def test_a_thought_that_others_have_sealed_makes_no_turn_and_is_named() -> None:
    sealed = read({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"})
    assert (sealed.turns, sealed.left_out_types) == ([], {"reasoning.encrypted_content"})


def test_a_compaction_of_our_own_is_read_and_others_are_named() -> None:
    ours = {"type": "compaction", "encrypted_content": thoughts.encode("so far")}
    assert turns(ours) == [Turn("user", (TextBlock(SUMMARY_HEAD + "so far"),))]
    theirs = read({"type": "compaction", "encrypted_content": "gAAA"})
    assert (theirs.turns, theirs.left_out_types) == ([], {"compaction"})


@pytest.mark.parametrize(
    "kind",
    ["mcp_list_tools", "web_search_call", "shell_call", "shell_call_output", "something_new"],
)
def test_an_item_without_a_meaning_here_is_named(kind: str) -> None:
    assert read({"type": kind}).left_out_types == {kind}


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"role": "nobody", "content": "a"}, "role"),
        ({"role": "user", "content": 1}, "content"),
        ({"type": "function_call", "call_id": "c"}, "name"),
    ],
)
def test_a_wrong_item_is_refused_with_its_path(item: dict[str, Any], path: str) -> None:
    with pytest.raises(RequestError) as raised:
        read(item)
    assert raised.value.path == path
