"""Bare values, typed by the tool's schema."""

import json

import pytest

from converter.core.reading.tool_calls.values import Value
from converter.core.wire.bounds import HELD_LIMIT


def written(text: str, *types: str, size: int = 1) -> str:
    out: list[str] = []
    writer = Value(frozenset(types), out.append)
    for at in range(0, len(text), size):
        writer.feed(text[at : at + size])
    writer.close()
    return "".join(out)


@pytest.mark.parametrize(
    ("text", "types", "wanted"),
    [
        ("007", ["string"], '"007"'),
        ("007", [], '"007"'),
        ("null", ["string"], '"null"'),
        ("null", ["string", "null"], "null"),
        ("None", ["string", "null"], "null"),
        ("nullable", ["string", "null"], '"nullable"'),
        ("nu", ["string", "null"], '"nu"'),
        ("", ["string", "null"], '""'),
        ("", ["string"], '""'),
        ('a "b"\n\\', ["string"], '"a \\"b\\"\\n\\\\"'),
        ("é🙂", ["string"], '"é🙂"'),
        ("7", ["integer"], "7"),
        (" 7\n", ["integer"], "7"),
        ("1.50", ["number"], "1.50"),
        ("007", ["integer"], '"007"'),
        ("seven", ["integer"], '"seven"'),
        ("true", ["boolean"], "true"),
        ("False", ["boolean"], "false"),
        ("1", ["boolean"], '"1"'),
        ("true", ["integer"], '"true"'),
        ("null", ["integer", "null"], "null"),
        ("NaN", ["number"], '"NaN"'),
        ('{"a": [1]}', ["object"], '{"a": [1]}'),
        ("{'a': True}", ["object"], '{"a": true}'),
        ("[1, 'x']", ["array"], '[1, "x"]'),
        ("[1, ", ["array"], '"[1, "'),
        ("{1, 2}", ["object"], '"{1, 2}"'),
        ("7", ["array", "integer"], "7"),
        ("7", ["string", "integer"], '"7"'),
    ],
)
def test_a_value_is_written_by_its_type(text: str, types: list[str], wanted: str) -> None:
    assert written(text, *types) == written(text, *types, size=100) == wanted


def test_a_string_goes_on_as_it_comes() -> None:
    out: list[str] = []
    writer = Value(frozenset(), out.append)
    writer.feed("a")
    writer.feed("b")
    assert out == ['"a', "b"]


def test_a_value_beyond_its_limit_goes_on_as_a_string() -> None:
    out: list[str] = []
    writer = Value(frozenset({"array"}), out.append)
    writer.feed("[" * HELD_LIMIT)
    assert out == []
    writer.feed("x")
    writer.feed("y")
    writer.close()
    assert json.loads("".join(out)) == "[" * HELD_LIMIT + "xy"


def test_a_value_that_is_all_there_is_written_at_once() -> None:
    out: list[str] = []
    for types in (frozenset[str](), frozenset({"integer"})):
        Value(types, out.append).write("7")
    assert out == ['"7', '"', "7"]
