"""A tool call's arguments, piece by piece: what has come out is always the beginning of JSON, and
in the end one object.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jiter import from_json

from converter.core.wire.json_reader import SCALAR_LIMIT
from converter.core.wire.partial_json import PartialJson, means_nothing, mended
from tests.support.rows import rows_of
from tests.support.strategies import cut, law

pytestmark = pytest.mark.slow

TABLES = rows_of(__file__)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
OBJECTS = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)
FRAGMENTS = TABLES["fragments"]
BROKEN = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def pieces_of(pieces: list[str]) -> tuple[list[str], PartialJson]:
    machine = PartialJson()
    out = [machine.feed(piece) for piece in pieces]
    if not machine.complete:
        out.append(machine.close())
    return out, machine


ROWS = TABLES["rows"]
NO_MEANING = TABLES["no meaning"]


@pytest.mark.parametrize("text", NO_MEANING)
def test_what_has_no_meaning_is_no_object(text: str) -> None:
    for pieces in ([text], list(text)):
        _, machine = pieces_of(pieces)
        assert machine.broken or not machine.complete


@pytest.mark.parametrize(("text", "meant"), ROWS.values(), ids=ROWS.keys())
def test_arguments_become_one_object(text: str, meant: object) -> None:
    for pieces in ([text], list(text)):
        assert json.loads("".join(pieces_of(pieces)[0])) == meant


@law(150)
@given(st.data(), OBJECTS, st.sampled_from([None, 1]))
def test_an_object_passes_unchanged_however_it_is_cut(
    data: st.DataObject, value: object, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    out, machine = pieces_of(data.draw(cut(text)))
    assert "".join(out) == text
    assert machine.complete
    assert machine.unfit == ""


@law(150)
@given(st.data(), BROKEN)
def test_anything_becomes_the_same_object_however_it_is_cut(data: st.DataObject, text: str) -> None:
    whole = "".join(pieces_of([text])[0])
    machine = pieces_of([text])[1]
    assert isinstance(json.loads(whole), dict) if machine.complete else True
    assert "".join(pieces_of(data.draw(cut(text)))[0]) == whole


@law(100)
@given(BROKEN | OBJECTS.map(json.dumps))
def test_all_that_has_come_out_can_be_read_as_the_sdk_reads_it(text: str) -> None:
    out, _ = pieces_of(list(text))
    for count in range(1, len(out) + 1):
        if so_far := "".join(out[:count]):
            from_json(so_far.encode(), partial_mode=True)


def test_within_a_string_all_but_a_few_characters_are_text() -> None:
    machine, not_plain = PartialJson(), list[bool]()
    for piece in (
        "{",
        '"a": "b',
        "c \U0001f642}",
        "\\",
        "n",
        "\\ud83d",
        "\\ude42",
        '"',
        ", 'b': 'c",
    ):
        machine.feed(piece)
        not_plain.append(machine.not_plain is not None)
    assert not_plain == [False, True, True, False, True, False, True, False, False]
    assert PartialJson().not_plain is None


def test_strings_do_not_wait_for_their_end() -> None:
    machine = PartialJson()
    assert machine.feed('{"city": "Os') == '{"city": "Os'
    assert machine.feed("lo") == "lo"
    assert machine.feed('"') == '"'
    assert not machine.complete
    assert machine.feed("}") == "}"
    assert machine.complete


@pytest.mark.parametrize(
    ("pieces", "out"),
    [
        (['{"a": ', "1", "2.", "5", ",", ' "b"'], ['{"a": ', "1", "2.", "5", "", ', "b"']),
        (['{"a":tr', "ue", "}"], ['{"a":tr', "ue", "}"]),
        (['{"a":Tr', "ue", "}"], ['{"a":', "", "true}"]),
        (['{"a":-', "x"], ['{"a":-', ""]),
    ],
)
def test_a_bare_value_goes_on_as_far_as_it_is_json(pieces: list[str], out: list[str]) -> None:
    machine = PartialJson()
    assert [machine.feed(piece) for piece in pieces] == out


def test_a_number_that_no_tool_can_use_is_none() -> None:
    machine = PartialJson()
    assert machine.feed('{"a":' + "x" * (SCALAR_LIMIT + 1)) == '{"a":'
    assert machine.broken


def test_what_could_not_be_part_of_it_is_reported() -> None:
    _, machine = pieces_of(['{"a":1} ', "and", " so"])
    assert machine.unfit == "and so"


def test_a_hundred_thousand_brackets_are_closed() -> None:
    out, _ = pieces_of(['{"a":' + "[" * 100_000 + "0 "])
    assert "".join(out).count("]") == 100_000


def test_ends_and_marks_behind_an_object_mean_nothing() -> None:
    assert all(map(means_nothing, ("", "}", " ]}; ```", "} </tool_call>")))
    assert not any(map(means_nothing, ("and", '} {"b": 2}', ', "b"')))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("{'a': True,}", '{"a": true}'),
        ('{"a": 1', ""),
        ('{"a": 1} and', ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_a_text_that_is_one_object_is_mended(text: str, wanted: str) -> None:
    assert mended(text) == wanted
