"""`ArgumentValues` takes a call's arguments in pieces, and changes values to the types of the
tool's schema: `"5"` -> `5`. `schema_values` reads the types.

Some models, and some servers that parse their calls, send a list, an object, a number or a boolean
as a string (`"[1]"`, `"5"`, `"true"`), or a single value in place of a list. Such a value is
changed if the schema allows only one type (besides null) and the value can be read as this type. A
string stays a string if the schema allows one. Keys, and strings that may be changed, are held
until they end; all other text is emitted at once.
"""

import json
from dataclasses import dataclass

from converter.core.calls.argument_wrappings import QUOTE
from converter.core.calls.schema_values import (
    NULLS,
    NUMBERS,
    Schema,
    as_type,
    properties_of,
    resolve,
    subschema,
    type_names,
)
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.json_reader import JsonPart, JsonReader, Want
from converter.core.wire.json_text import objects

_KINDS = {"{": "object", '"': "string", "t": "boolean", "f": "boolean"}
"""First character of a value -> its type. A value with any other first character counts as a
number, also a list and null: `_put_in_list` has dealt with those two before it uses the types.
"""
_VALUE_PARTS = (JsonPart.OPEN, JsonPart.BEGUN, JsonPart.SCALAR)
"""The parts of JSON with which a value that is no string begins or goes on."""


@dataclass(slots=True)
class _Level:
    """An object or list whose end has not come yet."""

    schema: Schema
    """The schema of the object or list."""
    is_list: bool = False
    """True for a list, False for an object."""
    key: str | None = None
    """In an object, the key of the value that comes next or is being read; None before a key."""
    is_added: bool = False
    """True if the model did not write this list: it was added around a single value."""


