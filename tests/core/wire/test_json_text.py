"""JSON in and out: nothing a server can send is longer, or another value, when it has been read and
written.
"""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire import json_text
from tests.support.strategies import law

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
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


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    for half in (b"\\ud83d", b"\\ude00"):
        assert json_text.write(json_text.read(b'"' + half + b'"')) == '"\ufffd"'.encode()
    assert json_text.write("\udc00\ud83d\ude00\ud83d") == '"\ufffd\U0001f600\ufffd"'.encode()
    assert json_text.write("a\ud83d\ude00\ud83db") == '"a\U0001f600\ufffdb"'.encode()


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


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"b\0\tc"}', {"a": "b\0\tc"}),
        (b'{"a":NaN,"b":-Infinity,"c":1}', {"a": None, "b": None, "c": 1}),
        (b'{"a":[1,2, ],"b":"x,]",}', {"a": [1, 2], "b": "x,]"}),
        (b'{"a":1}}', {"a": 1}),
        (b' \n{"a":1,}', {"a": 1}),
        (b'{"a":"b\xffc"}', {"a": "b\ufffdc"}),
    ],
)
def test_json_with_one_meaning_is_rescued(data: bytes, value: object) -> None:
    with pytest.raises(json_text.UnreadableError):
        json_text.read_strictly(data)
    assert json_text.rescue(data) == value


def test_deep_values_of_a_rescued_frame_are_null() -> None:
    rescued = json_text.rescue(b'{"a":' + b"[" * 100_000 + b",]" * 100_000 + b',"b":1}')
    assert json_text.write(rescued) == b'{"a":' + b"[" * 99 + b"null" + b"]" * 99 + b',"b":1}'


@pytest.mark.parametrize("data", [b'{"a":1} {"b":2}', b"{'a':1}", b'{"a":', b'{"a":"b', b"[DONE]"])
def test_what_may_mean_anything_is_not_rescued(data: bytes) -> None:
    with pytest.raises(json_text.UnreadableError):
        json_text.rescue(data)


@pytest.mark.parametrize("end", [b"", b"\\"])
def test_a_long_string_that_was_cut_is_not_rescued(end: bytes) -> None:
    with pytest.raises(json_text.UnreadableError):
        json_text.rescue(b'{"a":"' + b'say \\"b\\" ' * 20_000 + end)


@pytest.mark.parametrize("number", [b"7" * 4301, b"-" + b"7" * 4301, b"1e400"])
def test_a_number_without_end_raises_nothing_and_is_written_as_null(number: bytes) -> None:
    data = b'{"a":' + number + b',"b":"NaN Infinity \xe4\xbd\xa0"}'
    for value in (json_text.read(data), json_text.rescue(data)):
        assert json.loads(json_text.write(value)) == {"a": None, "b": "NaN Infinity 你"}


@law(100)
@given(VALUES)
def test_what_is_json_is_read_alike_by_all_three(value: object) -> None:
    data = json_text.write(value)
    assert json_text.read_strictly(data) == json_text.rescue(data) == value


@given(st.binary(max_size=40))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    for read in (json_text.read, json_text.read_strictly, json_text.rescue):
        with contextlib.suppress(json_text.UnreadableError):
            json_text.write(read(data))


def test_what_is_no_json_is_none() -> None:
    assert [json_text.read_or_none(data) for data in (b'{"a":1}', b"[DONE]", b"")] == [
        {"a": 1},
        None,
        None,
    ]


@pytest.mark.parametrize("value", [None, 1, "text", True])
def test_what_is_no_object_and_no_list_has_nothing_in_it(value: object) -> None:
    assert (json_text.as_object(value), json_text.objects(value)) == ({}, [])
    assert json_text.as_object([{}]) == {}
    assert json_text.objects({"a": {}}) == []


def test_the_objects_of_a_list_are_those_among_its_values() -> None:
    assert json_text.objects([{"a": 1}, None, [{}], "b", {}]) == [{"a": 1}, {}]
    assert json_text.as_object({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}', {"a": 1}),
        ('{"a": "\u00e9"}', {"a": "\u00e9"}),
        (b"[1]", {}),
        (b"{", {}),
        ("", {}),
        ("\ud800", {}),
    ],
)
def test_an_object_is_read_from_bytes_or_text(data: bytes | str, expected: object) -> None:
    assert json_text.object_in(data) == expected
