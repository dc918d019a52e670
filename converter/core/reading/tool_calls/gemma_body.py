"""Calls as Gemma writes them: `call:NAME{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}`, and its
small models: `call:NAME(city="Oslo")`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.json_body import NAME_LIMIT
from converter.core.reading.tool_calls.python_body import arguments_of
from converter.core.reading.tool_calls.source import Refused, Source, Step, marks_of
from converter.core.reading.tool_calls.values import NESTED_LIMIT, Value, literal, typed

SCALAR_LIMIT = 4096
"""Characters of a bare value; strings have marks of their own."""
_NEXT = (",", "}", "]")
_ENDS = {"{": "}", "[": "]"}
_TYPES = frozenset({"null", "boolean", "number"})
_KEY = re.compile(r"""\s*+["']?([^"':,{}\[\]]++)["']?\s*+:""")
_SCALAR = re.compile(r"[^,}\]]*+(?=[,}\]])")


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
        call.say("{")
        yield from self._inside(source, call, calls.close, 0, "}")
        call.complete()
        return False

    def _inside(
        self, source: Source, call: Call, close: Sequence[str], depth: int, end: str
    ) -> Step[None]:
        """Read the members of an object, or the items of a list, up to its end, or up to the marks
        that close the call.
        """
        separator = ""
        while not (yield from source.accept(end)):
            if separator and not (yield from source.accept(",")):
                if not (close and (yield from source.ahead(close))[0]):
                    raise Refused
                return
            name = literal((yield from self._key(source))) + ": " if end == "}" else ""
            if name:
                call.begin()
            call.say(separator + name)
            yield from self._value(source, call, close, depth)
            separator = ", "

    def _key(self, source: Source) -> Step[str]:
        if (yield from source.accept((self.quote,))):
            name, _ = yield from source.short(marks_of(self.quote), NAME_LIMIT)
            if not (yield from source.accept(":")):
                raise Refused
            return name
        return (yield from source.match(_KEY, NAME_LIMIT))[1].rstrip()

    def _value(self, source: Source, call: Call, close: Sequence[str], depth: int) -> Step[None]:
        if depth > NESTED_LIMIT:
            raise Refused
        mark = yield from source.accept((self.quote, "{", "["))
        if end := _ENDS.get(mark):
            call.say(mark)
            yield from self._inside(source, call, close, depth + 1, end)
            call.say(end)
        elif mark:
            words = Value(frozenset(), call.say)
            if not (yield from source.until(marks_of(self.quote), words.feed, (*_NEXT, *close))):
                raise Refused
            words.close()
        else:
            scalar = yield from source.match(_SCALAR, SCALAR_LIMIT)
            call.say(typed(scalar[0].strip(), _TYPES))
