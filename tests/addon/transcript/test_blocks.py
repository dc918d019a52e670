"""The blocks of both dialects, read part by part."""

import base64
from typing import Any

import pytest

from converter.addon.transcript.blocks import parts_of, plain
from converter.addon.transcript.turns import (
    CallPart,
    Field,
    Media,
    Raw,
    ResultPart,
    TextPart,
    ThinkingPart,
)

PICTURE = base64.b64encode(bytes(1500)).decode()
SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ({"type": "text", "text": "Hi"}, [TextPart("Hi")]),
        ({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}, [TextPart("Hi")]),
        ({"type": "text", "text": "Hi", "x_new": "word"}, [TextPart("Hi"), Field("x_new", "word")]),
        ({"type": "output_text", "text": "Hi"}, [TextPart("Hi")]),
        ({"type": "refusal", "refusal": "No."}, [TextPart("No.", "refusal")]),
        ({"type": "thinking", "thinking": "deep", "signature": "s"}, [ThinkingPart("deep")]),
        (
            {"type": "thinking", "thinking": [{"type": "text", "text": "deep"}]},
            [ThinkingPart("deep")],
        ),
        (
            {"type": "redacted_thinking", "data": "AAAA"},
            [ThinkingPart("", "only its vendor can read it, 3 bytes")],
        ),
        (
            {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}},
            [CallPart("look", "a", '{\n  "at": 1\n}')],
        ),
        (
            {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}},
            [CallPart("web_search", "a", "{}")],
        ),
        ({"type": "tool_result", "tool_use_id": "a", "content": "wet"}, [ResultPart("wet", "a")]),
        (
            {"type": "tool_result", "tool_use_id": "a", "is_error": True},
            [ResultPart("", "a", error=True)],
        ),
        ({"type": "image", "source": SOURCE}, [Media("image", "image/png", 1500)]),
        (
            {"type": "image", "source": {"type": "url", "url": "https://h/c.png"}},
            [Media("image", place="https://h/c.png")],
        ),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PICTURE}"}},
            [Media("image", "image/gif", 1500)],
        ),
        (
            {"type": "image_url", "image_url": "https://h/c.png"},
            [Media("image", place="https://h/c.png")],
        ),
        (
            {"type": "input_image", "image_url": "https://h/c.png"},
            [Media("image", place="https://h/c.png")],
        ),
        (
            {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}},
            [Media("audio", "wav", 1500)],
        ),
        (
            {"type": "file", "file": {"file_id": "f1", "filename": "a.pdf"}},
            [Media("file", place="f1", title="a.pdf")],
        ),
        (
            {"type": "input_file", "file_url": "http://h/a.pdf", "filename": "a.pdf", "x": 1},
            [Media("file", place="http://h/a.pdf", title="a.pdf"), Field("x", 1)],
        ),
        (
            {
                "type": "document",
                "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "words"},
            },
            [Media("document", "text/plain", title="T"), TextPart("words", "document")],
        ),
        (
            {
                "type": "document",
                "context": "c",
                "source": {"type": "content", "content": [{"type": "text", "text": "w"}]},
            },
            [Media("document"), TextPart("w"), TextPart("c", "context")],
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
                TextPart("w", "search_result"),
                TextPart("http://h", "context"),
            ],
        ),
        ({"type": "tool_reference", "tool_name": "look"}, [TextPart("Tool: look")]),
        (
            {"type": "computer_screenshot", "image_url": "https://h/c.png", "x": 1},
            [Media("image", place="https://h/c.png"), Field("x", 1)],
        ),
        (
            {"type": "input_file", "file_data": "data:text/plain;base64,SGk=", "filename": "a"},
            [Media("file", title="a"), TextPart("Hi", "file")],
        ),
    ],
)
def test_a_block_is_read(block: dict[str, Any], parts: list[object]) -> None:
    assert parts_of([block]) == parts


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": 3},
        {"type": "image"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "no base64"},
        },
        {"type": "image_url", "image_url": ["u"]},
        {"type": "tool_use", "name": {}, "input": {}},
        {"type": "tool_result", "tool_use_id": 3},
        {"type": "from the future", "says": "hello"},
        {"type": ["text"]},
        {},
        7,
        [["nested"]],
    ],
)
def test_what_cannot_be_read_is_shown_raw(block: object) -> None:
    (part,) = parts_of([block])
    assert isinstance(part, Raw)


def test_a_content_of_any_shape_is_told() -> None:
    assert parts_of("words") == [TextPart("words")]
    assert parts_of(["words", None]) == [TextPart("words")]
    assert parts_of(None) == []
    assert parts_of({"a": 1}) == [Raw('{\n  "a": 1\n}')]


def test_a_result_with_a_picture_is_one_text() -> None:
    content = [{"type": "text", "text": "seen:"}, {"type": "image", "source": SOURCE}]
    assert parts_of([{"type": "tool_result", "tool_use_id": "a", "content": content}]) == [
        ResultPart("seen:\n[image image/png 1.5 kB]", "a")
    ]
    assert plain([Field("a", 1), Raw("b")]) == "a: 1\nb"


def test_blocks_in_blocks_end_somewhere() -> None:
    block: dict[str, Any] = {"type": "text", "text": "innermost"}
    for _ in range(300):
        block = {"type": "document", "source": {"type": "content", "content": [block]}}
    assert "innermost" in str(parts_of([block]))
