"""Types of values by the tool's schema, and bare values of these types."""

import json

import pytest

from converter.core.calls.schema_values import (
    as_type,
    properties_of,
    subschema,
    type_names,
    types_of,
)

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": ["integer", "null"]},
        "c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "d": {"enum": ["x", "y"]},
        "e": "nonsense",
        "g": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        "h": {"$ref": "#/$defs/Circle"},
        "i": {"type": "int"},
        "j": {"properties": {}},
        "k": {"items": {}},
        "l": {"const": True},
        "m": {"$ref": "#/$defs/missing"},
        "f": {"oneOf": [{"type": "array"}, {"allOf": [{"type": "object"}]}]},
    },
    "$defs": {
        "Place": {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}},
        "X": {"type": "number"},
        "Circle": {"anyOf": [{"$ref": "#/$defs/Circle"}]},
    },
}


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("a", {"string"}),
        ("b", {"integer", "null"}),
        ("c", {"string", "null"}),
        ("d", {"string"}),
        ("e", set()),
        ("f", {"array", "object"}),
        ("g", {"object", "null"}),
        ("h", set()),
        ("i", {"integer"}),
        ("j", {"object"}),
        ("k", {"array"}),
        ("l", {"boolean"}),
        ("m", set()),
        ("unknown", set()),
    ],
)
def test_types_are_those_of_the_schema(name: str, types: set[str]) -> None:
    assert types_of(SCHEMA, name) == types


def test_a_part_of_a_reference_is_read_by_the_tools_schema() -> None:
    variants = subschema(SCHEMA, "g")["anyOf"]
    assert isinstance(variants, list)
    inner = subschema(variants[0], "x", SCHEMA)
    assert type_names(inner, SCHEMA) == {"number"}


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": {"a": {"type": 3}}}])
def test_a_schema_that_tells_no_type_is_none(schema: dict[str, object]) -> None:
    assert types_of(schema, "a") == frozenset()


def test_a_schema_without_properties_has_none() -> None:
    assert [properties_of(each) for each in ({}, {"properties": [1]})] == [{}, {}]
    assert properties_of({"properties": {"city": {}}}) == {"city": {}}


def test_a_value_nested_too_deeply_to_read_is_a_string() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert json.loads(as_type(deep, frozenset({"array"}))) == deep


def test_json_with_escaped_quotes_is_read_where_the_schema_wants_no_string() -> None:
    assert as_type(r"[{\"id\": \"1\"}]", frozenset({"array"})) == '[{"id": "1"}]'
    assert as_type(r"\"a\"", frozenset({"array"})) == r'"\\\"a\\\""'
