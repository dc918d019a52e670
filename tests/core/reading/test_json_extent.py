"""The end of JSON: at its last bracket, wherever the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.json_extent import JsonExtent
from tests.support.strategies import cut, law

WHOLE = [
    '{"a": 1}',
    '{"a": "}"}',
    '{"a": "\\"}"}',
    '{"a": "\\\\"}',
    "{'a': '}'}",
    '{"it": "isn\'t"}',
    "{it's: 1}",
    '[{"a": [1, {"b": 2}]}]',
    "[f(x=']')]",
    '[f(x="it\'s", y=(1, 2))]',
    '{"line": "a\nb"}',
]


def end(pieces: list[str]) -> int | None:
    """The place behind the value's end in the whole text."""
    extent, before = JsonExtent(), 0
    for piece in pieces:
        if (behind := extent.feed(piece)) is not None:
            return before + behind
        before += len(piece)
    return None


@pytest.mark.parametrize("value", WHOLE)
@pytest.mark.parametrize("behind", ["", " and then </think>", "}", "]"])
def test_it_ends_where_the_value_ends_however_it_is_cut(value: str, behind: str) -> None:
    text = value + behind
    assert end([text]) == len(value)
    assert end(list(text)) == len(value)
    for at in range(len(text)):
        assert end([text[:at], text[at:]]) == len(value)


@pytest.mark.parametrize("value", WHOLE)
def test_a_value_that_is_cut_has_no_end(value: str) -> None:
    assert end([value[:-1]]) is None


def test_text_that_is_sure_to_change_nothing_is_reported() -> None:
    extent = JsonExtent()
    extent.feed('{"a": "begun')
    assert extent.not_plain == '"\\'
    extent.feed("\\")
    assert extent.not_plain == ""


@law(100)
@given(st.data(), st.text(alphabet=list("{}[]()\"':,\\ \n=a"), max_size=20))
def test_drawn_text_ends_at_one_offset_however_it_is_cut(data: st.DataObject, text: str) -> None:
    assert end(data.draw(cut(text))) == end([text])
