"""JSON as replies carry it: bytes in, values out, and back without making it longer."""

import codecs
import json

_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"))


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
