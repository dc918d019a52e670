"""The blocks of both dialects, read part by part."""

import base64
from typing import Any

import pytest

from converter.addon.transcript.blocks import parts_of, text_of_parts
from converter.addon.transcript.turns import Field, Media, Raw
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PICTURE = base64.b64encode(bytes(1500)).decode()
SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ({"type": "text", "text": "Hi"}, [TextBlock("Hi")]),
        ({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}, [TextBlock("Hi")]),
        (
            {"type": "text", "text": "Hi", "x_new": "word"},
            [TextBlock("Hi"), Field("x_new", "word")],
        ),
        ({"type": "output_text", "text": "Hi"}, [TextBlock("Hi")]),
        ({"type": "refusal", "refusal": "No."}, [TextBlock("No.", "refusal")]),
        ({"type": "thinking", "thinking": "deep", "signature": "s"}, [ThinkingBlock("deep")]),
        (
            {"type": "thinking", "thinking": [{"type": "text", "text": "deep"}]},
            [ThinkingBlock("deep")],
        ),
        (
            {"type": "redacted_thinking", "data": "AAAA"},
            [ThinkingBlock("", note="only its vendor can read it, 3 bytes")],
        ),
        (
            {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}},
            [ToolUse("a", "look", '{\n  "at": 1\n}')],
        ),
        (
            {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}},
            [ToolUse("a", "web_search", "{}")],
        ),
        (
            {"type": "tool_result", "tool_use_id": "a", "content": "wet"},
            [ToolResult("a", (TextBlock("wet"),))],
        ),
        (
            {"type": "tool_result", "tool_use_id": "a", "is_error": True},
            [ToolResult("a", (TextBlock(""),), is_error=True)],
        ),
        ({"type": "image", "source": SOURCE}, [Media("image", "image/png", 1500)]),
        (
            {"type": "image", "source": {"type": "url", "url": "https://h/c.png"}},
            [Media("image", address="https://h/c.png")],
        ),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PICTURE}"}},
            [Media("image", "image/gif", 1500)],
        ),
        (
            {"type": "image_url", "image_url": "https://h/c.png"},
            [Media("image", address="https://h/c.png")],
        ),
        (
            {"type": "input_image", "image_url": "https://h/c.png"},
            [Media("image", address="https://h/c.png")],
        ),
        (
            {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}},
            [Media("audio", "wav", 1500)],
        ),
        (
            {"type": "file", "file": {"file_id": "f1", "filename": "a.pdf"}},
            [Media("file", address="f1", title="a.pdf")],
        ),
        (
            {"type": "input_file", "file_url": "http://h/a.pdf", "filename": "a.pdf", "x": 1},
            [Media("file", address="http://h/a.pdf", title="a.pdf"), Field("x", 1)],
        ),
        (
            {
                "type": "document",
                "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "words"},
            },
            [Media("document", "text/plain", title="T"), TextBlock("words", "document")],
        ),
        (
            {
                "type": "document",
                "context": "c",
                "source": {"type": "content", "content": [{"type": "text", "text": "w"}]},
            },
            [Media("document"), TextBlock("w"), TextBlock("c", "context")],
        ),
        (
            {
                "type": "search_result",
                "title": "T",
                "source": "http://h",
                "content": [{"type": "text", "text": "w"}],
            },
            [
                Media("search_result", title="T"),
                TextBlock("w", "search_result"),
                TextBlock("http://h", "context"),
            ],
        ),
        ({"type": "tool_reference", "tool_name": "look"}, [TextBlock("Tool: look")]),
        (
            {"type": "computer_screenshot", "image_url": "https://h/c.png", "x": 1},
            [Media("image", address="https://h/c.png"), Field("x", 1)],
        ),
        (
            {"type": "input_file", "file_data": "data:text/plain;base64,SGk=", "filename": "a"},
            [Media("file", title="a"), TextBlock("Hi", "file")],
        ),
    ],
)
def test_a_block_is_read(block: dict[str, Any], parts: list[object]) -> None:
    assert parts_of([block]) == parts


@pytest.mark.parametrize("block", ROWS["what cannot be read is shown raw"])
def test_what_cannot_be_read_is_shown_raw(block: object) -> None:
    (part,) = parts_of([block])
    assert isinstance(part, Raw)


def test_a_content_of_any_shape_is_shown() -> None:
    assert parts_of("words") == [TextBlock("words")]
    assert parts_of(["words", None]) == [TextBlock("words")]
    assert parts_of(None) == []
    assert parts_of({"a": 1}) == [Raw('{\n  "a": 1\n}')]


def test_a_result_with_a_picture_is_one_text() -> None:
    content = [{"type": "text", "text": "seen:"}, {"type": "image", "source": SOURCE}]
    assert parts_of([{"type": "tool_result", "tool_use_id": "a", "content": content}]) == [
        ToolResult("a", (TextBlock("seen:\n[image image/png 1.5 kB]"),))
    ]
    assert text_of_parts([Field("a", 1), Raw("b")]) == "a: 1\nb"


def test_blocks_in_blocks_end_somewhere() -> None:
    block: dict[str, Any] = {"type": "text", "text": "innermost"}
    for _ in range(300):
        block = {"type": "document", "source": {"type": "content", "content": [block]}}
    assert "innermost" in str(parts_of([block]))
