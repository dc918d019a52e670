"""Read the schemas of tools (`Schema`, `Schemas`): `properties_of` and `subschema` return the
properties in them, `type_names` the JSON types that a value may have. `as_type` writes a model's
text as a value of such a type, `as_json` a Python value as JSON.
"""

import ast
import json
import re
import warnings
from collections.abc import Mapping

from converter.core.wire.json_text import refuse

type Schema = Mapping[str, object]
"""A JSON schema: of a tool's parameters, or of one value in them."""
type Schemas = Mapping[str, Schema]
"""Name of an offered tool -> the schema of its parameters."""

REFERENCE_LIMIT = 16
"""How many references are followed one after another, and how many levels of unions are read. There
is a limit because a schema may refer to itself. What lies deeper does not restrict a value.
"""
NO_STRING = frozenset({"null", "boolean", "number", "array", "object"})
"""All JSON types but string: the types of a value that is written without quotation marks."""
NULLS = ("null", "None")
"""The words for null in JSON and in Python."""
_BOOLEANS = {"true": "true", "false": "false", "True": "true", "False": "false"}
"""The words for booleans in JSON and in Python -> the word in JSON."""
_OTHER_NAMES = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
}
"""Python's names of types, which some frameworks write into schemas -> JSON types."""
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
"""Type of a Python value -> the JSON type."""
NUMBERS = frozenset({"integer", "number"})
"""The JSON types of numbers."""
_PARSED_TYPES = NUMBERS | {"array", "object"}
"""Types whose values `as_type` parses. Booleans and null it looks up in tables of words."""

_SOURCE_NAME = "<tool call>"
"""The file name under which `ast.parse` parses a model's text."""
# Without this filter `ast.parse` prints a warning in the terminal for an escape such as \d. The
# name restricts the filter to models' texts.
warnings.filterwarnings("ignore", category=SyntaxWarning, module=re.escape(_SOURCE_NAME))


def properties_of(schema: Schema) -> Mapping[str, object]:
    """Return the properties of an object's schema: name -> schema."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def types_of(schema: Schema, name: str) -> frozenset[str]:
    """Return the JSON types that a tool's parameter `name` may have; empty if it may have any."""
    return type_names(subschema(schema, name), schema)


def subschema(schema: Schema, name: str, root: Schema | None = None) -> Schema:
    """Return the schema of the property `name` of an object's schema, or of the items of a list's.

    Empty if there is none. `root`: the tool's whole schema, in which references are looked up; None
    if `schema` is the whole schema.
    """
    schema = resolve(schema, schema if root is None else root)
    properties = schema.get("properties")
    inner = properties.get(name) if isinstance(properties, Mapping) else schema.get("items")
    return inner if isinstance(inner, Mapping) else {}


def type_names(schema: object, root: Schema, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema allows; empty if it allows any.

    A schema allows the types that it names and those that the members of its unions (`anyOf`)
    allow. If there are none, the types follow from its `properties`, `items`, `enum` or `const`.
    `root`: the tool's whole schema. `depth`: how many unions stand around `schema`.
    """
    if not isinstance(schema, Mapping) or depth > REFERENCE_LIMIT:
        return frozenset()
    schema = resolve(schema, root)
    named = schema.get("type")
    written = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    names = {_OTHER_NAMES.get(name, name) for name in written if isinstance(name, str)}
    for union in ("anyOf", "oneOf", "allOf"):
        members = schema.get(union)
        for member in members if isinstance(members, list) else ():
            names |= type_names(member, root, depth + 1)
    if names:
        return frozenset(names)
    if isinstance(schema.get("properties"), Mapping):
        return frozenset({"object"})
    if "items" in schema:
        return frozenset({"array"})
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    return frozenset(_KINDS[kind] for kind in kinds if kind in _KINDS)


def resolve(schema: Schema, root: Schema) -> Schema:
    """Return the schema to which the reference of `schema` leads, within the whole schema `root`.

    `{"$ref": "#/$defs/City"}` -> the value of `$defs.City`. A schema without a reference, or with
    one that leads nowhere, is returned as it is.
    """
    for _ in range(REFERENCE_LIMIT):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target: object = root
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return schema
        schema = target
    return schema


def as_type(text: str, types: frozenset[str]) -> str:
    """Return the JSON of the value that a model wrote as `text`: a value of one of the `types` if
    the text can be read as one, else a string.

    `5` -> `5` if `types` has `number`, otherwise `"5"`; `True` -> `true` if it has `boolean`. With
    `integer` or `number` in `types` any number counts, `5` and `5.5`.
    """
    bare = text.strip()
    if "null" in types and bare in NULLS:
        return "null"
    if "boolean" in types and bare in _BOOLEANS:
        return _BOOLEANS[bare]
    wanted = types & _PARSED_TYPES
    wanted |= NUMBERS if wanted & NUMBERS else frozenset()
    for read, write in ((_json, lambda _: bare), (_python, as_json), (_escaped, as_json)):
        read_value = read(bare) if wanted else None
        if _KINDS.get(type(read_value)) in wanted:
            return write(read_value)
    return json.dumps(text, ensure_ascii=False)


def _json(text: str) -> object:
    """Return the value of a JSON text; None if it is no JSON, or `null`."""
    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def _escaped(text: str) -> object:
    """Return the value of JSON that has the escapes of a string; None if `text` is no such JSON.

    `{\\"a\\": 1}` -> `{"a": 1}`.
    """
    try:
        return _json(json.loads(f'"{text}"')) if '\\"' in text else None
    except ValueError:
        return None


def _python(text: str) -> object:
    """Return the value of a Python literal, which some models write in place of JSON; else None.

    `{'a': True}` -> `{"a": true}`. None also for a value that JSON lacks.
    """
    try:
        read_value = ast.literal_eval(parse_expression(text))
        as_json(read_value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return read_value


def parse_expression(written: str) -> ast.expr:
    """Return the syntax tree of a Python expression. Raises the errors of `ast.parse`."""
    return ast.parse(written, _SOURCE_NAME, mode="eval").body


def as_json(value: object) -> str:
    """Return a Python value as JSON.

    Raises ValueError for a number that JSON lacks (infinity), and TypeError for any other value
    that JSON lacks (a set).
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
