import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.extras.recordings.redact.json_tokens import (
    Pieces,
    Token,
    cut_body,
    interleave,
    json_string,
    moved_borders,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def tokens(body: bytes, streamed: bool) -> list[Token]:
    return cut_body(body, streamed).tokens


def together(cut_up: Pieces) -> bytes:
    return b"".join(interleave(cut_up.gaps, [token.raw for token in cut_up.tokens]))


def scalars(value: object) -> list[object]:
    """Names and values in the order in which they are written."""
    if isinstance(value, dict):
        return [scalar for name, inner in value.items() for scalar in (name, *scalars(inner))]
    if isinstance(value, list):
        return [scalar for inner in value for scalar in scalars(inner)]
    return [] if value is None or isinstance(value, bool) else [value]


@given(
    st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    st.booleans(),
    st.sampled_from([", ", ","]),
    st.booleans(),
)
def test_every_string_and_number_is_a_token_with_its_path(
    value: dict[str, object], plain: bool, comma: str, streamed: bool
) -> None:
    text = json.dumps(value, ensure_ascii=plain, separators=(comma, ":")).encode()
    body = b": ping\n\ndata: " + text + b"\n\ndata: [DONE]\n\n" if streamed else text
    read = list(tokens(body, streamed))
    assert [token.value for token in read] == scalars(value)
    assert [json.loads(token.raw) for token in read] == scalars(value)
    assert together(cut_body(body, streamed)) == body


def test_a_path_names_what_leads_there() -> None:
    (name, value) = tokens(b'{"choices": [null, {"delta": {"content": "x"}}]}', False), "x"
    assert [(token.path, token.is_key) for token in name if token.value == value] == [
        (("choices", None, "delta", "content"), False)
    ]


def test_a_frame_over_several_lines_is_one_value() -> None:
    read = list(tokens(b'data: {"a":\r\ndata: {"b": 1}}\r\n\r\ndata: {"c": 2}\n\n', True))
    assert [(token.path, token.value) for token in read if not token.is_key] == [
        (("a", "b"), 1),
        (("c",), 2),
    ]


def test_bytes_that_are_no_utf_8_stay_what_they_were() -> None:
    (token,) = tokens(b'["a\xff"]', False)
    assert json_string(str(token.value)) == b'"a\xff"'


PIECES = [
    b"",
    b'"',
    b"\\",
    b"\\q",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r",
    b"data:",
    b'"a"',
    b"1",
    b"1" * 5000,
    b"x",
    b"\xff",
]


@given(st.lists(st.sampled_from(PIECES)).map(b"".join), st.booleans())
def test_no_byte_of_a_body_is_lost(body: bytes, stream: bool) -> None:
    read = cut_body(body, stream)
    assert together(read) == body
    assert len(read.gaps) == len(read.tokens) + 1


def test_the_same_string_at_the_same_path_is_the_same_token() -> None:
    first, second = b'data: {"a": "b", "c": ["b"]}\n\n', b'data: {"a": "x", "c": ["b"]}\n\n'
    name, value, other_name, inner, *more = tokens(first + second + first, True)
    changed = more[1]
    assert more == [name, changed, other_name, inner, name, value, other_name, inner]
    assert (value.path, changed.path, inner.path, changed.value) == (
        ("a",),
        ("a",),
        ("c", None),
        "x",
    )


@pytest.mark.parametrize(
    "other", [b'{"b":"v"}', b'{"a":{"b":"v"}}', b'["a","v"]', b'{1:"v"}', b'{"\\q":"v"}']
)
def test_a_line_is_read_by_itself_whatever_came_before(other: bytes) -> None:
    lines = [b'data: {"a":"v"}\n\n', b"data: " + other + b"\n\n"]
    alone = [
        [(token.path, token.value, token.is_key) for token in tokens(line, True)] for line in lines
    ]
    together = [
        (token.path, token.value, token.is_key)
        for token in tokens(b"".join([*lines, *lines]), True)
    ]
    assert together == [*alone[0], *alone[1]] * 2


@pytest.mark.parametrize("unread", [b'"\\q"', b'"\\u12"', b"1" * 5000])
def test_what_cannot_be_read_is_no_token(unread: bytes) -> None:
    read = cut_body(b'{"a": [' + unread + b', "b"], ' + unread + b': "c"}', False)
    assert [(token.path, token.value) for token in read.tokens if not token.is_key] == [
        (("a", None), "b"),
        ((None,), "c"),
    ]
    assert read.gaps[1] == b": [" + unread + b", "


@given(
    st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=8),
    st.data(),
)
def test_borders_move_along(
    changes: list[tuple[bytes, bytes | None]], drawn: st.DataObject
) -> None:
    before = [old for old, _ in changes]
    after = [old if new is None else new for old, new in changes]
    size = len(b"".join(before))
    borders = sorted(drawn.draw(st.lists(st.integers(0, size), max_size=6)))
    read = moved_borders(before, after, borders)
    assert len(read) == len(borders)
    assert read == sorted(read)
    for border, offset in zip(borders, read, strict=True):
        at = next(
            (at for at in range(len(before)) if len(b"".join(before[: at + 1])) > border),
            len(before),
        )
        inner = border - len(b"".join(before[:at]))
        assert offset == len(b"".join(after[:at])) + (min(inner, len(after[at])) if inner else 0)


@pytest.mark.parametrize(
    ("text", "raw"), [("é", '"é"'.encode()), ("\udcff", b'"\xff"'), ("\ud800", b'"\\ud800"')]
)
def test_bytes_that_were_no_utf8_stay_what_they_were(text: str, raw: bytes) -> None:
    assert json_string(text) == raw
