"""The members of a call's object: its name, its arguments, and what stands beside them.

Models write `{"name": "remove", "path": "/tmp/x"}`, an object under a key of their own, or close
the arguments' object, or the call's, too early. What the tool's schema knows is an argument; an
object whose members it knows is the arguments. Anything else has no meaning, and the call is none,
because a client would run it without what stood there.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from converter.core.calls.arguments import ARGUMENT_KEYS, meaning_of
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import NO_STRING, literal, typed
from converter.core.reading.json_extent import JsonExtent
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.json_value import (
    QUOTES,
    arguments,
    read_key,
    read_string,
    read_value,
)
from converter.core.reading.tool_calls.source import BLANKS, BrokenArguments, Refused, Source, Step
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.partial_json import mended

NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Keys of the object around a call: they are no arguments where it has any."""
_STRING_TEXT = r'(?:[^"\\]|\\.)*+'
_NAME_KEY = rf'"(?:{"|".join(NAME_KEYS)})"\s*+:\s*+'
_KEY_AT_HEAD = re.compile(rf"\{{\s*+{_NAME_KEY}")
NAMED = re.compile(
    rf'\{{\s*+(?:"(?:{"|".join(OTHER_KEYS)})"\s*+:\s*+(?:"{_STRING_TEXT}"|[\w.-]++)\s*+,\s*+)*+'
    rf'"(?P<key>{"|".join(NAME_KEYS)})"\s*+:\s*+(?P<sure>\{{\s*+{_NAME_KEY})?+'
    rf'"(?:(?P<name>{_STRING_TEXT})")?+',
    re.DOTALL,
)
"""The beginning of an object that tells a name first."""
NAMED_BY_KEY = re.compile(
    rf'\{{\s*+"(?P<name>(?P<key>{_STRING_TEXT}))"\s*+:\s*+(?P<sure>"?+\s*+\{{|"?+null|"")',
    re.DOTALL,
)
"""The same where the key is the name: its value may be arguments."""
_BARE = re.compile(r"[^,}]++(?=[,}])")
_NOTHING: tuple[object, ...] = (None, "", [])
_BETWEEN = BLANKS + ",;}"
"""Characters between a call and what belongs to it behind its end, or the next call."""
AHEAD_LIMIT = 4096
"""Characters of an object behind a call that are waited for to see whether it is another."""


