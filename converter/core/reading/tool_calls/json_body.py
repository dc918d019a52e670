"""Calls written as JSON: an object with a name and arguments, or a list of such objects.

The keys come in any order; arguments go on as they come once the name is known. Arguments may be
an object or, as chat completions have them, a string that holds one. Members that stand elsewhere,
beside the arguments, in their place or behind a brace too early, as they are or in an object of
their own, are arguments where the tool's schema knows them; else the call is none.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from converter.core.calls.names import offered_name
from converter.core.reading.json_extent import HEADER_LIMIT, JsonExtent
from converter.core.reading.tool_calls.beside import Beside, NoArgumentsError, Role
from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.source import (
    BLANKS,
    BrokenArguments,
    Refused,
    Source,
    Step,
    marks_of,
)
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.partial_json import PartialJson

NAME_LIMIT = 256
"""Characters of a key or a name; no API allows as many in a tool's name."""
NAME_KEYS = ("name", "tool_name", "function", "function_name", "tool")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "tool_input", "input", "params", "kwargs")
OTHER_KEYS = ("id", "type", "tool_call_id", "index")
"""Keys of the object around a call: they are no arguments where it has any."""
_STRING = re.compile(r'((?:[^"\\]|\\.)*+)"', re.DOTALL)
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
ESCAPE = re.compile(rf'\\["\\/bfnrt]|{_HIGH}{_LOW}|(?!{_HIGH})\\u[0-9a-fA-F]{{4}}')
_PIECE = re.compile(rf'[^"\\]+|{ESCAPE.pattern}')
ESCAPE_LENGTH = 12
"""Characters of a pair of escapes, which are one character together."""
BARE = re.compile(r"[^,}\]]*+(?=[,}\]])")
"""A value without quotes and brackets."""
BARE_LIMIT = 4096
_FIRSTS = ("{", "[", '"', "'")
_STRING_TEXT = r'(?:[^"\\]|\\.)*+'
_NAME_KEY = rf'"(?:{"|".join(NAME_KEYS)})"\s*+:\s*+'
_NAMED = re.compile(
    rf'\{{\s*+(?:"(?:{"|".join(OTHER_KEYS)})"\s*+:\s*+(?:"{_STRING_TEXT}"|[\w.-]++)\s*+,\s*+)*+'
    rf'"(?P<key>{"|".join(NAME_KEYS)})"\s*+:\s*+(?:\{{\s*+{_NAME_KEY})?+"(?P<name>{_STRING_TEXT})"',
    re.DOTALL,
)
"""The beginning of an object that tells a name first."""
_NAMED_BY_KEY = re.compile(
    rf'\{{\s*+"(?P<name>(?P<key>{_STRING_TEXT}))"\s*+:\s*+(?:\{{|null)', re.DOTALL
)
_BETWEEN = BLANKS + ",;}"
"""Characters between a call and what belongs to it behind its end, or the next call."""
AHEAD_LIMIT = 4096
"""Characters of an object behind a call that are waited for to see whether it is another."""


