"""JSON as replies carry it: bytes in, values out, and back without making it longer."""

import codecs
import json


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
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
