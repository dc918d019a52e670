"""`Fields` reads the fields of a request's parsed JSON and checks their types. Its errors name the
path to the wrong value (`messages.0.role`). The request reader of each dialect uses it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from converter.core.model.conversation import RequestError

TYPE_NAMES: dict[type, str] = {
    str: "a valid string",
    int: "a valid integer",
    bool: "a valid boolean",
    dict: "an object",
    list: "a valid array",
}
"""A Python type -> its name in error messages, in the words of Anthropic's API."""


type Kinds = Mapping[str, type | list[type[str]]]
"""The name of a field -> the type that its value must have. `float` stands for any finite number,
`[str]` for an array of strings.
"""


class Fields:
    """The fields of one JSON object.

    A method that reads a field raises `RequestError` with the path to the field
    (`messages.0.content.1.text`) if the value has another type, or if a required field is absent.
    `null` counts as absent, as in the Messages API. Types are exact: `true` is not an integer.

    The names of the fields that were read are noted. `unread` yields all others.

    Attributes:
        path: the path to the object; empty for the whole request.
        values: the object.
    """

    __slots__ = ("_read", "path", "values")

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise RequestError(path, "Input should be an object")
        self.path = path
        self.values = value
        # The name of a field that was read -> a `Fields` for each object in this field, so that
        # `unread` can look into them.
        self._read: dict[str, Sequence[Fields]] = {}

    def path_of(self, name: str) -> str:
        """Return the path to the field `name` of this object: for `role`, `messages.0.role`."""
        return f"{self.path}.{name}" if self.path else name

    def error(self, name: str, problem: str) -> RequestError:
        """Return the error for the field `name`, whose fault is `problem`. The caller raises it."""
        return RequestError(self.path_of(name), problem)

    def value(self, name: str) -> Any:
        """Return the field's value, of any type; `None` if the field is absent."""
        self._read.setdefault(name, ())
        return self.values.get(name)

    @property
    def requested(self) -> Set[str]:
        """The names of all fields that were read so far, even of fields that are absent."""
        return self._read.keys()

    def unread(self) -> Iterator[tuple[str, object]]:
        """Yield the name and value of each field that was not read, of this object and of the
        objects in it that were read as `Fields` (by `child`, `children` ...).
        """
        for name, value in self.values.items():
            if name not in self._read:
                yield name, value
            for inner in self._read.get(name, ()):
                yield from inner.unread()

    def optional[T](self, name: str, kind: type[T]) -> T | None:
        """Return the field's value; `None` if the field is absent. Raises RequestError if the value
        is not of the type `kind`.
        """
        self._read.setdefault(name, ())
        value = self.values.get(name)
        if value is None or type(value) is kind:
            return value
        raise self.error(name, f"Input should be {TYPE_NAMES[kind]}")

    def required[T](self, name: str, kind: type[T]) -> T:
        """Return the field's value. Raises RequestError if the field is absent, or the value is not
        of the type `kind`.
        """
        self._read.setdefault(name, ())
        value = self.values.get(name)
        if type(value) is kind:
            return value
        problem = "Field required" if value is None else f"Input should be {TYPE_NAMES[kind]}"
        raise self.error(name, problem)

    def read(self, kinds: Kinds) -> dict[str, Any]:
        """Return the values of the fields that `kinds` names, by the fields' names; absent fields
        are left out. Raises RequestError if a value has another type than `kinds` says.
        """
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
        """Return the field's value; `None` if the field is absent. Raises RequestError if the value
        is not a finite number.
        """
        value: float | None = self.value(name)
        if value is None or (type(value) in (int, float) and abs(value) < math.inf):
            return value
        raise self.error(name, "Input should be a valid number")

    def strings(self, name: str) -> list[str]:
        """Return the strings of the array in this field; an empty list if the field is absent.
        Raises RequestError for any other value.
        """
        strings = self.optional(name, list) or []
        for index, string in enumerate(strings):
            if not isinstance(string, str):
                raise self.error(f"{name}.{index}", "Input should be a valid string")
        return strings

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        """Return the field's value. Raises RequestError if the field is absent, or the value is not
        one of `choices`.
        """
        value = self.required(name, str)
        if value not in choices:
            raise self._none_of(name, choices)
        return value

    def row[Row](self, name: str, rows: Mapping[str, Row]) -> Row:
        """Return the row whose key in `rows` is the value of this field. Raises RequestError if the
        field is absent, or if `rows` has no such key.
        """
        value = self.required(name, str)
        if value not in rows:
            raise self._none_of(name, rows)
        return rows[value]

    def _none_of(self, name: str, choices: Iterable[str]) -> RequestError:
        """Return the error for a field whose value is not one of `choices`."""
        return self.error(name, f"Input should be {' or '.join(map(repr, choices))}")

    def child(self, name: str) -> "Fields | None":
        """Return the object in this field; `None` if the field is absent. Raises RequestError for
        any other value.
        """
        if self.values.get(name) is not None:
            return self.inner(name)
        self._read.setdefault(name, ())
        return None

    def within(self, name: str) -> "Fields":
        """Return the object in this field; an empty object if the field is absent. Raises
        RequestError for any other value.
        """
        return self.child(name) or Fields({}, self.path_of(name))

    def inner(self, name: str) -> "Fields":
        """Return the object in this field. Raises RequestError if the field is absent, or its value
        is no object.
        """
        inner = Fields(self.values.get(name), self.path_of(name))
        self._read[name] = (inner,)
        return inner

    def children(self, name: str) -> "list[Fields]":
        """Return the objects of the array in this field; an empty list if the field is absent.
        Raises RequestError for any other value.
        """
        items = self.optional(name, list) or []
        path = self.path_of(name)
        inner = [Fields(item, f"{path}.{index}") for index, item in enumerate(items)]
        self._read[name] = inner
        return inner
