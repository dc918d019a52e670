"""JSON in and out: nothing a server can send is longer, or another value, when it has been read and
written.
"""

import contextlib
import gc
import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire import json_text
from converter.core.wire.bounds import DEEPEST
from tests.support.strategies import law

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
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


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    for half in (b"\\ud83d", b"\\ude00"):
        assert json_text.write(json_text.read(b'"' + half + b'"')) == '"\ufffd"'.encode()
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
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"b":1}', None),
    ],
)
def test_json_with_one_meaning_is_rescued(data: bytes, value: object) -> None:
    with pytest.raises(json_text.UnreadableError):
        json_text.read_strictly(data)
    rescued = json_text.rescue(data)
    if value is None:
        assert isinstance(rescued, dict)
        assert rescued.pop("b") == 1
        assert json_text.write(rescued).count(b"[") == DEEPEST - 1
    else:
        assert rescued == value


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


_LETTERS = st.sampled_from(["a", "\\", '"', "\n", "é", "🙂", "\ud83d", '","', "},", "],", "\u2028"])
LONG_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(_LETTERS, max_size=40).map("".join),
    lambda inner: (
        st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=40,
)


QUICK_ONES = [{"text": 'a "line"\n' * 150_000}, [{"role": "user", "content": "word " * 60}] * 5000]
SLOW_ONES = [
    [[1, 2]] * 60_000,
    {str(number): number for number in range(70_000)},
    [10**4000] * 160,
    "a" * (json_text.QUICK + 1),
]


@pytest.mark.parametrize("value", QUICK_ONES, ids=["text", "messages"])
def test_text_is_read_and_written_by_c(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "py_make_scanner", None)
    monkeypatch.setattr(json_text, "_steps", None)
    with json_text.in_short_steps():
        assert json_text.read(json_text.write(value)) == value


@pytest.mark.parametrize("value", SLOW_ONES, ids=["numbers", "keys", "long numbers", "long text"])
def test_a_value_that_takes_c_long_is_read_and_written_in_steps(
    value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = json_text.write(value)
    monkeypatch.setattr(json_text, "py_make_scanner", None)
    monkeypatch.setattr(json_text, "_steps", None)
    with json_text.in_short_steps():
        with pytest.raises(TypeError):
            json_text.read(written)
        with pytest.raises(TypeError):
            json_text.write(value)


# Long values, in short steps: the same values, the same bytes and the same refusals as in one.


@pytest.fixture(scope="module")
def small_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "LONG", 26)
        patch.setattr(json_text, "QUICK", 14)
        patch.setattr(json_text, "_SHORT", 14)
        patch.setattr(json_text, "_FEW", 4)
        yield


in_small_steps = pytest.mark.usefixtures("small_steps")


def in_steps(read: Callable[[bytes], object], data: bytes) -> object:
    with json_text.in_short_steps():
        return outcome(read, data.rjust(json_text.LONG + 1))


def outcome(read: Callable[[bytes], object], data: bytes) -> object:
    try:
        return read(data)
    except json_text.UnreadableError:
        return json_text.UnreadableError


def test_small_values_leave_nothing_to_collect() -> None:
    """One of 23,500 thoughts held the loop for 0.13 s, at the next collection of garbage."""
    with json_text.in_short_steps():
        gc.collect()
        for _ in range(100):
            json_text.write({"thought": "hm", "metadata": {"verbosity": "normal"}})
        assert gc.collect() < 100


@in_small_steps
@law(150)
@given(LONG_VALUES, st.booleans(), st.sampled_from([(",", ":"), (" , ", ":\n ")]))
def test_a_value_is_read_as_in_one_step(
    value: object, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    data = text.encode(errors="replace")
    for read in (json_text.read, json_text.read_strictly):
        assert in_steps(read, data) == outcome(read, data)


@in_small_steps
@law(150)
@given(LONG_VALUES)
def test_a_value_is_written_as_in_one_step(value: object) -> None:
    with json_text.in_short_steps():
        written = json_text.write(value)
    assert written == json_text.write(value)


@in_small_steps
@law(150)
@given(LONG_VALUES, st.data())
def test_what_is_no_json_is_refused_as_in_one_step(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    place = data.draw(st.integers(0, len(text)))
    spoiled = text[:place] + data.draw(st.sampled_from([b"", b",", b"]", b'"', b"}", b"\\", b"1"]))
    spoiled += text[place + data.draw(st.integers(0, 2)) :]
    for read in (json_text.read, json_text.read_strictly):
        assert in_steps(read, spoiled) == outcome(read, spoiled)


@in_small_steps
@pytest.mark.parametrize(
    "text",
    ["\\" * 200, "🙂" * 100, "\ud83d" * 100, "\ude00\ud83d" * 50, 'a\\"\n' * 50, "é" * 99],
    ids=["slashes", "pairs", "halves", "wrong pairs", "marks", "wide"],
)
@pytest.mark.parametrize("before", range(14))
def test_no_cut_goes_through_an_escape_or_a_pair(text: str, before: int) -> None:
    data = json.dumps(["x" * before + text, {text: text}]).encode()
    value = json.loads(data)
    assert in_steps(json_text.read, data) == value
    with json_text.in_short_steps():
        written = json_text.write(value)
    assert written == json_text.write(value)


@in_small_steps
@pytest.mark.parametrize(
    "data",
    [b"", b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500, b'"' + b"a" * 500, b"[1,2" * 99],
)
def test_a_long_text_that_is_endless_or_endlessly_deep_is_refused(data: bytes) -> None:
    assert in_steps(json_text.read, data) is json_text.UnreadableError


@in_small_steps
@pytest.mark.parametrize("number", ["1" * 25, "-1." + "5" * 21, "1e10", "7" * 24])
def test_a_number_at_a_windows_end_is_read_whole(number: str) -> None:
    data = f'{{"a": [{number}, {number}], "b": {number}}}'.encode()
    assert in_steps(json_text.read, data) == json.loads(data)


@in_small_steps
def test_bytes_that_are_no_utf_8_cost_one_character_each() -> None:
    data = '"Größe 🙂'.encode() * 9 + b"\xff" + "é".encode() * 9 + b'"'
    data = data.replace(b'"', b"").join((b'"', b'"'))
    assert in_steps(json_text.read, data) == json_text.read(data)
    assert in_steps(json_text.read_strictly, data) is json_text.UnreadableError


@in_small_steps
def test_a_number_that_json_cannot_say_is_null_in_steps_too() -> None:
    value = {"a": [float("nan")] * 9, "b": "NaN" * 40}
    with json_text.in_short_steps():
        assert json.loads(json_text.write(value)) == {"a": [None] * 9, "b": "NaN" * 40}


@pytest.mark.parametrize("value", [None, 1, "text", True])
def test_what_is_no_object_and_no_list_has_nothing_in_it(value: object) -> None:
    assert (json_text.as_object(value), json_text.objects(value)) == ({}, [])
    assert json_text.as_object([{}]) == {}
    assert json_text.objects({"a": {}}) == []


def test_the_objects_of_a_list_are_those_among_its_values() -> None:
    assert json_text.objects([{"a": 1}, None, [{}], "b", {}]) == [{"a": 1}, {}]
    assert json_text.as_object({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a": 1}', {"a": 1}),
        ('{"a": "\u00e9"}', {"a": "\u00e9"}),
        (b"[1]", {}),
        (b"{", {}),
        ("", {}),
        ("\ud800", {}),
    ],
)
def test_an_object_is_read_from_bytes_or_text(data: bytes | str, found: object) -> None:
    assert json_text.object_in(data) == found
