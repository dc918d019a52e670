"""Tables of rows beside a test: long texts are data, not code."""

import json
from enum import Enum
from inspect import getmembers, isclass
from pathlib import Path
from typing import Any

from converter.addon.transcript import turns
from converter.core.dialects import table
from converter.core.model import conversation, events

_KINDS = {
    name: kind
    for module in (conversation, events, turns, table)
    for name, kind in getmembers(module, isclass)
}


def rows_of(test: str) -> Any:
    """Return the tables by name; `test` is `__file__` of test_name.py, beside test_name.json.

    An object of one key that names a class is a value of the class; `bytes` and `()` are as Python
    writes them.
    """
    return json.loads(Path(test).with_suffix(".json").read_text(), object_hook=_value)


def _value(parsed: dict[str, Any]) -> Any:
    if len(parsed) != 1:
        return parsed
    ((name, value),) = parsed.items()
    if name == "bytes":
        return value.encode("latin-1")
    if name == "()":
        return tuple(value)
    kind: Any = _KINDS.get(name)
    if kind is None:
        return parsed
    return kind[value] if issubclass(kind, Enum) else kind(**value)
