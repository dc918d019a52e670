"""JSON as replies carry it: bytes in, values out, and back without making it longer."""

import codecs
import json
from collections.abc import Iterator

_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"))
_PIECE = 1 << 18
"""Characters of a string that are written at once: 1 millisecond."""
_DEPTH = 6
"""Depth to which a value is taken apart: a string in a part of a message stands in the fifth."""


class UnreadableError(ValueError):
    """The bytes are no JSON."""


def read(data: bytes) -> object:
    """Return the value; bytes that are no UTF-8 become U+FFFD, so that one bad byte costs one
    character, not a frame.

    Raises UnreadableError.
    """
    try:
        return json.loads(data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def readable(data: bytes) -> bool:
    """Tell whether the bytes are JSON."""
    try:
        read(data)
    except UnreadableError:
        return False
    return True


def write(value: object) -> bytes:
    """Return the value as compact UTF-8; half a surrogate pair, which JSON can escape and UTF-8
    cannot say, is escaped again.
    """
    try:
        return _WRITER.encode(value).encode()
    except UnicodeEncodeError:
        return _ASCII_WRITER.encode(value).encode()


def write_long(value: object) -> bytes:
    """Return what `write` does, in many short steps: other threads have their turn in between."""
    try:
        return "".join(_pieces(value, _DEPTH)).encode()
    except UnicodeEncodeError:
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
