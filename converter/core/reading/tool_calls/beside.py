"""Members of a call's object that stand beside its arguments, or in their place.

Models write `{"name": "remove", "path": "/tmp/x"}`, an object under a key of their own, or close
the arguments' object too early. What the tool's schema knows is an argument; an object whose
members it knows is the arguments. Anything else has no meaning, and the call is none, because a
client would run it without what stood there.
"""

import enum
import json
from collections.abc import Iterator, Mapping

from converter.core.reading.tool_calls.call import Call
from converter.core.wire.partial_json import PartialJson

_NOTHING: tuple[object, ...] = (None, "", {}, [])


class NoArgumentsError(ValueError):
    """Members that the tool's schema does not know, or that contradict the arguments."""


class Role(enum.Enum):
    """The place of a member."""

    MEMBER = enum.auto()
    AROUND = enum.auto()  # the call's own, as its id, unless the call has no arguments
    ARGUMENTS = enum.auto()  # under the key of all arguments, though the tool has one named so


class Beside:
    """The members of one call; add them as they come."""

    def __init__(self) -> None:
        self._members: list[tuple[str, str, Role]] = []

    def add(self, key: str, written: str, role: Role = Role.MEMBER) -> None:
        """Keep a member, with its value as it was written."""
        self._members.append((key, written, role))

    def arguments(self, call: Call, argued: bool) -> Iterator[tuple[str, str]]:
        """Return the arguments among them, as JSON. `argued`: the call has had arguments. Raises
        NoArgumentsError.
        """
        if call.refused or not self._members:
            return
        given = call.arguments_so_far()
        for key, written, role in self._members:
            if role is Role.AROUND and (argued or not call.knows(key)):
                continue
            for name, text in _meant(call, key, written, role):
                if given is None or (name in given and given[name] != json.loads(text)):
                    raise NoArgumentsError(name)
                if name not in given:
                    given[name] = json.loads(text)
                    yield name, text


def _meant(call: Call, key: str, written: str, role: Role) -> Iterator[tuple[str, str]]:
    """Return the arguments that a member is."""
    text = _mended(written)
    value = json.loads(text)
    if isinstance(value, str) and value.lstrip().startswith("{") and not call.knows(key):
        value = json.loads(_mended(value))
    if value in _NOTHING and not call.knows(key):
        return
    all_known = isinstance(value, Mapping) and all(map(call.knows, value))
    if call.knows(key) and not (all_known and role is Role.ARGUMENTS):
        yield key, text
        return
    if not isinstance(value, Mapping) or not all_known:
        raise NoArgumentsError(key)
    for name, inner in value.items():
        yield name, json.dumps(inner, ensure_ascii=False)


def _mended(written: str) -> str:
    """Return a value as JSON. Raises NoArgumentsError for one without a meaning."""
    read = PartialJson()
    text = read.feed(f'{{"value": {written}}}')
    if not read.complete or read.unfit:
        raise NoArgumentsError(written)
    try:
        value = json.loads(text, strict=False)["value"]
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise NoArgumentsError(written) from error
