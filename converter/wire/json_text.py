"""JSON as replies carry it: bytes in, values out, and back without making it longer.

`read_strictly` takes what every client can read, `read` what Python can, and `rescue` all that has
a clear meaning. None of them raises anything but UnreadableError, whatever the bytes.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import NoReturn

DEEPEST = 100
"""Objects and lists within each other that a rescued value keeps; a reply has about ten, and
parsers of clients give up between 500 and 10,000.
"""
_PIECE = 1 << 18
"""Characters of a string that are written at once: 1 millisecond."""
_DEPTH = 6
"""Depth to which a value is taken apart: a string in a part of a message stands in the fifth."""
_LONGEST_NUMBER = 4300
"""Digits that Python reads as one number; longer ones raise."""
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*+"|,(?=\s*[\]}])|[\[\]{}]', re.DOTALL)
"""Strings, which are stepped over; commas before an end; what opens and closes."""
_LEFT_OVER = " \t\r\n,;]}"
"""What may follow a value and mean nothing."""


class UnreadableError(ValueError):
    """The bytes are no JSON."""


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _nothing(_: str) -> None:
    """Return what JavaScript writes for a number that is none."""


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"))
_NO_NUMBERS = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|-?Infinity|NaN')
_READER = json.JSONDecoder(parse_int=_integer)
_STRICT_READER = json.JSONDecoder(parse_constant=_refuse)
_RESCUER = json.JSONDecoder(parse_int=_integer, parse_constant=_nothing, strict=False)


def read(data: bytes) -> object:
    """Return the value; bytes that are no UTF-8 become U+FFFD, so that one bad byte costs one
    character, not a frame. A number beyond all bounds is infinite.

    Raises UnreadableError.
    """
    try:
        return _READER.decode(_text(data))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def read_or_none(data: bytes) -> object:
    """Return the value, None for bytes that are no JSON."""
    try:
        return read(data)
    except UnreadableError:
        return None


def read_strictly(data: bytes) -> object:
    """Return the value of what any client's parser takes: UTF-8, no bare control characters, no
    NaN, no number that Python cannot read.

    Raises UnreadableError.
    """
    try:
        return _STRICT_READER.decode(data.removeprefix(codecs.BOM_UTF8).decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def rescue(data: bytes) -> object:
    """Return the value of JSON that is not quite JSON, but has one meaning: bare control characters
    in strings, NaN, numbers without end, a comma before an end, an end too many, a value of endless
    depth (which becomes null).

    Raises UnreadableError.
    """
    text = _pruned(_text(data).lstrip())
    try:
        value, end = _RESCUER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
    if text[end:].strip(_LEFT_OVER):
        raise UnreadableError(f"more follows at character {end}")
    return value


def _text(data: bytes) -> str:
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def _pruned(text: str) -> str:
    """Return the text without commas before an end, and with null for what is too deep."""
    kept: list[str] = []
    depth, at = 0, 0
    for piece in _MARKS.finditer(text):
        mark = piece[0]
        depth += (mark in "[{") - (mark in "]}")
        if mark in "[{" and depth == DEEPEST + 1:
            kept += (text[at : piece.start()], "null")
        elif mark == "," and depth <= DEEPEST:
            kept.append(text[at : piece.start()])
            at = piece.end()
        elif mark in "]}" and depth == DEEPEST:
            at = piece.end()
    return "".join([*kept, text[at:]])


def readable(data: bytes) -> bool:
    """Tell whether the bytes are JSON."""
    try:
        read(data)
    except UnreadableError:
        return False
    return True


def is_strict(data: bytes) -> bool:
    """Tell whether any client's parser takes the bytes."""
    try:
        read_strictly(data)
    except UnreadableError:
        return False
    return True


def write(value: object) -> bytes:
    """Return the value as compact UTF-8. Half a surrogate pair, which JSON can escape and UTF-8
    cannot say, is escaped again; a number that JSON cannot say is null, as JavaScript writes it.
    """
    try:
        return _WRITER.encode(value).encode()
    except ValueError:  # UnicodeEncodeError is one
        return _NO_NUMBERS.sub(_or_null, _ASCII_WRITER.encode(value)).encode()


def _or_null(found: re.Match[str]) -> str:
    return found["string"] or "null"


def write_long(value: object) -> bytes:
    """Return what `write` does, in many short steps: other threads have their turn in between."""
    try:
        return "".join(_pieces(value, _DEPTH)).encode()
    except ValueError:
        return write(value)


def _pieces(value: object, depth: int) -> Iterator[str]:
    match value:
        case str() if len(value) > _PIECE:
            yield '"'
            for at in range(0, len(value), _PIECE):
                yield _WRITER.encode(value[at : at + _PIECE])[1:-1]
            yield '"'
        case dict() if depth and value:
            for at, (name, inner) in enumerate(value.items()):
                yield ("," if at else "{") + _WRITER.encode(str(name)) + ":"
                yield from _pieces(inner, depth - 1)
            yield "}"
        case list() | tuple() if depth and value:
            for at, inner in enumerate(value):
                yield "," if at else "["
                yield from _pieces(inner, depth - 1)
            yield "]"
        case _:
            yield _WRITER.encode(value)
