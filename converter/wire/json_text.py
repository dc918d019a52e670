"""JSON as replies carry it: bytes in, values out, and back without making it longer.

`read_strictly` takes what every client can read, `read` what Python can, and `rescue` all that has
a clear meaning. None of them raises anything but UnreadableError, whatever the bytes.

Within `in_short_steps` what is long is read and written in such (`converter.wire.long_json`).
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

from converter.wire import long_json
from converter.wire.bounds import DEEPEST

LONG = 1 << 17
"""Bytes that are read at once in any case: some milliseconds."""
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


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _nothing(_: str) -> None:
    """Return JavaScript's word for a number that is none."""


_IN_SHORT_STEPS: ContextVar[bool] = ContextVar("in_short_steps", default=False)
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"))
_NO_NUMBERS = re.compile(r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN')
_READER = json.JSONDecoder()
_READER_OF_LONG_NUMBERS = json.JSONDecoder(parse_int=_integer)
"""It calls Python for each integer: three times as long for a list of them."""
_STRICT_READER = json.JSONDecoder(parse_constant=_refuse)
_RESCUER = json.JSONDecoder(parse_int=_integer, parse_constant=_nothing, strict=False)


@contextmanager
def in_short_steps() -> Iterator[None]:
    """Have long values be read and written so that other threads get their turn."""
    before = _IN_SHORT_STEPS.set(True)
    try:
        yield
    finally:
        _IN_SHORT_STEPS.reset(before)


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
        return _read_with_long_numbers(data)


def _read_with_long_numbers(data: bytes) -> object:
    try:
        return _decoded(_READER_OF_LONG_NUMBERS, data, "replace")
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
        return _decoded(_STRICT_READER, data, "strict")
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


def _decoded(reader: json.JSONDecoder, data: bytes, errors: str) -> object:
    text = _text(data, errors)
    if len(text) > LONG and _IN_SHORT_STEPS.get():
        return long_json.read(text, reader)
    return reader.decode(text)


def _text(data: bytes, errors: str = "replace") -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    if len(data) <= LONG or data.isascii() or not _IN_SHORT_STEPS.get():
        return data.decode("utf-8", errors)
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    pieces = [decoder.decode(data[at : at + LONG]) for at in range(0, len(data), LONG)]
    return "".join([*pieces, decoder.decode(b"", final=True)])


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
    pieces = long_json.pieces if _IN_SHORT_STEPS.get() else _one_piece
    try:
        return b"".join([piece.encode() for piece in pieces(value, _WRITER.encode)])
    except ValueError:  # UnicodeEncodeError is one
        return b"".join([piece.encode() for piece in pieces(value, _in_ascii)])


def _one_piece(value: object, encode: long_json.Encode) -> Iterable[str]:
    return (encode(value),)


def _in_ascii(value: object) -> str:
    return _NO_NUMBERS.sub(_or_null, _ASCII_WRITER.encode(value))


def _or_null(match: re.Match[str]) -> str:
    return match["string"] or "null"
