import base64

import pytest

from converter.core.dialects.anthropic.blocks import ROLE_BLOCKS, read_blocks, readers_of
from converter.core.model.conversation import (
    Data,
    Document,
    Image,
    Linked,
    RedactedThinking,
    RequestError,
    Stored,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from converter.core.wire.checked import Fields

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


@pytest.mark.parametrize(
    ("role", "block", "expected"),
    [
        ("user", {"type": "text", "text": " hi\n", **CACHE}, TextBlock(" hi\n")),
        ("assistant", {"type": "text", "text": "hi", "citations": None}, TextBlock("hi")),
        (
            "assistant",
            {"type": "thinking", "thinking": "\nhm", "signature": "sig"},
            ThinkingBlock("\nhm", "sig"),
        ),
        ("assistant", {"type": "thinking", "thinking": "hm"}, ThinkingBlock("hm", "")),
        ("assistant", {"type": "redacted_thinking", "data": "x"}, RedactedThinking("x")),
        (
            "assistant",
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1]}, **CACHE},
            ToolUse("a", "f", '{"x": [1]}'),
        ),
        ("assistant", {"type": "compaction", "content": "before"}, TextBlock("before")),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data=PNG)},
            Image(Data("image/png", PNG)),
        ),
        (
            "user",
            {"type": "image", "source": source("url", url="http://x/a.png")},
            Image(Linked("http://x/a.png")),
        ),
        (
            "user",
            {"type": "image", "source": source("file", file_id="file_1")},
            Image(Stored("file_1")),
        ),
        (
            "user",
            {
                "type": "document",
                "title": "T",
                "context": "C",
                "source": source("text", media_type="text/plain", data="body"),
            },
            Document((TextBlock("body"),), "T", "C"),
        ),
        (
            "user",
            {
                "type": "document",
                "source": source(
                    "base64", media_type="text/plain", data=base64.b64encode("ä".encode()).decode()
                ),
            },
            Document((TextBlock("ä"),)),
        ),
        (
            "user",
            {
                "type": "document",
                "source": source("base64", media_type="application/pdf", data=PDF),
            },
            Document(Data("application/pdf", PDF)),
        ),
        (
            "user",
            {"type": "document", "source": source("content", content="inner")},
            Document((TextBlock("inner"),)),
        ),
        (
            "user",
            {
                "type": "document",
                "source": source(
                    "content",
                    content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                ),
            },
            Document((TextBlock("a"), TextBlock("b"))),
        ),
        (
            "user",
            {"type": "document", "source": source("url", url="http://x/a.pdf")},
            Document(Linked("http://x/a.pdf")),
        ),
        (
            "user",
            {"type": "document", "source": source("file", file_id="file_1")},
            Document(Stored("file_1")),
        ),
        (
            "user",
            {
                "type": "search_result",
                "title": "T",
                "source": "http://x",
                "content": [{"type": "text", "text": "found"}],
            },
            Document((TextBlock("found"),), "T", "http://x"),
        ),
        ("user", {"type": "tool_result", "tool_use_id": "a"}, ToolResult("a")),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "a", "content": "ok", "is_error": False},
            ToolResult("a", (TextBlock("ok"),)),
        ),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "a", "content": [], "is_error": True},
            ToolResult("a", (), True),
        ),
        (
            "user",
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "tool_reference", "tool_name": "f"},
                ],
            },
            ToolResult("a", (TextBlock("x"), TextBlock("Tool: f"))),
        ),
    ],
)
def test_each_block_is_read(role: str, block: object, expected: object) -> None:
    assert read(role, block) == (expected,)


@pytest.mark.parametrize("kind", ["server_tool_use", "web_search_tool_result", "of_tomorrow"])
def test_a_block_that_no_local_server_knows_is_left_out_and_noted(kind: str) -> None:
    left_out: list[str] = []
    said = {"type": "text", "text": "kept"}
    assert read("assistant", {"type": kind, "anything": 1}, said, left_out=left_out) == (
        TextBlock("kept"),
    )
    assert left_out == [kind]


