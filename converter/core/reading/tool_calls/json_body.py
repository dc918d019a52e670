"""Calls written as JSON: an object with a name and arguments, or a list of such objects.

The keys come in any order; arguments go on as they come once the name is known. Arguments may be
an object or, as chat completions have them, a string that holds one. `members` has the rules for
what stands elsewhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from converter.core.reading.json_extent import HEADER_LIMIT
from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.json_value import QUOTES, arguments, object_of, read_key
from converter.core.reading.tool_calls.members import NAMED, NAMED_BY_KEY, Members
from converter.core.reading.tool_calls.source import BLANKS, Refused, Source, Step

_NAME = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")


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
        names = NAMED_BY_KEY if self.name_is_key else NAMED
        members = Members(source, call, close, self.strict, names=names)
        if self.name_is_key:
            source.take((yield from source.ahead(QUOTES))[1])
            call.named((yield from read_key(source)))
            yield from arguments(source, call)
            if not (yield from source.accept("}")):
                raise Refused
            members.argued = members.wholly = True
        else:
            yield from members.read()
        if not (call.name or call.refused) or (self.strict and not members.argued):
            raise Refused
        if not self.strict:
            yield from members.beyond()
        members.settle()
        call.complete()


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
        header = yield from source.before(("{", *calls.close), HEADER_LIMIT)
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


def arguments_alone(source: Source, call: Call, close: Sequence[str]) -> Step[None]:
    """Say the arguments of a call whose name stands before them, which are an object."""
    yield from object_of(source, call, close)
    members = Members(source, call, close, argued=True, wholly=True)
    yield from members.beyond()
    members.settle()
