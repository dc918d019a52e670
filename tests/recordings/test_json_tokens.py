import json

from hypothesis import given
from hypothesis import strategies as st

from converter.recordings.json_tokens import Edit, edited, tokens, written
from tests.frames import data

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def scalars(value: object) -> list[object]:
    """Names and values in the order in which they are written."""
    if isinstance(value, dict):
        return [scalar for name, inner in value.items() for scalar in (name, *scalars(inner))]
    if isinstance(value, list):
        return [scalar for inner in value for scalar in scalars(inner)]
    return [] if value is None or isinstance(value, bool) else [value]


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.booleans(), st.booleans())
def test_every_string_and_number_is_found_where_it_stands(value: dict[str, object], plain: bool, streamed: bool) -> None:
    text = json.dumps(value, ensure_ascii=plain).encode()
    body = b": ping\n\ndata: " + text + b"\n\ndata: [DONE]\n\n" if streamed else text
    found = list(tokens(body, streamed))
    assert [token.value for token in found] == scalars(value)
    assert [json.loads(body[token.start : token.end]) for token in found] == scalars(value)


def test_a_path_names_what_leads_there() -> None:
    (name, value) = tokens(b'{"choices": [null, {"delta": {"content": "x"}}]}', False), "x"
    assert [(token.path, token.name) for token in name if token.value == value] == [(("choices", None, "delta", "content"), False)]


def test_a_frame_over_several_lines_is_one_value() -> None:
    found = list(tokens(b'data: {"a":\r\ndata: {"b": 1}}\r\n\r\ndata: {"c": 2}\n\n', True))
    assert [(token.path, token.value) for token in found if not token.name] == [(("a", "b"), 1), (("c",), 2)]


def test_what_is_cut_short_is_read_as_far_as_it_goes() -> None:
    assert [token.value for token in tokens(b'{"a": "b", "c": "d', False)] == ["a", "b", "c"]


def test_what_is_no_json_has_no_tokens() -> None:
    assert list(tokens(b'<a href="x">1</a>', False)) == list(tokens(data("x").replace(b"data", b"event"), True)) == []


def test_bytes_that_are_no_utf_8_stay_what_they_were() -> None:
    (token,) = tokens(b'["a\xff"]', False)
    assert written(str(token.value)) == b'"a\xff"'


@given(st.binary(max_size=40), st.data())
def test_edits_move_the_borders_along(body: bytes, drawn: st.DataObject) -> None:
    places = sorted(drawn.draw(st.sets(st.integers(0, len(body)), max_size=6)))
    spans = [(start, end) for start, end in zip(places[::2], places[1::2], strict=False) if start < end]
    edits = [Edit(start, end, drawn.draw(st.binary(max_size=5))) for start, end in spans]
    borders = sorted(drawn.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    new, moved = edited(body, edits, borders)
    expected = body
    for edit in reversed(edits):
        expected = expected[: edit.start] + edit.new + expected[edit.end :]
    assert new == expected
    assert len(moved) == len(borders)
    assert moved == sorted(moved)
    outside = [border for border in borders if not any(edit.start < border < edit.end for edit in edits)]
    exact = [sum(len(edit.new) - (edit.end - edit.start) for edit in edits if edit.end <= border) + border for border in outside]
    assert [place for border, place in zip(borders, moved, strict=True) if border in outside] == exact


def test_the_last_border_is_the_end() -> None:
    assert edited(b"abc", [Edit(1, 3, b"xyz!")], [1, 3]) == (b"axyz!", [1, 5])
