"""JSON in and out: nothing a server can send is longer, or another value, when it has been read and
written.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.wire import json_text
from tests.support.strategies import law

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@law(100)
@given(VALUES)
def test_a_value_comes_back(value: object) -> None:
    assert json_text.read(json_text.write(value)) == value
    assert json_text.read(json.dumps(value).encode()) == value


@law(100)
@given(VALUES)
def test_what_is_written_is_one_line_and_no_longer_than_it_came(value: object) -> None:
    written = json_text.write(value)
    assert b"\n" not in written
    assert len(written) <= len(json.dumps(value).encode())


def test_characters_are_written_as_themselves() -> None:
    assert json_text.write({"a": "你🙂\u2028"}) == '{"a":"你🙂\u2028"}'.encode()


def test_half_a_surrogate_pair_is_escaped_again() -> None:
    assert json_text.write(json_text.read(b'"\\ud83d"')) == b'"\\ud83d"'


def test_one_byte_that_is_no_utf_8_costs_one_character() -> None:
    assert json_text.read(b'{"a":"b\xffc"}') == {"a": "b\ufffdc"}


def test_the_order_of_fields_stays() -> None:
    assert json_text.write(json_text.read(b'{"b":1,"a":2}')) == b'{"b":1,"a":2}'


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b"{'a':1}", b"[" * 100_000, b"1 2", b"\xef\xbb\xbf"]
)
def test_what_is_no_json_raises_our_one_error(data: bytes) -> None:
    with pytest.raises(json_text.UnreadableError):
        json_text.read(data)


@law(100)
@given(VALUES)
def test_what_is_written_in_steps_is_the_same(value: object) -> None:
    assert json_text.write_long(value) == json_text.write(value)


@pytest.mark.parametrize(
    "text",
    ["x" * 600_000, '"\\\n\u2028🙂' * 120_000, "\ud83d" * 300_000],
    ids=["plain", "marks", "half"],
)
def test_a_long_string_written_in_steps_is_the_same(text: str) -> None:
    value = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
        "n": [(), {}],
    }
    assert json_text.write_long(value) == json_text.write(value)
