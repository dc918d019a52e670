import base64

import pytest

from converter.core.dialects.anthropic.blocks import ROLE_BLOCKS, read_blocks, readers_of
from converter.core.model.conversation import RequestError, TextBlock, ToolResult, ToolUse
from converter.core.wire.checked import Fields
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PNG = base64.b64encode(b"\x89PNG").decode()
PDF = base64.b64encode(b"%PDF").decode()
CACHE = {"cache_control": {"type": "ephemeral"}}


def read(role: str, *blocks: object, left_out: list[str] | None = None) -> tuple[object, ...]:
    return read_blocks(
        Fields({"content": list(blocks)}, "messages.0"),
        "content",
        ROLE_BLOCKS[role],
        left_out if left_out is not None else [],
    )


def source(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, **fields}


@pytest.mark.parametrize(("role", "block", "expected"), ROWS["each block is read"])
def test_each_block_is_read(role: str, block: object, expected: object) -> None:
    assert read(role, block) == (expected,)


@pytest.mark.parametrize("kind", ["server_tool_use", "web_search_tool_result", "of_tomorrow"])
def test_a_block_that_no_local_server_knows_is_left_out_and_noted(kind: str) -> None:
    left_out: list[str] = []
    text_block = {"type": "text", "text": "kept"}
    assert read("assistant", {"type": kind, "anything": 1}, text_block, left_out=left_out) == (
        TextBlock("kept"),
    )
    assert left_out == [kind]


@pytest.mark.parametrize(("role", "block", "message"), ROWS["a bad block is refused with its path"])
def test_a_bad_block_is_refused_with_its_path(role: str, block: object, message: str) -> None:
    good = {"type": "text", "text": "fine"}
    with pytest.raises(RequestError) as caught:
        read(role, good, block)
    assert caught.value.message == f"messages.0.content.1.{message}"


def test_a_block_that_nobody_knows_is_left_out_and_noted() -> None:
    left_out: list[str] = []
    text_block = {"type": "text", "text": "kept"}
    assert read("user", {"type": "txt", "text": "x"}, text_block, left_out=left_out) == (
        TextBlock("kept"),
    )
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "sound"}, text_block]}
    blocks = read_blocks(
        Fields({"content": [result]}), "content", readers_of("user", left_out), left_out
    )
    assert blocks == (ToolResult("a", (TextBlock("kept"),)),)
    assert left_out == ["txt", "sound"]


def test_an_unknown_type_inside_a_document_names_the_read_ones() -> None:
    inner = {"type": "content", "content": [{"type": "txt"}]}
    with pytest.raises(RequestError, match=r"Input tag 'txt' does not match .*'text', 'image'"):
        read("user", {"type": "document", "source": inner})


@pytest.mark.parametrize("fields", [{}, {"input": None}])
def test_a_call_without_arguments_has_none(fields: dict[str, object]) -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", **fields}
    assert read("assistant", call) == (ToolUse("a", "f", "{}"),)


def test_the_path_reaches_into_a_tool_result() -> None:
    with pytest.raises(
        RequestError,
        match=r"^messages\.0\.content\.0\.content\.1\.type: Input tag 'tool_use' does not match",
    ):
        read(
            "user",
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": ""}, {"type": "tool_use"}],
            },
        )
