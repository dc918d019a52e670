"""JSON values within a call: short strings, values as they are written, and arguments, which go on
as they come.
"""

import json
import re
from collections.abc import Sequence

from converter.core.reading.json_extent import JsonExtent
from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.source import (
    NAME_LIMIT,
    BrokenArguments,
    Refused,
    Source,
    Step,
)
from converter.core.wire.bounds import HELD_LIMIT
from converter.core.wire.json_reader import HIGH, LOW
from converter.core.wire.partial_json import PartialJson

_STRING = re.compile(r'((?:[^"\\]|\\.)*+)"', re.DOTALL)
ESCAPE = re.compile(rf'\\["\\/bfnrt]|{HIGH}{LOW}|(?!{HIGH})\\u[0-9a-fA-F]{{4}}')
_PIECE = re.compile(rf'[^"\\]+|{ESCAPE.pattern}')
ESCAPE_LENGTH = 12
"""Characters of a pair of escapes, which are one character together."""
BARE_LIMIT = 4096
"""Characters of a value without quotes and brackets."""
_BARE = re.compile(r'[^,}\]"]*+(?=[,}\]])')
_FIRSTS = ("{", "[", '"', "'")


def expect(source: Source, mark: str) -> Step[None]:
    """Take a mark. Raises Refused for other text."""
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


def arguments(source: Source, call: Call, close: Sequence[str] = ()) -> Step[None]:
    """Say arguments: an object, a string that holds one, or null."""
    mark, place = yield from source.ahead(("{", '"', "null"))
    source.take(place)
    if mark == "{":
        yield from object_of(source, call, close)
    elif mark == '"':
        source.take(1)
        yield from _object_in_string(source, call)
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
            yield None
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


def value_text(source: Source) -> Step[str]:
    """Take and return the value that comes next, as it is written."""
    if not (yield from source.ahead(_FIRSTS))[0]:
        return (yield from source.match(_BARE, BARE_LIMIT))[0]
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
