"""Long JSON in short steps: the same values, the same bytes and the same refusals as in one."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.wire import json_text, long_json
from tests.support.strategies import law

_LETTERS = st.sampled_from(["a", "\\", '"', "\n", "é", "🙂", "\ud83d", '","', "},", "],", "\u2028"])
VALUES = st.recursive(
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


@pytest.fixture(autouse=True, scope="module")
def small_windows() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_json, "WINDOW", 24)
        patch.setattr(long_json, "PIECE", 26)
        patch.setattr(long_json, "_FEW", 4)
        patch.setattr(long_json, "_SHORT", 5)
        patch.setattr(json_text, "LONG", 8)
        yield


def in_steps(read: Callable[[bytes], object], data: bytes) -> object:
    with json_text.in_short_steps():
        return outcome(read, data)


def outcome(read: Callable[[bytes], object], data: bytes) -> object:
    try:
        return read(data)
    except json_text.UnreadableError:
        return json_text.UnreadableError


@law(150)
@given(VALUES, st.booleans(), st.sampled_from([(",", ":"), (" , ", ":\n ")]))
def test_a_value_is_read_as_in_one_step(
    value: object, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    data = text.encode(errors="replace")
    for read in (json_text.read, json_text.read_strictly):
        assert in_steps(read, data) == outcome(read, data)


@law(150)
@given(VALUES)
def test_a_value_is_written_as_in_one_step(value: object) -> None:
    with json_text.in_short_steps():
        written = json_text.write(value)
    assert written == json_text.write(value)


@law(150)
@given(VALUES, st.data())
def test_what_is_no_json_is_refused_as_in_one_step(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    place = data.draw(st.integers(0, len(text)))
    spoiled = text[:place] + data.draw(st.sampled_from([b"", b",", b"]", b'"', b"}", b"\\", b"1"]))
    spoiled += text[place + data.draw(st.integers(0, 2)) :]
    for read in (json_text.read, json_text.read_strictly):
        assert in_steps(read, spoiled) == outcome(read, spoiled)


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


@pytest.mark.parametrize(
    "data",
    [b"", b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500, b'"' + b"a" * 500, b"[1,2" * 99],
)
def test_a_long_text_that_is_endless_or_endlessly_deep_is_refused(data: bytes) -> None:
    assert in_steps(json_text.read, data) is json_text.UnreadableError


@pytest.mark.parametrize("number", ["1" * 25, "-1." + "5" * 21, "1e10", "7" * 24])
def test_a_number_at_a_windows_end_is_read_whole(number: str) -> None:
    data = f'{{"a": [{number}, {number}], "b": {number}}}'.encode()
    assert in_steps(json_text.read, data) == json.loads(data)


def test_bytes_that_are_no_utf_8_cost_one_character_each() -> None:
    data = '"Größe 🙂'.encode() * 9 + b"\xff" + "é".encode() * 9 + b'"'
    data = data.replace(b'"', b"").join((b'"', b'"'))
    assert in_steps(json_text.read, data) == json_text.read(data)
    assert in_steps(json_text.read_strictly, data) is json_text.UnreadableError


def test_a_number_that_json_cannot_say_is_null_in_steps_too() -> None:
    value = {"a": [float("nan")] * 9, "b": "NaN" * 40}
    with json_text.in_short_steps():
        assert json.loads(json_text.write(value)) == {"a": [None] * 9, "b": "NaN" * 40}
