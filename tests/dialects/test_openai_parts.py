from typing import Any

import pytest

from converter.dialects.openai_parts import document_of, read_arguments, readable, source_of
from converter.model.conversation import Data, Document, Linked, Stored, TextBlock
from converter.wire.checked import Fields


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
    assert document_of(Fields(file)) == document


@pytest.mark.parametrize("content", ["!", "/w=="])
def test_a_text_that_cannot_be_read_keeps_its_bytes(content: str) -> None:
    assert readable(Data("text/plain", content)) == Data("text/plain", content)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ("a", {"arguments": "a"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a":', {"arguments": '{"a":'}),
    ],
)
def test_arguments_are_an_object_whatever_came(arguments: object, read: object) -> None:
    assert read_arguments(arguments) == read
