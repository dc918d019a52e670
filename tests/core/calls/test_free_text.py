"""Free texts as objects with one string, and back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from converter.core.calls.free_text import FreeText, text_of
from converter.core.model.events import ToolCall
from tests.support.strategies import cut, law

TEXT = 'a "b"\n\\ {"c": 1}'


def test_the_text_is_one_string_of_an_object() -> None:
    text = FreeText()
    written = "".join([*map(text.feed, TEXT), text.close()])
    assert json.loads(written) == {"input": TEXT}
    assert text.complete


def test_without_its_end_it_is_not_complete() -> None:
    text = FreeText()
    text.feed(TEXT)
    assert not text.complete


def test_an_empty_text_has_its_string() -> None:
    text = FreeText()
    assert json.loads(text.feed("") + text.close()) == {"input": ""}
    assert not text.has_text


@law(50)
@given(st.data(), st.text())
def test_each_piece_can_be_read_back(data: st.DataObject, input_text: str) -> None:
    text, pieces = FreeText(), data.draw(cut(input_text)) or [""]
    calls = [
        ToolCall(0, "", "f" if index == 0 else "", text.feed(piece), free_text=True)
        for index, piece in enumerate(pieces)
    ]
    calls.append(ToolCall(0, "", "", text.close(), ends=True, free_text=True))
    assert [text_of(piece) for piece in calls] == [*pieces, ""]
