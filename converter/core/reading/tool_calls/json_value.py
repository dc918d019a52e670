"""JSON within a call: keys and short strings, values, and arguments, which go on as they come."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache, partial

from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.source import (
    NAME_LIMIT,
    BrokenArguments,
    Refused,
    Source,
    Step,
)
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.json_reader import HIGH, LOW, JsonReader, Part, Want
from converter.core.wire.partial_json import PartialJson

QUOTES = ('"', "'")
_ESCAPE = rf"{HIGH}{LOW}|(?!{HIGH})\\u[0-9a-fA-F]{{4}}|\\[^u]"
_PIECE = {quote: re.compile(rf"[^\\{quote}]+|{_ESCAPE}", re.DOTALL) for quote in QUOTES}
_NO_ESCAPE = re.compile(rf"{HIGH}|..", re.DOTALL)
_ESCAPE_LENGTH = 12
"""Characters of a pair of escapes, which are one character together."""


def _short(source: Source, behind: str, last: Part) -> Step[str]:
    """Take the JSON that comes next, up to a part; return the text that it says. `behind`: the JSON
    that it stands behind. Raises Refused, and takes nothing, for any other and beyond a name's end.
    """
    reader, said, place = JsonReader(Want.VALUE), "", 0
    _ = [*reader.feed(behind)]
    while True:
        held = len(reader.held)
        for part, words, end in reader.feed(source.rest[place:]):
            said += words
            length = place + end - held
            if part is Part.UNFIT or length > NAME_LIMIT + len('""'):
                raise Refused
            if part is last:
                source.take(length)
                return str(json.loads(said.removesuffix(":")))
        place = len(source.rest)
        yield from source.more(behind=place)


read_key = partial(_short, behind="{", last=Part.COLON)
"""Take and return the key that comes next, and its colon."""
read_string = partial(_short, behind="", last=Part.END)
"""Take and return the short string that comes next."""


def string_piece(source: Source, quote: str, wakes: str | None = None) -> Step[str]:
    """Return what comes next of a string, as it is written: words or one escape, nothing at its
    last quote. Take nothing.
    """
    while True:
        yield from source.more(wakes)
        rest = source.rest
        if rest[0] == quote:
            return ""
        if found := _PIECE[quote].match(rest):
            return found[0]
        known = len(rest) >= _ESCAPE_LENGTH or source.last
        if known and (escape := _NO_ESCAPE.match(rest)):
            return escape[0]
        if source.last:
            raise Refused
        yield None


def meaning(piece: str) -> str:
    """Return the text that a piece of a string says."""
    return _escaped(piece) if piece[0] == "\\" else piece


@lru_cache(maxsize=256)
def _escaped(piece: str) -> str:
    reader = JsonReader(Want.VALUE)
    return str(json.loads("".join(said for _, said, _ in reader.feed(f"'{piece}'"))))


def arguments(source: Source, call: Call, close: Sequence[str] = ()) -> Step[None]:
    """Say arguments: an object, a string that holds one, or null."""
    mark, place = yield from source.ahead(("{", *QUOTES, "null", "None"))
    source.take(place)
    if mark == "{":
        yield from object_of(source, call, close)
    elif mark in QUOTES:
        source.take(1)
        yield from _object_in_string(source, mark, call)
    elif mark:
        source.take(len(mark))
    else:
        raise Refused


def object_of(source: Source, call: Call, close: Sequence[str] = ()) -> Step[None]:
    """Say the object that comes next as the arguments, all but its last brace. `close`: the marks
    before which brackets may be missing.
    """
    checked = PartialJson()
    while not checked.complete:
        yield from source.more(checked.wakes)
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


def _object_in_string(source: Source, quote: str, call: Call) -> Step[None]:
    checked = PartialJson()
    while written := (yield from string_piece(source, quote)):
        _take_checked(source, written, meaning(written), checked, call)
    source.take(1)
    if checked.said and not checked.complete:
        raise Refused


def _take_checked(
    source: Source, written: str, text: str, checked: PartialJson, call: Call
) -> None:
    """Take what comes next, and say what it means, `text`, less the last brace.

    Raises BrokenArguments where it is no JSON, and takes no more than what is.
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


def read_value(source: Source, limit: int = HELD_LIMIT) -> Step[str]:
    """Take the value that comes next; return it as JSON. Raises BrokenArguments for text that is
    none, and beyond the limit.
    """
    reader, said, length = JsonReader(Want.VALUE), list[str](), 0
    while True:
        yield from source.more()
        held = len(reader.held)
        for part, words, end in reader.feed(source.rest):
            length += len(words)
            if part is Part.UNFIT or length > limit:
                begin = end - len(words)
                source.take(max(0, begin - held))
                raise BrokenArguments(words[: max(0, held - begin)])
            if part is Part.CLOSE and said[-1] == ",":
                said.pop()
            if part is not Part.BLANK:
                said.append(words)
            if reader.want is Want.NOTHING and not reader.quote:
                source.take(end - held)
                return "".join(said)
        source.take(len(source.rest))