@dataclass(frozen=True, slots=True)
class Json:
    """An object or a list of objects. `strict`: no keys but those of calls, and arguments must be.

    `name_is_key`: an object's only key is the name and its value the arguments, as Apertus has it.
    """

    strict: bool = False
    name_is_key: bool = False
    heads: ClassVar[Sequence[str]] = ("{", "[")

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call, or a list of them."""
        if calls.head == "[" and not (yield from source.accept(("{",))):
            raise Refused
        yield from self._call(source, calls.current, calls.close)
        while calls.head == "[":
            mark, place = yield from source.ahead(("{", "]"), BLANKS + ",")
            source.take(place)
            if mark != "{":
                source.take(len(mark))
                break
            call = calls.next()
            source.take(1)
            yield from self._call(source, call, calls.close)
        return False

    def _call(self, source: Source, call: Call, close: Sequence[str]) -> Step[None]:
        members = Members(self.strict, names=_NAMED_BY_KEY if self.name_is_key else _NAMED)
        if self.name_is_key:
            yield from self._named_by_key(source, call)
            members.argued = members.wholly = True
        else:
            yield from members.read(source, call, close)
        if not (call.name or call.refused) or (self.strict and not members.argued):
            raise Refused
        if not self.strict:
            yield from members.beyond(source, call, close)
        members.settle(call)
        call.complete()

    def _named_by_key(self, source: Source, call: Call) -> Step[None]:
        yield from _expect(source, '"')
        call.named((yield from string(source)))
        yield from _expect(source, ":")
        yield from _arguments(source, call)
        yield from _expect(source, "}")


@dataclass(slots=True)
class Members:
    """The members of a call's object, read one by one. `argued`: its arguments have come; `beside`:
    members that may be arguments as well. `wholly`: all members are, because the arguments' own
    object was closed too early. `names`: how an object begins that is another call, if any is.
    """

    strict: bool = False
    argued: bool = False
    wholly: bool = False
    beside: Beside = field(default_factory=Beside)
    names: re.Pattern[str] | None = None

    def read(
        self, source: Source, call: Call, close: Sequence[str], nested: bool = False
    ) -> Step[None]:
        """Read up to the object's end."""
        while (mark := (yield from source.accept(('"', "}"), BLANKS + ","))) == '"':
            key = yield from string(source)
            yield from _expect(source, ":")
            if key in NAME_KEYS and not (call.name or call.refused):
                yield from self._name(source, call, close, nested)
            elif key in ARGUMENT_KEYS and not (self.argued or call.knows(key)):
                yield from _arguments(source, call, close)
                self.argued = True
            elif self.strict and key not in (*OTHER_KEYS, *ARGUMENT_KEYS):
                raise Refused
            else:
                yield from self._beside(source, key)
        if not mark and not (self.argued and close and (yield from source.ahead(close))[0]):
            raise Refused  # models forget the last brace, but the call's own mark tells its end

    def _name(self, source: Source, call: Call, close: Sequence[str], nested: bool) -> Step[None]:
        """Read a name, or the object that chat completions have it in."""
        mark = yield from source.accept(('"', "{"))
        if mark == "{" and not nested:
            yield from self.read(source, call, close, nested=True)
        elif mark == '"':
            call.named((yield from string(source)))
        else:
            raise Refused

    def _beside(self, source: Source, key: str) -> Step[None]:
        role = Role.AROUND if key in OTHER_KEYS and not self.wholly else Role.MEMBER
        if key in ARGUMENT_KEYS and not self.argued:  # though the tool has an argument named so
            role, self.argued = Role.ARGUMENTS, True
        self.beside.add(key, (yield from value_text(source)), role)

    def beyond(self, source: Source, call: Call, close: Sequence[str]) -> Step[None]:
        """Read members behind the object's end, as they are or in an object: a brace stood too
        early. An object with a name is another call.
        """
        while True:
            mark, place = yield from source.ahead(('"', "{"), _BETWEEN)
            in_object = mark == "{"
            if in_object and self.names and (yield from self._named(source, place, call)):
                return
            given = call.arguments_so_far() != {}
            first = not given and (in_object or not call.begun)
            again = in_object and (given or self.wholly)
            belongs = close or "," in source.rest[:place] or first or (again and self.wholly)
            if not mark or not belongs:
                return
            source.take(place)
            if again:
                yield from _again(source, call)
            else:
                source.take(int(in_object))
                yield from self.read(source, call, close)

    def _named(self, source: Source, place: int, call: Call) -> Step[bool]:
        """Tell whether the object at `place` is a call of its own, because it has a name."""
        read, written, seen = PartialJson(), "", 0
        while not (read.complete or read.unfit):
            text = source.rest[place : place + AHEAD_LIMIT]
            if found := self.names.match(text) if self.names else None:
                return not call.knows(found["key"]) or bool(offered_name(found["name"], call.tools))
            written += read.feed(text[seen:])
            seen = len(text)
            if read.begun and not read.unfit:
                if source.last or seen == AHEAD_LIMIT:
                    return call.arguments_so_far() != {}
                yield
        members = json.loads(written, strict=False) if read.complete else {}
        names = {key: value for key, value in members.items() if key in NAME_KEYS}
        return any(_is_name(value) and not call.knows(key) for key, value in names.items())

    def settle(self, call: Call) -> None:
        """Add the members beside the arguments to them. Raises Refused where they are none."""
        try:
            for name, written in list(self.beside.arguments(call, self.argued)):
                call.add(name, written)
        except NoArgumentsError as error:
            raise BrokenArguments from error


def _is_name(value: object) -> bool:
    """Tell whether a value is a name, or the object that chat completions have it in."""
    inside = [value.get(key) for key in NAME_KEYS] if isinstance(value, dict) else [value]
    return any(isinstance(name, str) for name in inside)


def _expect(source: Source, mark: str) -> Step[None]:
    if not (yield from source.accept((mark,))):
        raise Refused


def string(source: Source) -> Step[str]:
    """Return the short string whose quote has been taken."""
    return decoded((yield from source.match(_STRING, NAME_LIMIT))[1])


def decoded(written: str) -> str:
    """Return the text of a JSON string; line ends in it, which models write, are themselves."""
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        raise Refused from None


