import base64
from typing import Any

import pytest

from converter.core.dialects.openai_parts import PARTS, as_text_or_source, read_arguments, source_of
from converter.core.dialects.table import OPENAI_CHAT
from converter.core.model.conversation import (
    Data,
    Document,
    Linked,
    RequestError,
    Sound,
    Stored,
    TextBlock,
)
from converter.core.wire.checked import Fields
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("data:image/png;base64,aGk=", Data("image/png", "aGk=")),
        ("data:text/plain;charset=utf-8;base64,aGk=", Data("text/plain;charset=utf-8", "aGk=")),
        ("data:text/plain,hi", Linked("data:text/plain,hi")),
        ("http://h/a,b", Linked("http://h/a,b")),
    ],
)
def test_a_data_url_is_its_bytes_and_any_other_a_link(url: str, source: object) -> None:
    assert source_of(url) == source


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ({"file_data": "data:text/csv;base64,YQ==", "filename": "a.csv"}, Document((TextBlock("a"),), "a.csv")),
        ({"file_data": "YQ=="}, Document(Data("", "YQ=="))),
        ({"file_url": "http://h/a"}, Document(Linked("http://h/a"))),
        ({"file_id": "f"}, Document(Stored("f"))),
    ],
)  # fmt: skip
def test_a_file_is_read_however_it_came(file: dict[str, Any], document: Document) -> None:
    assert PARTS["input_file"](Fields({"type": "input_file", **file})) == document


@pytest.mark.parametrize("content", ["!", "/w=="])
def test_a_text_that_cannot_be_read_keeps_its_bytes(content: str) -> None:
    assert as_text_or_source(Data("text/plain", content)) == Data("text/plain", content)


@pytest.mark.parametrize(("arguments", "read"), ROWS["arguments are an object whatever came"])
def test_arguments_are_an_object_whatever_came(arguments: object, read: object) -> None:
    assert read_arguments(arguments) == read


TEXT = base64.b64encode("a = 1 # é".encode()).decode()


def part(value: dict[str, Any]) -> object:
    return OPENAI_CHAT.requests.blocks[value["type"]](Fields(value))


@pytest.mark.parametrize(
    ("value", "block"),
    ROWS["each content part has its block"],
)  # fmt: skip
def test_each_content_part_has_its_block(value: dict[str, Any], block: object) -> None:
    assert part(value) == block


def test_a_text_file_that_is_no_text_keeps_its_bytes() -> None:
    bad = base64.b64encode(b"\xff\xfe").decode()
    file = {"type": "file", "file": {"file_data": f"data:text/plain;base64,{bad}"}}
    assert part(file) == Document(Data("text/plain", bad))


def test_a_sound_without_a_format_is_a_wave() -> None:
    sound = part({"type": "input_audio", "input_audio": {"data": "SUQz"}})
    assert sound == Sound(Data("audio/wav", "SUQz"))


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "video_url", "file"])
def test_a_wrong_type_is_refused_with_its_path(kind: str) -> None:
    with pytest.raises(RequestError) as raised:
        part({"type": kind})
    assert raised.value.path == kind