@dataclass(slots=True)
class Members:
    """The members of a call's object, read one by one. `close`: the marks that may come behind.

    `strict`: no keys but those of calls. `argued`: the arguments have come; `wholly`: all members
    are arguments, because the arguments' own object was closed too early; `beside`: members that
    may be as well, as JSON, and whether one may be all of them; `room`: the characters left for
    more. `names`: how an object begins that is another call, if any is.
    """

    source: Source
    call: Call
    close: Sequence[str]
    strict: bool = False
    argued: bool = False
    wholly: bool = False
    names: re.Pattern[str] | None = None
    beside: list[tuple[str, str, bool]] = field(default_factory=list)
    room: int = HELD_LIMIT

    def read(self, nested: bool = False) -> Step[None]:
        """Read up to the object's end."""
        source, call = self.source, self.call
        while (yield from self._goes_on()):
            name = yield from read_key(source)
            if name in NAME_KEYS and not (call.name or call.refused):
                yield from self._name(nested)
            elif name in ARGUMENT_KEYS and not (self.argued or call.knows(name)):
                yield from arguments(source, call, self.close)
                self.argued = True
            elif self.strict and name not in (*OTHER_KEYS, *ARGUMENT_KEYS):
                raise Refused
            else:
                yield from self._beside(name)

    def _goes_on(self) -> Step[bool]:
        """Tell whether another member comes next; take what stands before it, or the last brace.
        Models forget that brace, but the call's own mark tells its end.
        """
        mark, place = yield from self.source.ahead(("}",), BLANKS + ",")
        may_lack = self.argued and self.close and not mark
        if may_lack and (yield from self.source.ahead(self.close))[0]:
            return False
        self.source.take(place + len(mark))
        return not mark

    def _name(self, nested: bool) -> Step[None]:
        """Read a name, or the object that chat completions have it in."""
        mark, place = yield from self.source.ahead(("{", *QUOTES))
        self.source.take(place)
        if mark in QUOTES:
            self.call.named((yield from read_string(self.source)))
        elif mark and not nested:
            self.source.take(1)
            yield from self.read(nested=True)
        else:
            raise Refused

    def _beside(self, name: str) -> Step[None]:
        may_be_all = name in ARGUMENT_KEYS and not self.argued  # though one argument is named so
        self.argued = self.argued or may_be_all
        opened = (yield from self.source.ahead(("{", "[", *QUOTES)))[0]
        if name in OTHER_KEYS and not opened:  # an id may lack its quotes
            written = typed((yield from self.source.match(_BARE))[0].strip(), NO_STRING)
        else:
            written = yield from read_value(self.source, self.room)
        self.room -= len(name) + len(written)
        self.beside.append((name, written, may_be_all))

    def beyond(self) -> Step[None]:
        """Read members behind the object's end, as they are or in an object: a brace stood too
        early. An object with a name is another call.
        """
        source, call = self.source, self.call
        while True:
            mark, place = yield from source.ahead(('"', "{"), _BETWEEN)
            in_object = mark == "{"
            if in_object and self.names and (yield from self._is_named(self.names, place)):
                return
            given = (in_object or not call.begun) and call.arguments_so_far() != {}
            first = not given and (in_object or not call.begun)
            again = in_object and (given or self.wholly)
            belongs = self.close or "," in source.rest[:place] or first or (again and self.wholly)
            if not mark or not belongs:
                return
            source.take(place)
            if again:
                yield from self._again()
            else:
                source.take(int(in_object))
                yield from self.read()

    def _is_named(self, names: re.Pattern[str], place: int) -> Step[bool]:
        """Tell whether the object at `place` is a call of its own, because it has a name. Any word
        may stand under a key such as `tool`: behind a call without arguments, whose argument it may
        be, it must be an offered tool's, or stand beside arguments.
        """
        source, call, extent, seen = self.source, self.call, JsonExtent(), 0
        given = call.arguments_so_far() != {}
        while True:
            text = source.rest[place : place + AHEAD_LIMIT]
            if found := names.match(text):
                sure = given or found["key"] == "name" or found["sure"] is not None
                if sure and not call.knows(found["key"]):
                    return True
                if found["name"] is not None and offered_name(found["name"], call.tools):
                    return True
            if (end := extent.feed(text[seen:])) is not None:
                return self._has_name(text[: seen + end], given)
            seen = len(text)
            if source.last or seen == AHEAD_LIMIT:
                return given
            yield None

    def _has_name(self, written: str, given: bool) -> bool:
        text = mended(written)
        if not text:  # behind arguments it is a broken call, behind none it may hold them
            return given and _KEY_AT_HEAD.match(written) is not None
        told: dict[str, object] = json.loads(text)
        sure = given or not told.keys().isdisjoint(ARGUMENT_KEYS)
        for key in (key for key in NAME_KEYS if not self.call.knows(key)):
            match told.get(key):
                case str(name) if sure or key == "name" or offered_name(name, self.call.tools):
                    return True
                case dict(within) if any(isinstance(within.get(it), str) for it in NAME_KEYS):
                    return True
        return False

    def _again(self) -> Step[None]:
        """Read an object behind the arguments: the same, or those of a call that had none. Any
        other raises BrokenArguments.
        """
        given = self.call.arguments_so_far()
        if given is None:  # too long to be compared
            raise BrokenArguments
        again = _value((yield from read_value(self.source)))
        same = meaning_of(literal(given)) == meaning_of(literal(again))
        if not isinstance(again, dict) or (given and not same):
            raise BrokenArguments
        for name, value in {} if given else again.items():
            self.call.add(name, literal(value))

    def settle(self) -> None:
        """Add the members beside the arguments to them. Raises BrokenArguments where the tool's
        schema does not know them, or where they contradict the arguments.
        """
        call = self.call
        if call.refused or not self.beside:
            return
        given = call.arguments_so_far()
        more: dict[str, object] = {}
        for key, written, may_be_all in self.beside:
            around = key in OTHER_KEYS and not self.wholly
            if around and (self.argued or not call.knows(key)):
                continue
            for name, value in _meant(call, key, _value(written), may_be_all).items():
                if given is None or given.get(name, value) != value:
                    raise BrokenArguments
                if name not in given:
                    given[name] = more[name] = value
        for name, value in more.items():
            call.add(name, literal(value))


def _meant(call: Call, key: str, value: object, may_be_all: bool) -> Mapping[str, object]:
    """Return the arguments that a member is."""
    known = call.knows(key)
    if isinstance(value, str) and value.lstrip().startswith("{") and not known:
        value = _value(mended(value))
    all_known = isinstance(value, dict) and all(map(call.knows, value))
    if known and not (all_known and may_be_all):
        return {key: value}
    if isinstance(value, dict) and all_known:
        return value
    if value in _NOTHING:
        return {}
    raise BrokenArguments


def _value(written: str) -> object:
    """Return the value of JSON. Raises BrokenArguments for one that cannot be written again."""
    try:
        value: object = json.loads(written)
        literal(value)
    except (ValueError, RecursionError):
        raise BrokenArguments from None
    return value
