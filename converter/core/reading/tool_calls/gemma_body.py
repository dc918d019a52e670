"""Calls as Gemma writes them: `call:NAME{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}`, and its
small models: `call:NAME(city="Oslo")`. Strings may stand in ordinary quotes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from converter.core.calls.schema_values import literal, typed
from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.json_value import QUOTES, meaning, string_piece
from converter.core.reading.tool_calls.python_body import arguments_of, say
from converter.core.reading.tool_calls.source import (
    BLANKS,
    NOT_AS_IS,
    BrokenArguments,
    Refused,
    Source,
    Step,
)
from converter.core.reading.tool_calls.values import NESTED_LIMIT, Value

_NEXT = (",", "}", "]")
_ENDS = {"{": "}", "[": "]"}
_TYPES = frozenset({"null", "boolean", "number"})
_KEY = re.compile(r"""\s*+["']?([^"':,{}\[\]]++)["']?\s*+:""")
_UNOPENED = re.compile(r"""[^:{}\[\]"'<]+""")
BARE_LIMIT = 4096
"""Characters of a value without quotes and brackets."""
_BARE = re.compile(r"[^,}\]]*+(?=[,}\]])")


@dataclass(frozen=True, slots=True)
class Gemma:
    """`quote`: the mark on both sides of a string."""

    quote: str
    heads: Sequence[str] = ("call:", "call ", ":")

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        call.named((yield from source.before(("{", "("))))
        mark = source.take(1)
        nexts = (*calls.close, *self.heads)
        if mark == "(":
            arguments = yield from arguments_of(source, self.quote)
            yield from _nothing_behind(source, nexts)
            say(call, arguments)
            return False
        call.say("{")
        yield from self._inside(source, call, calls.close, 0, "}")
        yield from _nothing_behind(source, nexts)
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
            name = yield from source.short(self.quote)
            if not (yield from source.accept(":")):
                raise Refused
            return name
        return (yield from source.match(_KEY))[1].rstrip()

    def _value(self, source: Source, call: Call, close: Sequence[str], depth: int) -> Step[None]:
        if depth > NESTED_LIMIT:
            raise Refused
        mark = yield from source.accept((self.quote, "{", "[", *QUOTES))
        if end := _ENDS.get(mark):
            call.say(mark)
            yield from self._inside(source, call, close, depth + 1, end)
            call.say(end)
        elif mark or (yield from self._lacks_opener(source)):
            words, behind = Value(frozenset(), call.say), (*_NEXT, *close)
            if mark in QUOTES:
                yield from _quoted(source, mark, words, behind)
            elif not (yield from self._string(source, words, behind)):
                raise Refused
            words.close()
        else:
            scalar = yield from source.match(_BARE, BARE_LIMIT)
            call.say(typed(scalar[0].strip(), _TYPES))

    def _string(self, source: Source, words: Value, behind: Sequence[str]) -> Step[str]:
        """Read a string up to the mark behind which the form goes on, and return it. The token of
        Gemma 4's mark stands for quotation marks within the string as well.
        """
        ends = {self.quote: partial(source.followed_by, behind)}
        within = '"' if '"' in self.quote else ""
        return source.until(ends, words.feed, as_is=words.goes_on, within=within)

    def _lacks_opener(self, source: Source) -> Step[bool]:
        """Tell whether a value is a string whose first mark was left out, as Gemma 4 does in some
        of its calls: its last one comes before anything that ends or begins a value.
        """
        while True:
            found = _UNOPENED.match(source.rest)
            end = found.end() if found else 0
            is_over = source.last or end < len(source.rest) or end > BARE_LIMIT
            if is_over and (mark := source.look_at((self.quote,), end)) is not None:
                return bool(mark[0]) and not source.rest[:end].rstrip(BLANKS).endswith(",")
            yield None


def _nothing_behind(source: Source, nexts: Sequence[str]) -> Step[None]:
    """Raise BrokenArguments for text behind a call that belongs to it: an object, or anything but
    `nexts` and a mark behind a comma. The bracket may have stood too early.
    """
    mark, place = yield from source.ahead((*nexts, "{"), BLANKS + ",")
    more = "," in source.rest[:place] and source.rest[place : place + 1] not in ("", "<")
    if mark == "{" or (more and not mark):
        raise BrokenArguments


def _quoted(source: Source, quote: str, words: Value, behind: Sequence[str]) -> Step[None]:
    """Read a string in ordinary quotes, whose first has been taken. The last is the one behind
    which the form goes on, as `behind` tells.
    """
    while True:
        wakes = quote + NOT_AS_IS if words.goes_on() else None
        if piece := (yield from string_piece(source, quote, wakes)):
            words.feed(meaning(source.take(len(piece))))
            continue
        place = source.behind_closers(1, BLANKS)
        mark = None if place is None else source.look_at(behind, place)
        if mark is None:
            yield None
            continue
        taken = source.take(1)
        if mark[0]:
            return
        words.feed(taken)
