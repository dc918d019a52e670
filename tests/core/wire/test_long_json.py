"""Long JSON: the same values, bytes and refusals as in one call of C."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire import json_text, known_json, long_json
from tests.support.strategies import law

_TEXTS = st.lists(
    st.sampled_from(["a", "\\", '"', "\n", "é", "🙂", "\ud83d", '","', "},", "],", " : "]),
    max_size=20,
).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(_TEXTS, inner, max_size=6),
    max_leaves=40,
)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Every text is long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_json, "LONG", 0)
        patch.setattr(long_json, "IN_C", 0)
        patch.setattr(long_json, "_MOST_VALUES", 4)
        yield


def outcome(read: Callable[[bytes], object], data: bytes) -> object:
    try:
        return repr(read(data))
    except json_text.UnreadableError:
        return None


@law(150)
@given(VALUES, st.booleans(), st.sampled_from([(",", ":"), (" , ", ":\n "), ("\t\r\n,", " : ")]))
def test_a_value_is_read_as_at_once(
    value: object, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = f" {json.dumps(value, ensure_ascii=ascii_only, separators=separators)}\n"
    data = text.encode(errors="replace")
    assert outcome(long_json.read, data) == outcome(json_text.read, data)


@law(200)
@given(VALUES, st.data())
def test_what_is_no_json_is_refused_as_at_once(value: object, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    offset = data.draw(st.integers(0, len(text)))
    spoiled = text[:offset] + data.draw(
        st.sampled_from([b"", b",", b"]", b'"', b"}", b"{", b"[", b":", b"\\", b"1", b"NaN", b"\n"])
    )
    spoiled += text[offset + data.draw(st.integers(0, 2)) :]
    assert outcome(long_json.read, spoiled) == outcome(json_text.read, spoiled)


@law(150)
@given(VALUES)
def test_a_value_is_written_as_at_once(value: object) -> None:
    assert long_json.write(value) == json_text.write(value)


@law(60)
@given(VALUES)
def test_a_value_is_written_with_blanks_as_at_once(value: object) -> None:
    assert long_json.spaced(value) == json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("read", [long_json.read, lambda data: known_json.read(data, (), ())])
@pytest.mark.parametrize(
    ("limit", "units"),
    [(("CONTAINERS_LIMIT", 9), ["[]", '{"a":"[{"}']), (("COMMAS_LIMIT", 7), ["1", '",,"'])],
)
def test_a_text_of_too_many_values_is_not_read(
    read: Callable[[bytes], object],
    limit: tuple[str, int],
    units: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_json, *limit)
    for unit in units:
        assert read(b'{"a":[%b]}' % ",".join([unit] * 7).encode())
        assert outcome(read, b'{"a":[%b]}' % ",".join([unit] * 9).encode()) in (None, "None")


@law(100)
@given(VALUES, st.sampled_from(["", "\ud800", "NaN", ",1"]))
def test_a_text_is_read_strictly_as_at_once(value: object, behind: str) -> None:
    text = json.dumps(value, ensure_ascii=False) + behind
    data = text.encode(errors="surrogatepass")
    read = outcome(lambda _: long_json.read_strictly(text), data)
    assert read == outcome(json_text.read_strictly, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[" * 100_000,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'"' + b"a" * 500,
        b"[1,2" * 99,
        b"[" + b" " * 99 + b"]",
        b'{"a":1,"a":[2,3,4,5,6,7]}',
        b"[" + b"9" * 5000 + b",[1]]",
        b"[[1,2,3,4,5,6}]",
    ],
)
def test_extremes_are_read_as_at_once(data: bytes) -> None:
    assert outcome(long_json.read, data) == outcome(json_text.read, data)


def test_what_is_deep_is_written() -> None:
    value: object = 1
    for _ in range(5000):
        value = [value]
    assert long_json.write(value) == b"[" * 5000 + b"1" + b"]" * 5000


def test_no_call_of_c_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_json, "_MOST_VALUES", 100)
    for work in (json_text.read, json_text.write):
        monkeypatch.setattr(json_text, work.__name__, None)
    value = {"a": [[[1] * 500, {str(at): 10**4000 for at in range(9)}]] * 3, "b": [{"c": 1}] * 200}
    text = long_json.write(value)
    assert long_json.read(text) == value == json.loads(text)
    repeated = known_json.read(text, (), ("b",))
    assert repeated
    assert repeated.value == value