class ArgumentValues:
    """Takes the JSON of one call's arguments in pieces, and returns it with values of the types
    that the schema asks for.

    Arguments:
        schema: the schema of the tool's parameters.

    Attributes:
        changed: the names of the arguments whose values were changed, one for each changed value.
    """

    def __init__(self, schema: Schema) -> None:
        self._root = schema
        self._reader = JsonReader(Want.VALUE)
        self._levels: list[_Level] = []
        self._string: list[str] | None = None  # pieces of a held key or string, if one is held
        self._length = 0
        self._in_scalar = False
        self._out: list[str] = []
        self.changed: list[str] = []

    @property
    def in_string(self) -> bool:
        """True if the text so far ends within a string that stays a string."""
        return self._string is None and self._reader.not_plain is not None

    def feed(self, text: str) -> str:
        """Take the next piece of the JSON; return the text that can be emitted now."""
        if self._string is None and self._reader.passes(text):
            return text  # it only continues a string that stays a string: nothing to read
        for kind, piece, _ in self._reader.feed(text):
            self._take(kind, piece)
        out, self._out = "".join(self._out), []
        return out

    def close(self) -> str:
        """Return the text that is held. Called at the end of the arguments, which may be cut."""
        held, self._string = self._string, None
        return "".join(held or ()) + self._reader.waiting

    def _take(self, kind: JsonPart, piece: str) -> None:
        """Read one part of the JSON, and emit or hold its text `piece`.

        A key is held until it is complete; so is a string, where the schema allows only one type
        and no string. If it grows longer than `HELD_LIMIT`, it is emitted as it is.
        """
        if kind in _VALUE_PARTS:
            self._read_value(kind, piece)
        elif kind is JsonPart.END:
            self._end_string()
        elif kind is JsonPart.TEXT and self._string is not None:
            self._string.append(piece)
            self._length += len(piece)
            if self._length > HELD_LIMIT:
                self._out += self._string
                self._string = None
        elif kind is JsonPart.KEY or (
            kind is JsonPart.STRING and only_type(self._wanted(), self._root) not in ("", "string")
        ):
            self._string, self._length = [piece], 0
        else:
            self._out.append(piece)
            if kind is JsonPart.COMMA:
                self._levels[-1].key = None
            elif kind is JsonPart.CLOSE:
                self._levels.pop()
                self._end_value()

    def _read_value(self, kind: JsonPart, piece: str) -> None:
        """Read a part of a value that is no string: of a number, `true`, `false` or `null`; or the
        bracket, `{` or `[`, with which an object or list begins.
        """
        if not self._in_scalar:
            self._put_in_list(piece[0])
        self._out.append(piece)
        self._in_scalar = kind is JsonPart.BEGUN
        if kind is JsonPart.OPEN:
            self._levels.append(_Level(non_null(self._wanted(), self._root), is_list=piece == "["))
        elif kind is JsonPart.SCALAR:
            self._end_value()

    def _end_string(self) -> None:
        """Read the end of a key or string. If it was held, emit it now; a held string becomes a
        value of the type that the schema allows, if it can be read as one.
        """
        if self._string is None:
            self._out.append('"')
            self._end_value()
            return
        written, self._string = "".join(self._string) + '"', None
        level = self._levels[-1] if self._levels else None
        if level and not level.is_list and level.key is None:
            level.key = json.loads(written)
            self._out.append(written)
            return
        converted = self._convert(written)
        if converted == written:
            self._out.append(written)
            self._end_value()
        else:
            self._record_change()
            reader = JsonReader(Want.VALUE)  # the values within the new value may need a change too
            for kind, piece, _ in reader.feed(converted):
                self._take(kind, piece)
            if (rest := reader.end_word(numbers=True)) is not None:
                self._take(JsonPart.SCALAR, rest)

    def _put_in_list(self, character: str) -> None:
        """Emit `[` before a value that begins with `character`, if it has to be put into a list:
        the schema allows only a list here, and items of the value's type in this list.

        A value that is itself a list or null is never put into a list.
        """
        schema = self._wanted()
        if character in "[n" or only_type(schema, self._root) != "array":
            return
        kind, items = _KINDS.get(character, "number"), self._item_types(schema)
        if not items or kind in items or (kind == "number" and not NUMBERS.isdisjoint(items)):
            self._record_change()
            self._levels.append(_Level(non_null(schema, self._root), is_list=True, is_added=True))
            self._out.append("[")

    def _end_value(self) -> None:
        """Emit `]` behind a value that has ended, if a list was added around it."""
        if self._levels and self._levels[-1].is_added:
            self._levels.pop()
            self._out.append("]")

    def _wanted(self) -> Schema:
        """Return the schema of the value that is read now or comes next."""
        if not self._levels:
            return self._root
        level = self._levels[-1]
        return subschema(level.schema, level.key or "", self._root)

    def _convert(self, written: str) -> str:
        """Return the JSON string `written` as a value of the type that the schema allows here.

        `"5"` -> `5`; `"a"` -> `["a"]` for a list of strings. Return `written` itself if it cannot
        be read as such a value.
        """
        schema, text = self._wanted(), json.loads(written).replace(QUOTE, '"')
        converted = as_type(text, type_names(schema, self._root))
        if not converted.startswith('"'):
            return converted
        if only_type(schema, self._root) != "array" or text.strip() in ("", *NULLS):
            return written
        items = self._item_types(schema)
        inner = written if not items or "string" in items else as_type(text, items)
        return written if inner.startswith('"') and inner is not written else f"[{inner}]"

    def _item_types(self, schema: Schema) -> frozenset[str]:
        """Return the JSON types that a list's schema allows its items; empty if any is allowed."""
        return type_names(subschema(non_null(schema, self._root), "", self._root), self._root)

    def _record_change(self) -> None:
        """Add the name of the argument whose value is read now to `changed`."""
        self.changed += [level.key for level in self._levels if level.key][:1]


def non_null(schema: Schema, root: Schema) -> Schema:
    """Resolve the reference of a schema, if it has one, and remove null from a union: of a union of
    null and one other schema, return the other schema. Return any other schema as it is.

    Pydantic writes an optional argument as such a union:
    `{"anyOf": [{"type": "string"}, {"type": "null"}]}` -> `{"type": "string"}`.
    """
    schema = resolve(schema, root)
    for union in ("anyOf", "oneOf"):
        members = objects(schema.get(union))
        left = [each for each in members if type_names(each, root) != {"null"}]
        if len(left) == 1:
            return resolve(left[0], root)
    return schema


def only_type(schema: Schema, root: Schema) -> str:
    """Return the only type that a schema allows besides null; empty if there is not exactly one.

    `integer` and `number` both count as `number`.
    """
    names = type_names(schema, root) - {"null"}
    if names and names <= NUMBERS:
        return "number"
    return next(iter(names)) if len(names) == 1 else ""


def wants_types(schema: Schema) -> bool:
    """Return True if some parameter allows only one type besides null, which is not string. If none
    does, no value is changed.
    """
    names = properties_of(schema)
    return any(only_type(subschema(schema, name), schema) not in ("", "string") for name in names)
