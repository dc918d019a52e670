"""Schemas of tools: the JSON types that a value may have, and a bare text as a value of such a
type.
"""

import ast
import json
import re
import warnings
from collections.abc import Mapping

from converter.core.wire.json_text import refuse

type Schema = Mapping[str, object]

REFERENCE_LIMIT = 16
"""How many references and unions within one another are followed; a schema may refer to itself."""
NO_STRING = frozenset({"null", "boolean", "number", "array", "object"})
"""All JSON types but string, for a value that shows its type by its form."""
NULLS = ("null", "None")
_BOOLEANS = {"true": "true", "false": "false", "True": "true", "False": "false"}
_OTHER_NAMES = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
}
"""Names of types in the tools of some frameworks -> JSON types."""
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_NUMBERS = frozenset({"integer", "number"})
_READ = _NUMBERS | {"array", "object"}
"""Types whose values have to be parsed. Booleans and null are recognised by their word."""

_SOURCE_NAME = "<tool call>"
# Python would warn in the terminal of an unknown escape in a model's text, such as \d.
warnings.filterwarnings("ignore", category=SyntaxWarning, module=re.escape(_SOURCE_NAME))


def properties_of(schema: Schema) -> Mapping[str, object]:
    """Return the properties of an object's schema, by name."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def types_of(schema: Schema, name: str) -> frozenset[str]:
    """Return the JSON types that a parameter may have; empty if the schema names none."""
    return type_names(part(schema, name), schema)


def part(schema: Schema, name: str, root: Schema | None = None) -> Schema:
    """Return the schema of a property; if the schema is that of a list, the schema of its items.

    `root`: the tool's whole schema, in which references are looked up.
    """
    schema = resolved(schema, schema if root is None else root)
    properties = schema.get("properties")
    schema_of_part = (
        properties.get(name) if isinstance(properties, Mapping) else schema.get("items")
    )
    return schema_of_part if isinstance(schema_of_part, Mapping) else {}


def type_names(schema: object, root: Schema, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema allows; empty if it names none."""
    if not isinstance(schema, Mapping) or depth > REFERENCE_LIMIT:
        return frozenset()
    schema = resolved(schema, root)
    named = schema.get("type")
    written = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    names = {_OTHER_NAMES.get(name, name) for name in written if isinstance(name, str)}
    for union in ("anyOf", "oneOf", "allOf"):
        members = schema.get(union)
        for member in members if isinstance(members, list) else ():
            names |= type_names(member, root, depth + 1)
    return frozenset(names) or _implied(schema)


def resolved(schema: Schema, root: Schema) -> Schema:
    """Return the schema to which a local reference leads: `#/$defs/Place`, as Pydantic writes it. A
    schema without a reference is returned as it is.
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


def _implied(schema: Schema) -> frozenset[str]:
    """Return the types that follow from a schema's `properties`, `items`, `enum` or `const`."""
    if isinstance(schema.get("properties"), Mapping):
        return frozenset({"object"})
    if "items" in schema:
        return frozenset({"array"})
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    return frozenset(_KINDS[kind] for kind in kinds if kind in _KINDS)


def typed(text: str, types: frozenset[str]) -> str:
    """Return a bare text as JSON: a value of one of the `types` if it can be read as such a value,
    else a string.
    """
    bare = text.strip()
    if "null" in types and bare in NULLS:
        return "null"
    if "boolean" in types and bare in _BOOLEANS:
        return _BOOLEANS[bare]
    wanted = types & _READ
    wanted |= _NUMBERS if wanted & _NUMBERS else frozenset()
    for read, write in ((_json, lambda _: bare), (_python, literal), (_escaped, literal)):
        read_value = read(bare) if wanted else None
        if _KINDS.get(type(read_value)) in wanted:
            return write(read_value)
    return json.dumps(text, ensure_ascii=False)


def _json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def _escaped(text: str) -> object:
    """Return the value of JSON whose quotes are escaped, as it stands within a string; None if it
    is none.
    """
    try:
        return _json(json.loads(f'"{text}"')) if '\\"' in text else None
    except ValueError:
        return None


def _python(text: str) -> object:
    """Return the value of a Python literal, which some models write instead of JSON; None if it is
    none.
    """
    try:
        read_value = ast.literal_eval(parsed(text))
        literal(read_value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return read_value


def parsed(written: str) -> ast.expr:
    """Return the syntax tree of a Python expression. Raises the errors of `ast.parse`."""
    return ast.parse(written, _SOURCE_NAME, mode="eval").body


def literal(value: object) -> str:
    """Return a value as JSON. Raises ValueError for a number that JSON lacks (infinity), and
    TypeError for any other value that JSON lacks.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
