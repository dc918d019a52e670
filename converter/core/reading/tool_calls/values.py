"""Values of tag forms, which are bare text, written as JSON by the types that the tool's schema
names.

A string goes on as it comes; any other value is short and waits for its end.
"""

import ast
import json
import re
import warnings
from collections.abc import Mapping

from converter.core.reading.tool_calls.call import Schema
from converter.core.reading.tool_calls.source import Says
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.json_text import refuse

REFERENCE_LIMIT = 16
"""References and unions within one another; a schema may go round in circles."""
NESTED_LIMIT = 64
"""Values within values; models write three or four."""
NO_STRING = frozenset({"null", "boolean", "number", "array", "object"})
"""All types but a string's, for a value that shows its type by itself."""
_NULLS = ("null", "None")
_WORDS = {"true": "true", "false": "false", "True": "true", "False": "false"}
_OTHER_NAMES = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
}
"""The types' names in tools of some frameworks."""
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
"""The types whose values are read, because they are more than a word."""

_PLACE = "<tool call>"
# an escape that a model makes up, \d in a string, is none to be told in the terminal
warnings.filterwarnings("ignore", category=SyntaxWarning, module=re.escape(_PLACE))


def types_of(schema: Schema, name: str) -> frozenset[str]:
    """Return the JSON types that a parameter may have; none when the schema does not tell."""
    return type_names(part(schema, name), schema)


def part(schema: Schema, name: str, root: Schema | None = None) -> Schema:
    """Return the schema of a property, or of a list's items for a name that is none.

    `root`: the tool's schema, which holds the schemas that references name.
    """
    schema = _resolved(schema, schema if root is None else root)
    properties = schema.get("properties")
    schema_of_part = (
        properties.get(name) if isinstance(properties, Mapping) else schema.get("items")
    )
    return schema_of_part if isinstance(schema_of_part, Mapping) else {}


def type_names(schema: object, root: Schema, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema allows; none when it does not tell."""
    if not isinstance(schema, Mapping) or depth > REFERENCE_LIMIT:
        return frozenset()
    schema = _resolved(schema, root)
    named = schema.get("type")
    written = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    names = {_OTHER_NAMES.get(name, name) for name in written if isinstance(name, str)}
    for union in ("anyOf", "oneOf", "allOf"):
        members = schema.get(union)
        for member in members if isinstance(members, list) else ():
            names |= type_names(member, root, depth + 1)
    return frozenset(names) or _implied(schema)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Return the schema that a local reference names: `#/$defs/Place`, as Pydantic writes them."""
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
    """Return the types that a schema allows without naming them."""
    if isinstance(schema.get("properties"), Mapping):
        return frozenset({"object"})
    if "items" in schema:
        return frozenset({"array"})
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    return frozenset(_KINDS[kind] for kind in kinds if kind in _KINDS)


class Value:
    """One argument's value: bare text in, JSON out. A string goes on as it comes, whatever it looks
    like (`007` stays `007`); one of no known type is a string. Any other value waits for its end,
    and is a string beyond its limit; the beginning of the word null waits where that is none.
    """

    def __init__(self, types: frozenset[str], say: Says) -> None:
        self._is_string = not types or "string" in types
        self._types = types & {"null"} if self._is_string else types
        self._say = say
        self._held: list[str] | None = [] if self._types else None
        self._length = 0
        self._begun = False

    def feed(self, text: str) -> None:
        """Write the text, once it is clear that it is a string's."""
        if self._held is not None:
            self._held.append(text)
            self._length += len(text)
            if self._waits(self._held):
                return
            text, self._held = "".join(self._held), None
        self._write(text)

    def close(self) -> None:
        """Write the value, or the end of the string."""
        if self._held is not None:
            self._say(typed("".join(self._held), self._types))
            return
        if not self._begun:
            self._write("")
        self._say('"')

    def _waits(self, held: list[str]) -> bool:
        if self._is_string:
            return any(null.startswith("".join(held)) for null in _NULLS)
        return self._length <= HELD_LIMIT

    def _write(self, text: str) -> None:
        quote = "" if self._begun else '"'
        self._begun = True
        self._say(quote + json.dumps(text, ensure_ascii=False)[1:-1])


def typed(text: str, types: frozenset[str]) -> str:
    """Return the JSON text of a bare value: of one of the types if it can be, else of a string."""
    bare = text.strip()
    if "null" in types and bare in _NULLS:
        return "null"
    if "boolean" in types and bare in _WORDS:
        return _WORDS[bare]
    wanted = types & _READ
    wanted |= _NUMBERS if wanted & _NUMBERS else frozenset()
    for read, write in ((_json, lambda _: bare), (_python, literal)):
        read_value = read(bare) if wanted else None
        if _KINDS.get(type(read_value)) in wanted:
            return write(read_value)
    return json.dumps(text, ensure_ascii=False)


def _json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def _python(text: str) -> object:
    """Read a Python literal, which models write where they mean JSON."""
    try:
        read_value = ast.literal_eval(parsed(text))
        literal(read_value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return read_value


def parsed(written: str) -> ast.expr:
    """Return a Python expression. Raises the errors of `ast.parse`."""
    return ast.parse(written, _PLACE, mode="eval").body


def literal(given: object) -> str:
    """Return the JSON text of a value. Raises ValueError for a number that JSON cannot say, and
    TypeError for a value that JSON lacks.
    """
    return json.dumps(given, ensure_ascii=False, allow_nan=False)
