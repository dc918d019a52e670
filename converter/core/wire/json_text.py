"""JSON as replies carry it: bytes in, values out, and back without making it longer.

`read_strictly` takes what every client can read, `read` what Python can, and `rescue` all that has
a clear meaning. None of them raises anything but UnreadableError, whatever the bytes.
"""

import codecs
import json
import re
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import NoReturn

from converter.core.wire.bounds import DEEPEST

_LONGEST_NUMBER = 4300
"""Digits that Python reads as one number; longer ones raise."""
_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|,(?=\s*[\]}])|[\[\]{}]', re.DOTALL)
"""Strings, which are stepped over, a last one without its end as well, because its escaped quotes
would each be looked behind; commas before an end; brackets.
"""
_LEFT_OVER = " \t\r\n,;]}"
"""Characters that may follow a value and mean nothing."""


class UnreadableError(ValueError):
    """The bytes are no JSON."""


def refuse(name: str) -> NoReturn:
    """Raise ValueError for a number of Python's."""
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# `_WRITER.encode` makes one for each value: 2.0 microseconds in place of 0.8
_ENCODER = c_make_encoder(None, _WRITER.default, encode_basestring, None, ":", ",", *[False] * 3)
_LENIENT_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_NO_NUMBERS = re.compile(r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN')
_READER = json.JSONDecoder()
scan: Callable[[str, int], tuple[object, int]] = _READER.scan_once  # type: ignore[attr-defined]
"""Return the value at an index of a text, and the index behind it. Raises StopIteration where none
stands there, ValueError and RecursionError.
"""
_READER_OF_LONG_NUMBERS = json.JSONDecoder(parse_int=_integer)
"""It calls Python for each integer: three times as long for a list of them."""
_STRICT_READER = json.JSONDecoder(parse_constant=refuse)
strict_scan = _STRICT_READER.scan_once  # type: ignore[attr-defined]
_RESCUER = json.JSONDecoder(parse_int=_integer, parse_constant=lambda _: None, strict=False)


def read(data: bytes) -> object:
    """Return the value; bytes that are no UTF-8 become U+FFFD, so that one bad byte costs one
    character, not a frame. A number beyond all bounds is infinite.

    Raises UnreadableError.
    """
    try:
        return _decoded(_READER, data, "replace")
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
    except ValueError:
        return _read(_READER_OF_LONG_NUMBERS, data, "replace")


def read_or_none(data: bytes) -> object:
    """Return the value, None for bytes that are no JSON."""
    try:
        return read(data)
    except UnreadableError:
        return None


def as_object(value: object) -> dict[str, object]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def object_in(data: bytes | str) -> dict[str, object]:
    """Return the object in JSON, an empty one for any other value and for what is no JSON."""
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    return as_object(read_or_none(raw))


def objects(value: object) -> list[dict[str, object]]:
    """Return the objects in a list, none of what is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_strictly(data: bytes) -> object:
    """Return the value of what any client's parser takes: UTF-8, no bare control characters, no
    NaN, no number that Python cannot read.

    Raises UnreadableError.
    """
    return _read(_STRICT_READER, data, "strict")


def _read(reader: json.JSONDecoder, data: bytes, errors: str) -> object:
    try:
        return _decoded(reader, data, errors)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def rescue(data: bytes) -> object:
    """Return the value of JSON with mistakes that leave one meaning.

    Such mistakes are bare control characters in strings, NaN, numbers without end, a comma before a
    closing bracket, and a bracket too many. A value of endless depth becomes null. Raises
    UnreadableError.
    """
    text = _pruned(_text(data).lstrip())
    try:
        value, end = _RESCUER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
    if text[end:].strip(_LEFT_OVER):
        raise UnreadableError(f"more follows at character {end}")
    return value


def _decoded(reader: json.JSONDecoder, data: bytes, errors: str) -> object:
    return reader.decode(_text(data, errors))


def _text(data: bytes, errors: str = "replace") -> str:
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors)


def _pruned(text: str) -> str:
    """Return the text without commas before an end, and with null for values that are too deep."""
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


def readable(data: bytes, reader: Callable[[bytes], object] = read) -> bool:
    """Return True if the bytes are JSON, as this reader takes it."""
    try:
        reader(data)
    except UnreadableError:
        return False
    return True


def write(value: object) -> bytes:
    """Return the value as compact UTF-8. Half a surrogate pair, which JSON can escape and UTF-8
    cannot say, is U+FFFD; a number that JSON cannot say is null, as JavaScript writes it.
    """
    try:
        return "".join(_ENCODER(value, 0)).encode()
    except ValueError:  # UnicodeEncodeError is one
        return whole_characters(_with_nulls(_LENIENT_WRITER.encode(value))).encode()


def whole_characters(text: str) -> str:
    """Return the text with U+FFFD for each half of a surrogate pair that lacks the other one. A
    codec is faster, but does a long text in one call of C, in which no other thread has its turn.
    """
    return _HALVES.sub(
        lambda each: each[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"),
        text,
    )


def _with_nulls(text: str) -> str:
    return _NO_NUMBERS.sub(lambda match: match["string"] or "null", text)
