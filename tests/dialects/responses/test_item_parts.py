"""The parts of a Responses item."""

import base64
from typing import Any

import pytest

from converter.model.conversation import (
    Data,
    Document,
    Image,
    Linked,
    Sound,
    Stored,
    TextBlock,
    Turn,
)
from tests.dialects.responses.test_items import read, turns

pytestmark = pytest.mark.slow

TEXT = base64.b64encode(b"a = 1").decode()


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "input_text", "text": "a"}, TextBlock("a")),
        ({"type": "output_text", "text": "a", "annotations": []}, TextBlock("a")),
        ({"type": "refusal", "refusal": "no"}, TextBlock("no")),
        ({"type": "input_image", "image_url": "http://h/p", "detail": "auto"}, Image(Linked("http://h/p"), "auto")),
        ({"type": "input_image", "file_id": "f1", "detail": "high"}, Image(Stored("f1"), "high")),
        ({"type": "input_image", "image_url": "data:image/png;base64,aGk="}, Image(Data("image/png", "aGk="))),
        ({"type": "input_image", "file_id": "f1"}, Image(Stored("f1"))),
        ({"type": "input_file", "file_url": "http://h/a.pdf"}, Document(Linked("http://h/a.pdf"))),
        ({"type": "input_file", "file_id": "f1"}, Document(Stored("f1"))),
        (
            {"type": "input_file", "filename": "a.py", "file_data": f"data:text/x-python;base64,{TEXT}"},
            Document((TextBlock("a = 1"),), "a.py"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            Sound(Data("audio/mp3", "aGk=")),
        ),
    ],
)  # fmt: skip
def test_each_part_has_its_block(part: dict[str, Any], block: object) -> None:
    assert turns({"role": "user", "content": [part]}) == [Turn("user", (block,))]  # type: ignore[arg-type]


def test_a_part_without_a_meaning_here_is_named() -> None:
    assert read({"role": "user", "content": [{"type": "input_smell"}]}).left_out == {"input_smell"}
