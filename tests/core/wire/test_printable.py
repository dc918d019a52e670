"""Nothing in model text acts on a terminal, and unreadable data is described in a few words."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire.printable import (
    bounded,
    in_json,
    laid_out,
    one_line,
    size_of,
    visible,
    without_base64,
    without_data,
)
from tests.support.rows import rows_of
from tests.support.strategies import law

ROWS = rows_of(__file__)


@pytest.mark.parametrize(("text", "shown"), ROWS["what acts is spelled out"])
def test_what_acts_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@law(300)
@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = visible(text)
    assert not [
        character
        for character in shown
        if character not in "\n\t" and (ord(character) < 32 or 127 <= ord(character) < 160)
    ]
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029"
    )
    shown.encode()  # half a surrogate pair would raise


@law(200)
@given(st.text())
def test_one_line_is_one(text: str) -> None:
    assert not {"\n", "\r", "\t"} & set(one_line(text))


@given(st.binary(max_size=50))
def test_the_size_of_base64_is_that_of_its_bytes(data: bytes) -> None:
    assert size_of(base64.b64encode(data).decode()) == len(data)


def test_data_is_cut_and_text_is_not() -> None:
    data = base64.b64encode(bytes(3000)).decode()
    assert (
        without_data(f"see data:image/png;base64,{data} there")
        == "see data:image/png;base64,[3.0 kB] there"
    )
    assert without_data(data) == data
    assert without_base64(f'{{"data": "{data}"}}') == '{"data": "[base64, 3.0 kB]"}'
    long = "a line with spaces " * 1000
    assert without_base64(long) == long


def test_text_of_others_is_one_bounded_line() -> None:
    assert bounded(" a\n\tb\x1b ", 9) == "a b␛"
    assert [bounded("abc", length) for length in (2, 3)] == ["a…", "abc"]


def test_looking_for_base64_takes_linear_time() -> None:
    """A minute and more if each place of a run too short were tried again; a test that hangs is one
    that fails.
    """
    text = ("a" * 999 + " ") * 5000
    assert without_base64(text) == text


@pytest.mark.parametrize(
    ("arguments", "shown"), ROWS["arguments are laid out unless that would change them"]
)
def test_arguments_are_laid_out_unless_that_would_change_them(arguments: str, shown: str) -> None:
    assert laid_out(arguments) == shown


@law(200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_laid_out_json_is_the_same_json(value: object) -> None:
    assert json.loads(laid_out(json.dumps(value))) == value
    assert json.loads(in_json(value)) == value


def test_what_is_nested_too_deeply_is_no_error() -> None:
    value: object = "deep"
    for _ in range(100_000):
        value = [value]
    assert in_json(value)
    assert laid_out("[" * 100_000 + "]" * 100_000)
