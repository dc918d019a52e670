"""Calls as Gemma writes them: `call:NAME{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}`, and its
small models: `call:NAME(city="Oslo")`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from converter.parsing.tool_calls.call import Call, Calls
from converter.parsing.tool_calls.json_body import NAME_LIMIT
from converter.parsing.tool_calls.python_body import arguments_of
from converter.parsing.tool_calls.source import Refused, Source, Step
from converter.parsing.tool_calls.tag_body import marks_of
from converter.parsing.tool_calls.values import NESTED_LIMIT, StringValue, literal, typed

SCALAR_LIMIT = 4096
"""Characters of a bare value; strings have marks of their own."""
_NEXT = (",", "}", "]")
_TYPES = frozenset({"null", "boolean", "number"})
_KEY = re.compile(r"""\s*+["']?([^"':,{}\[\]]++)["']?\s*+:""")
_SCALAR_END = re.compile(r"[,}\]]")


@dataclass(frozen=True, slots=True)
class Gemma:
    """`quote`: the mark on both sides of a string."""

    quote: str
    heads: Sequence[str] = ("call:", "call ")

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        name, mark = yield from source.short(marks_of("{", "("), NAME_LIMIT)
        call.named(name)
        if mark == "(":
            yield from arguments_of(source, call)
            return False
        yield from self._members(source, call, calls.close, 0)
        call.complete()
        return False

    def _members(self, source: Source, call: Call, close: Sequence[str], depth: int) -> Step[None]:
        """Read the members of an object up to its brace, or up to the marks that close the call;
        the outermost object's brace is not said.
        """
        call.say("{")
        separator = ""
        while not (yield from source.accept("}")):
            if separator and not (yield from source.accept(",")):
                yield from _closed(source, close)
                break
            name = yield from self._key(source)
            call.begin()
            call.say(f"{separator}{literal(name)}: ")
            yield from self._value(source, call, close, depth)
            separator = ", "
        call.say("}" if depth else "")

    def _key(self, source: Source) -> Step[str]:
        if (yield from source.accept((self.quote,))):
            name, _ = yield from source.short(marks_of(self.quote), NAME_LIMIT)
            if not (yield from source.accept(":")):
                raise Refused
            return name
        while not (match := _KEY.match(source.rest)):
            if source.last or len(source.rest) > NAME_LIMIT:
                raise Refused
            yield
        if match.end() > NAME_LIMIT:
            raise Refused
        source.take(match.end())
        return match[1].rstrip()

    def _value(self, source: Source, call: Call, close: Sequence[str], depth: int) -> Step[None]:
        if depth > NESTED_LIMIT:
            raise Refused
        mark = yield from source.accept((self.quote, "{", "["))
        if mark == "{":
            yield from self._members(source, call, close, depth + 1)
        elif mark == "[":
            yield from self._items(source, call, close, depth + 1)
        elif mark:
            words = StringValue(call.say)
            if not (yield from source.until(marks_of(self.quote), words.feed, (*_NEXT, *close))):
                raise Refused
            words.close()
        else:
            yield from _scalar(source, call)

    def _items(self, source: Source, call: Call, close: Sequence[str], depth: int) -> Step[None]:
        call.say("[")
        separator = ""
        while not (yield from source.accept("]")):
            if separator and not (yield from source.accept(",")):
                yield from _closed(source, close)
                break
            call.say(separator)
            yield from self._value(source, call, close, depth)
            separator = ", "
        call.say("]")


def _closed(source: Source, close: Sequence[str]) -> Step[None]:
    """Look for a mark that closes the call: all that is open ends there."""
    if not (close and (yield from source.ahead(close))[0]):
        raise Refused


def _scalar(source: Source, call: Call) -> Step[None]:
    while not (match := _SCALAR_END.search(source.rest)):
        if source.last or len(source.rest) > SCALAR_LIMIT:
            raise Refused
        yield
    if match.start() > SCALAR_LIMIT:
        raise Refused
    call.say(typed(source.take(match.start()).strip(), _TYPES))
