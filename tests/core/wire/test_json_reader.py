"""JSON in parts: each with what it says, and the place behind it, wherever the text is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire.bounds import DEPTH_LIMIT, TooMuchError
from converter.core.wire.json_reader import BARE_KEY_LIMIT, JsonPart, JsonReader, Want
from tests.support.strategies import cut, law

pytestmark = pytest.mark.slow


def parts(text: str, want: Want = Want.VALUE) -> list[tuple[JsonPart, str]]:
    """The parts of a text, those that say nothing left out."""
    reader = JsonReader(want)
    return [(part, piece) for part, piece, _ in reader.feed(text) if piece]


def read(pieces: list[str], want: Want) -> tuple[str, JsonReader]:
    """Return the output of all pieces."""
    reader = JsonReader(want)
    return "".join(text for piece in pieces for _, text, _ in reader.feed(piece)), reader


def test_a_value_is_read_in_its_parts() -> None:
    assert parts('{"a": [1, true], "b": "x\\ny"} ') == [
        (JsonPart.OPEN, "{"),
        (JsonPart.KEY, '"'),
        (JsonPart.TEXT, "a"),
        (JsonPart.END, '"'),
        (JsonPart.COLON, ":"),
        (JsonPart.BLANK, " "),
        (JsonPart.OPEN, "["),
        (JsonPart.SCALAR, "1"),
        (JsonPart.COMMA, ","),
        (JsonPart.BLANK, " "),
        (JsonPart.SCALAR, "true"),
        (JsonPart.CLOSE, "]"),
        (JsonPart.COMMA, ","),
        (JsonPart.BLANK, " "),
        (JsonPart.KEY, '"'),
        (JsonPart.TEXT, "b"),
        (JsonPart.END, '"'),
        (JsonPart.COLON, ":"),
        (JsonPart.BLANK, " "),
        (JsonPart.STRING, '"'),
        (JsonPart.TEXT, "x\\ny"),
        (JsonPart.END, '"'),
        (JsonPart.CLOSE, "}"),
        (JsonPart.BLANK, " "),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'a': 'it\\'s \"x\"'}", '{"a": "it\'s \\"x\\""}'),
        ("{a: True, b: None}", '{"a": true, "b": null}'),
        ('{,"a": /* x */1}', '{"a": 1}'),
        ('{"a": "\\ud83d\\ude42 \\ud83d \\ude42"}', '{"a": "\\ud83d\\ude42 \ufffd \ufffd"}'),
        ('{"a": "\\d\t"}', '{"a": "\\\\d\\t"}'),
    ],
)
def test_what_has_one_meaning_is_mended(text: str, expected: str) -> None:
    for pieces in ([text], list(text)):
        mended, reader = read(pieces, Want.OBJECT)
        assert mended == expected
        assert (reader.want, reader.mended, reader.refused) == (Want.NOTHING, True, False)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"a" 1}', 5),
        ('{"a": Oslo}', 6),
        ('{"a": tru3}', 9),
        ('{"a": [1}', 8),
        ('{"a": 1}}', 8),
        ("[1] and", 4),
        ("{name", 1),
        ("{" + "n" * (BARE_KEY_LIMIT + 1), 1),
    ],
)
def test_what_cannot_be_json_is_unfit_to_its_end(text: str, offset: int) -> None:
    for pieces in ([text, " x"], [*text, " x"]):
        reader = JsonReader(Want.VALUE)
        parts_read = [read for piece in pieces for read in reader.feed(piece)]
        unfit = "".join(written for part, written, _ in parts_read if part is JsonPart.UNFIT)
        assert (unfit, reader.refused) == ((text + " x")[offset:], True)


def test_the_state_is_that_behind_each_part() -> None:
    reader = JsonReader(Want.VALUE)
    wanted = [(part, reader.want, "".join(reader.nested)) for part, _, _ in reader.feed('{"a":[')]
    assert wanted[0] == (JsonPart.OPEN, Want.KEY_OR_END, "}")
    assert wanted[-2:] == [
        (JsonPart.COLON, Want.VALUE, "}"),
        (JsonPart.OPEN, Want.VALUE_OR_END, "}]"),
    ]
    assert reader.close() == "]}"


def test_text_of_a_string_passes_without_a_look_at_it() -> None:
    reader = JsonReader(Want.VALUE)
    assert not reader.passes("a")
    list(reader.feed('"a'))
    assert reader.passes("words {[ and more")
    assert reader.passes("a\\n\\u00e9")
    assert not any(map(reader.passes, ('"', "\\", "a\nb")))
    list(reader.feed("\\"))
    assert not reader.passes("n")
    assert reader.waiting == "\\"


def test_a_bare_value_at_the_end_is_emitted_where_nothing_follows() -> None:
    for text, rest, with_numbers in (("True", "true", "true"), ("tr", None, None), ("1", None, "")):
        for numbers, wanted in ((False, rest), (True, with_numbers)):
            reader = JsonReader(Want.VALUE)
            list(reader.feed(text))
            assert reader.end_word(numbers=numbers) == wanted


def test_it_is_not_nested_without_end() -> None:
    reader = JsonReader(Want.VALUE)
    with pytest.raises(TooMuchError):
        list(reader.feed("[" * (DEPTH_LIMIT + 1)))


@law(100)
@given(
    st.data(),
    st.text(alphabet=list("{}[]\"':,\\ \n/*#ntrue1-.é()="), max_size=20),
    st.sampled_from([Want.OBJECT, Want.VALUE]),
)
def test_it_says_the_same_however_it_is_cut(data: st.DataObject, text: str, want: Want) -> None:
    whole_text, reader = read([text], want)
    cut_text, other = read(data.draw(cut(text)), want)
    assert cut_text == whole_text
    for state in ("want", "nested", "quote", "held", "mended", "refused"):
        assert getattr(other, state) == getattr(reader, state), state


@law(100)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda it: st.lists(it) | st.dictionaries(st.text(), it),
    )
)
def test_json_says_itself(value: object) -> None:
    text = json.dumps(value)
    output, reader = read([text, " "], Want.VALUE)
    assert (output, reader.mended) == (text + " ", "\\ud" in text and reader.mended)