@pytest.mark.parametrize(
    ("role", "block", "message"),
    [
        ("user", {"text": "x"}, "type: Field required"),
        ("user", {"type": 1}, "type: Input should be a valid string"),
        ("user", {"type": "text"}, "text: Field required"),
        ("user", {"type": "text", "text": 1}, "text: Input should be a valid string"),
        (
            "user",
            {"type": "thinking", "thinking": "x", "signature": ""},
            "type: `thinking` blocks can only be in `assistant` messages",
        ),
        (
            "user",
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            "type: `tool_use` blocks can only be in `assistant` messages",
        ),
        (
            "assistant",
            {"type": "tool_result", "tool_use_id": "a"},
            "type: `tool_result` blocks can only be in `user` messages",
        ),
        ("system", {"type": "image"}, "type: `image` blocks can only be in `user` messages"),
        (
            "assistant",
            {"type": "tool_use", "id": "a", "name": "f", "input": "{}"},
            "input: Input should be an object",
        ),
        ("assistant", {"type": "tool_use", "name": "f", "input": {}}, "id: Field required"),
        ("user", {"type": "tool_result"}, "tool_use_id: Field required"),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "a", "is_error": "no"},
            "is_error: Input should be a valid boolean",
        ),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "a", "content": 3},
            "content: Input should be a valid string or an array",
        ),
        ("user", {"type": "image"}, "source: Field required"),
        (
            "user",
            {"type": "image", "source": source("ftp")},
            "source.type: Input should be 'base64' or 'url' or 'file'",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data="a*b=")},
            "source.data: Invalid base64 data",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data="abc")},
            "source.data: Invalid base64 data",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data="ä===")},
            "source.data: Invalid base64 data",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data="")},
            "source.data: Invalid base64 data: it is empty",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="image/png", data=1)},
            "source.data: Input should be a valid string",
        ),
        (
            "user",
            {"type": "image", "source": source("base64", media_type="text/bmp", data=PNG)},
            "source.media_type: Input should begin with 'image/'",
        ),
        (
            "user",
            {"type": "document", "source": source("base64", media_type="text/plain", data="/w==")},
            "source.data: Input should be UTF-8 text",
        ),
        (
            "user",
            {"type": "document", "source": source("text", media_type="text/html", data="x")},
            "source.media_type: Input should be 'text/plain'",
        ),
    ],
)
def test_a_bad_block_is_refused_at_its_place(role: str, block: object, message: str) -> None:
    good = {"type": "text", "text": "fine"}
    with pytest.raises(RequestError) as caught:
        read(role, good, block)
    assert caught.value.message == f"messages.0.content.1.{message}"


def test_a_block_that_nobody_knows_is_left_out_and_noted() -> None:
    left_out: list[str] = []
    said = {"type": "text", "text": "kept"}
    assert read("user", {"type": "txt", "text": "x"}, said, left_out=left_out) == (
        TextBlock("kept"),
    )
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "sound"}, said]}
    found = read_blocks(
        Fields({"content": [result]}), "content", readers_of("user", left_out), left_out
    )
    assert found == (ToolResult("a", (TextBlock("kept"),)),)
    assert left_out == ["txt", "sound"]


def test_an_unknown_type_inside_a_document_names_the_known_ones() -> None:
    inner = {"type": "content", "content": [{"type": "txt"}]}
    with pytest.raises(RequestError, match=r"Input tag 'txt' does not match .*'text', 'image'"):
        read("user", {"type": "document", "source": inner})


@pytest.mark.parametrize("given", [{}, {"input": None}])
def test_a_call_without_arguments_has_none(given: dict[str, object]) -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", **given}
    assert read("assistant", call) == (ToolUse("a", "f", "{}"),)


def test_the_place_reaches_into_a_tool_result() -> None:
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
