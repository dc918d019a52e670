"""Parsed JSON, read with its path: an error names the path of the value that is wrong."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from converter.core.model.conversation import RequestError

# JSON type -> its name in the messages of Anthropic's API.
TYPE_NAMES: dict[type, str] = {
    str: "a valid string",
    int: "a valid integer",
    bool: "a valid boolean",
    dict: "an object",
    list: "a valid array",
}


type Kinds = Mapping[str, type | list[type[str]]]
"""Names of fields, each with its type: `float` is any finite number, `[str]` an array of strings.
"""


class Fields:
    """One JSON object and the path to it.

    `null` counts as absent, as in the Messages API. Types are exact: `true` is no integer. Each
    reader raises `RequestError` with the path of the field (`messages.0.content.1.text`) when its
    value is of another type, or absent though required. `unread` yields the fields that were not
    requested.
    """

    __slots__ = ("_read", "path", "values")

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise RequestError(path, "Input should be an object")
        self.path = path
        self.values = value
        self._read: dict[str, Sequence[Fields]] = {}  # each field asked for, and the objects in it

    def path_of(self, name: str) -> str:
        """The path to a field of this object."""
        return f"{self.path}.{name}" if self.path else name

    def error(self, name: str, problem: str) -> RequestError:
        """Return the error to raise when this field is wrong."""
        return RequestError(self.path_of(name), problem)

    def value(self, name: str) -> Any:
        """The field, of whatever type; None when it is absent."""
        self._read.setdefault(name, ())
        return self.values.get(name)

    @property
    def requested(self) -> Set[str]:
        """The names of all fields that were requested, present or not."""
        return self._read.keys()

    def unread(self) -> Iterator[tuple[str, object]]:
        """The fields that were not requested, in this object and in those read from it."""
        for name, value in self.values.items():
            if name not in self._read:
                yield name, value
            for inner in self._read.get(name, ()):
                yield from inner.unread()

    def optional[T](self, name: str, kind: type[T]) -> T | None:
        """The field, or None when it is absent."""
        self._read.setdefault(name, ())
        value = self.values.get(name)
        if value is None or type(value) is kind:
            return value
        raise self.error(name, f"Input should be {TYPE_NAMES[kind]}")

    def required[T](self, name: str, kind: type[T]) -> T:
        """The field, which must be there."""
        self._read.setdefault(name, ())
        value = self.values.get(name)
        if type(value) is kind:
            return value
        problem = "Field required" if value is None else f"Input should be {TYPE_NAMES[kind]}"
        raise self.error(name, problem)

    def read(self, kinds: Kinds) -> dict[str, Any]:
        """The fields of a table that are there, each of its kind."""
        values = dict[str, Any]()
        for name, kind in kinds.items():
            self._read.setdefault(name, ())
            if self.values.get(name) is None:
                continue
            if isinstance(kind, list):
                values[name] = self.strings(name)
            else:
                values[name] = self.number(name) if kind is float else self.optional(name, kind)
        return values

    def number(self, name: str) -> float | None:
        """The field as a finite number, or None when it is absent."""
        value: float | None = self.value(name)
        if value is None or (type(value) in (int, float) and math.isfinite(value)):
            return value
        raise self.error(name, "Input should be a valid number")

    def strings(self, name: str) -> list[str]:
        """The strings of the array in this field; none when it is absent."""
        strings = self.optional(name, list) or []
        for index, string in enumerate(strings):
            if not isinstance(string, str):
                raise self.error(f"{name}.{index}", "Input should be a valid string")
        return strings

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """The field, which must be one of these choices."""
        value = self.required(name, str)
        if value not in choices:
            raise self._none_of(name, choices)
        return value

    def row[Row](self, name: str, rows: Mapping[str, Row]) -> Row:
        """The row of a table that the field names."""
        value = self.required(name, str)
        if value not in rows:
            raise self._none_of(name, rows)
        return rows[value]

    def _none_of(self, name: str, choices: Iterable[str]) -> RequestError:
        return self.error(name, f"Input should be {' or '.join(map(repr, choices))}")

    def child(self, name: str) -> "Fields | None":
        """The object in this field, or None when it is absent."""
        if self.values.get(name) is not None:
            return self.inner(name)
        self._read.setdefault(name, ())
        return None

    def within(self, name: str) -> "Fields":
        """The object in this field; one without fields when it is absent."""
        return self.child(name) or Fields({}, self.path_of(name))

    def inner(self, name: str) -> "Fields":
        """The object in this field, which must be there."""
        inner = Fields(self.values.get(name), self.path_of(name))
        self._read[name] = (inner,)
        return inner

    def children(self, name: str) -> "list[Fields]":
        """The objects of the array in this field; none when it is absent."""
        items = self.optional(name, list) or []
        path = self.path_of(name)
        inner = [Fields(item, f"{path}.{index}") for index, item in enumerate(items)]
        self._read[name] = inner
        return inner
