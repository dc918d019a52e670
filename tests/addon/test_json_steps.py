"""Long values, read and written in short steps: the same values, the same bytes and the same
refusals as in one step.
"""

import gc
import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon import json_steps
from converter.addon.json_steps import ShortSteps
from converter.core.wire import json_text
from tests.support.strategies import law

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
    "a" * (json_steps.QUICK + 1),
]


@pytest.mark.parametrize("value", QUICK_ONES, ids=["text", "messages"])
def test_text_is_read_and_written_by_c(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_steps, "py_make_scanner", None)
    monkeypatch.setattr(json_steps, "_steps", None)
    with json_text.by(ShortSteps()):
        assert json_text.read(json_text.write(value)) == value


@pytest.mark.parametrize("value", SLOW_ONES, ids=["numbers", "keys", "long numbers", "long text"])
def test_a_value_that_takes_c_long_is_read_and_written_in_steps(
    value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = json_text.write(value)
    monkeypatch.setattr(json_steps, "py_make_scanner", None)
    monkeypatch.setattr(json_steps, "_steps", None)
    with json_text.by(ShortSteps()):
        with pytest.raises(TypeError):
            json_text.read(written)
        with pytest.raises(TypeError):
            json_text.write(value)


def _body(*messages: object) -> bytes:
    return json.dumps({"model": "qwen3", "messages": messages}).encode()


_TEXT = 'She said "no", and the file of forty lines was as before: {a: [1]}. So he tried again.\n'
_SAID = {"role": "user", "content": _TEXT * 32}


@pytest.mark.parametrize(
    ("body", "quick"),
    [
        (_body(*[_SAID] * 200), True),
        (_body(*[_SAID] * 400), False),
        (_body(*[{"role": "user", "content": "hi"}] * 5000), False),
        (_body(list(range(100_000))), False),
        (_body([[]] * 100_000), False),
    ],
    ids=["an agent's", "1 MB", "short messages", "numbers", "lists"],
)
def test_a_request_of_few_messages_is_quick_work(body: bytes, quick: bool) -> None:
    assert json_steps.is_quick(body) is quick


@pytest.fixture(scope="module")
def small_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_steps, "LONG", 26)
        patch.setattr(json_steps, "QUICK", 14)
        patch.setattr(json_steps, "_SHORT", 14)
        patch.setattr(json_steps, "_FEW", 4)
        yield


in_small_steps = pytest.mark.usefixtures("small_steps")


def in_steps(read: Callable[[bytes], object], data: bytes) -> object:
    with json_text.by(ShortSteps()):
        return outcome(read, data.rjust(json_steps.LONG + 1))


def outcome(read: Callable[[bytes], object], data: bytes) -> object:
    try:
        return read(data)
    except json_text.UnreadableError:
        return json_text.UnreadableError


def test_small_values_leave_nothing_to_collect() -> None:
    """One of 23,500 thoughts held the loop for 0.13 s, at the next collection of garbage."""
    with json_text.by(ShortSteps()):
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
    with json_text.by(ShortSteps()):
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
    with json_text.by(ShortSteps()):
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
    with json_text.by(ShortSteps()):
        assert json.loads(json_text.write(value)) == {"a": [None] * 9, "b": "NaN" * 40}
