import base64
from typing import Any

import pytest

from converter.dialects.openai_chat.parts import PARTS
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
)
from converter.wire.checked import Fields

TEXT = base64.b64encode("a = 1 # é".encode()).decode()


def part(value: dict[str, Any]) -> object:
    return PARTS[value["type"]](Fields(value))


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


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "video_url", "file"])
def test_a_wrong_type_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(RequestError) as raised:
        part({"type": kind})
    assert raised.value.place == kind