def _arguments(source: Source, call: Call, close: Sequence[str] = ()) -> Step[None]:
    mark, place = yield from source.ahead(("{", '"', "null"))
    source.take(place)
    if mark == "{":
        yield from _object(source, call, close)
    elif mark == '"':
        source.take(1)
        yield from _object_in_string(source, call)
    elif mark:
        source.take(len(mark))
    else:
        raise Refused


def arguments_alone(source: Source, call: Call, close: Sequence[str]) -> Step[None]:
    """Say the arguments of a call whose name stands before them, which are an object."""
    yield from _object(source, call, close)
    members = Members(argued=True, wholly=True)
    yield from members.beyond(source, call, close)
    members.settle(call)


def _object(source: Source, call: Call, close: Sequence[str] = ()) -> Step[None]:
    """Say the object that comes next as the arguments, all but its last brace. `close`: the marks
    before which brackets may be missing.
    """
    checked = PartialJson()
    while not checked.complete:
        yield from source.more()
        piece = source.rest[: source.rest.find("}") + 1 or None]
        try:
            _take_checked(source, piece, piece, checked, call)
        except BrokenArguments:
            if not (close and (yield from source.ahead(close))[0]):
                raise
            if not (brackets := checked.close_before()):
                raise
            call.begin()
            call.say(brackets[:-1])


def _again(source: Source, call: Call) -> Step[None]:
    """Read an object behind the arguments: the same, or those of a call that had none. Any other
    raises BrokenArguments.
    """
    given = call.arguments_so_far()
    try:
        again = json.loads((yield from value_text(source)), strict=False)
    except (ValueError, RecursionError) as error:
        raise BrokenArguments from error
    if given and given != again:
        raise BrokenArguments
    for name, value in {} if given else again.items():
        call.add(name, json.dumps(value, ensure_ascii=False))


def _object_in_string(source: Source, call: Call) -> Step[None]:
    checked = PartialJson()
    while True:
        yield from source.more()
        if match := _PIECE.match(source.rest):
            _take_checked(source, match[0], decoded(match[0]), checked, call)
        elif source.rest[0] == '"':
            break
        elif source.last or len(source.rest) >= ESCAPE_LENGTH:
            raise Refused
        else:
            yield
    source.take(1)
    if checked.said and not checked.complete:
        raise Refused


def _take_checked(
    source: Source, written: str, text: str, checked: PartialJson, call: Call
) -> None:
    """Take what comes next, and say what it means, `text`, less the last brace.

    Raises Broken where it is no JSON, and takes no more than what is.
    """
    complete = checked.complete
    piece = checked.feed(text)
    unfit = checked.unfit
    behind = min(len(unfit), len(text))
    source.take(len(written) - (len(written) if unfit and written != text else behind))
    if checked.told or checked.complete:
        call.begin()
    call.say(piece[:-1] if checked.complete and not complete else piece)
    if unfit:
        raise BrokenArguments(unfit[: len(unfit) - behind])


def value_text(source: Source) -> Step[str]:
    """Take and return the value that comes next, as it is written."""
    if not (yield from source.ahead(_FIRSTS))[0]:
        return (yield from source.match(BARE, BARE_LIMIT))[0]
    extent, pieces, length = JsonExtent(), [], 0
    end: int | None = None
    while end is None:
        yield from source.more()
        end = extent.feed(source.rest)
        pieces.append(source.take(len(source.rest) if end is None else end))
        length += len(pieces[-1])
        if length > HELD_LIMIT:
            raise BrokenArguments
    return "".join(pieces)


_NAME = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")


@dataclass(frozen=True, slots=True)
class Header:
    """Calls whose name stands in a header before arguments that are JSON. A name alone is a call of
    a tool that needs no argument.

    `pattern`: a header, whole, up to the brace; its group `name` is the tool's name.

    `tail`: what may stand behind the arguments, before the call's closing mark. `heads`: what the
    header begins with, before the pattern. `user`: a header that is no text, of words for the user.
    """

    pattern: str
    tail: str = ""
    heads: Sequence[str] = ("",)
    user: str = ""

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        if self.user and (yield from source.accept((self.user,))):
            return True
        call = calls.current
        header = yield from source.before(marks_of("{", *calls.close), HEADER_LIMIT)
        alone = not source.rest.startswith("{")
        if alone:
            header = header.rstrip().removesuffix(self.tail)
        match = re.fullmatch(self.pattern, header, re.DOTALL)  # `re` keeps what it has compiled
        match = match or (_NAME.fullmatch(header) if alone else None)
        if not (match or alone):
            raise Refused
        call.named(match["name"] if match else "")
        if not alone:
            yield from arguments_alone(source, call, (*filter(None, (self.tail, *calls.close)),))
        elif call.schema.get("required"):
            call.drop()
        call.complete()
        if self.tail:
            yield from source.accept((self.tail,))
        return False
