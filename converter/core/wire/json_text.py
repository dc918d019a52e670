"""Reads JSON as values (`read`, `read_or_none`, `object_in`), writes values as JSON (`write`), and
returns the objects in values of any type (`as_object`, `objects`).

There are three readers. `read_strictly` reads only valid JSON, `read` also `NaN`, integers of
any length and bytes that are not UTF-8, and `rescue` also JSON with common mistakes. They raise no
exception but UnreadableError, whatever the bytes are.
"""

import codecs
import json
import re
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import NoReturn

from converter.core.wire.bounds import DEEPEST

_LONGEST_NUMBER = 4300
"""The most digits of an integer that Python's `int` reads; for more, it raises ValueError."""
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|,(?=\s*[\]}])|[\[\]{}]', re.DOTALL)
"""The pattern of a bracket, of a comma before a closing bracket, or of a whole string. Strings are
matched so that brackets and commas in them are skipped. The last string may lack its closing quote:
else the search would begin again at each escaped quote in it, which is slow.
"""
_LEFT_OVER = " \t\r\n,;]}"
"""Characters that `rescue` ignores behind the JSON, because servers write them there by mistake."""


class UnreadableError(ValueError):
    """The error for bytes that are not JSON, or JSON that a reader refuses."""


def refuse(name: str) -> NoReturn:
    """Raise ValueError for a number such as `NaN`, which is not JSON although Python reads it."""
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> float:
    """Return the integer that is written as `digits`; as a float if `int` cannot read so many
    digits.
    """
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""The encoder of JSON without blanks. It raises ValueError for `NaN` and infinite numbers."""
# The encoder of `write`. `WRITER.encode` would make such an encoder at each call, and so take 2.0
# microseconds for a short value instead of 0.8.
_ENCODER = c_make_encoder(None, WRITER.default, encode_basestring, None, ":", ",", *[False] * 3)
LENIENT_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""The encoder of JSON without blanks that, unlike `WRITER`, writes `NaN` and infinite numbers, as
Python does: `NaN`, `Infinity`.
"""
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
"""The pattern of the two halves of a surrogate pair in a row, or of a half that stands alone."""
_STRING_OR_NAN = re.compile(r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN')
"""The pattern of a number that JSON lacks (`NaN`, `Infinity`), or of a string with its quotes.
Strings are matched so that they can stay as they are (`"NaN"`); only they are in the group.
"""
_READER = json.JSONDecoder()
"""Python's reader of JSON with its default settings. It also reads `NaN` and `Infinity`, but no
integer of more than 4,300 digits.
"""
type Scan = Callable[[str, int], tuple[object, int]]
scan: Scan = _READER.scan_once  # type: ignore[attr-defined]
"""`scan(text, index)` returns the JSON value that begins at the index of the text, and the index
behind the value. It reads what `_READER` reads, and raises StopIteration if no value begins there,
RecursionError if the value has too many levels, and ValueError for any other value.
"""
_READER_OF_LONG_NUMBERS = json.JSONDecoder(parse_int=_integer)
"""A reader that, unlike `_READER`, also reads integers of more than 4,300 digits, as floats. It is
used only if `_READER` fails, because it takes three times as long for each integer.
"""
_STRICT_READER = json.JSONDecoder(parse_constant=refuse)
"""A reader that, unlike `_READER`, refuses `NaN` and `Infinity`."""
_RESCUER = json.JSONDecoder(parse_int=_integer, parse_constant=lambda _: None, strict=False)
"""A reader that, unlike `_READER`, also reads integers of any length and control characters in
strings. `NaN` and `Infinity` become `None`.
"""


def read(data: bytes) -> object:
    """Return the value of the JSON in `data`. Raises UnreadableError.

    Bytes that are not UTF-8 become U+FFFD, so that only a character is lost and not a whole frame.
    An integer of more than 4,300 digits becomes a float. A number that is too large for a float
    (`1e999`) becomes infinite.
    """
    try:
        return _decoded(_READER, data, "replace")
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
    except ValueError:
        return _read(_READER_OF_LONG_NUMBERS, data, "replace")


def read_or_none(data: bytes) -> object:
    """Return the value of the JSON in `data`; `None` if the bytes are not JSON, or are `null`."""
    try:
        return read(data)
    except UnreadableError:
        return None


def as_object(value: object) -> dict[str, object]:
    """Return `value` if it is a JSON object; else an empty object."""
    return value if isinstance(value, dict) else {}


def object_in(data: bytes | str) -> dict[str, object]:
    """Return the JSON object in `data`; an empty object if `data` is another value or not JSON."""
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    return as_object(read_or_none(raw))


def objects(value: object) -> list[dict[str, object]]:
    """Return the objects in the list `value`, without its other elements; an empty list if `value`
    is not a list.
    """
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_strictly(data: bytes) -> object:
    """Return the value of the JSON in `data`, if strict clients can read it too. Raises
    UnreadableError for all other bytes.

    Bytes that are not UTF-8, `NaN`, `Infinity` and integers of more than 4,300 digits are refused.
    A byte order mark before the JSON is not.
    """
    return _read(_STRICT_READER, data, "strict")


def _read(reader: json.JSONDecoder, data: bytes, errors: str) -> object:
    """Return the value that `reader` reads in `data`. Raises UnreadableError. `errors`: what is
    done about bytes that are not UTF-8 (`replace`, `strict`), as in `bytes.decode`.
    """
    try:
        return _decoded(reader, data, errors)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def rescue(data: bytes) -> object:
    """Return the value of the JSON in `data`, even if it has some common mistakes. Raises
    UnreadableError for any others.

    The mistakes are control characters in strings, `NaN` (which becomes `None`), integers that are
    too long for Python, bytes that are not UTF-8, a comma before a closing bracket, and closing
    brackets, commas or semicolons too many at the end. An object or list that lies deeper than
    `DEEPEST` levels becomes `None`.
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
    """Return the value that `reader` reads in `data`. Raises what `reader` raises. `errors`: what
    is done about bytes that are not UTF-8, as in `bytes.decode`.
    """
    return reader.decode(_text(data, errors))


def _text(data: bytes, errors: str = "replace") -> str:
    """Return `data` as text, without a byte order mark. `errors`: what is done about bytes that are
    not UTF-8 (`replace`, `strict`), as in `bytes.decode`.
    """
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors)


def _pruned(text: str) -> str:
    """Return JSON text without commas before closing brackets. An object or list that lies deeper
    than `DEEPEST` levels is replaced by `null`.
    """
    kept: list[str] = []
    depth, at = 0, 0
    for piece in _TOKENS.finditer(text):
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
    """Return True if `reader` can read the JSON in `data`, without an UnreadableError."""
    try:
        reader(data)
    except UnreadableError:
        return False
    return True


def write(value: object) -> bytes:
    """Return the JSON of a value, without blanks, in UTF-8.

    Half a surrogate pair that stands alone becomes U+FFFD, because UTF-8 cannot express it. `NaN`
    and infinite numbers become `null`, as in JavaScript.
    """
    try:
        return "".join(_ENCODER(value, 0)).encode()
    except ValueError:  # `NaN`, infinity, or half a surrogate pair (UnicodeEncodeError)
        return sendable(LENIENT_WRITER.encode(value))


def sendable(text: str) -> bytes:
    """Return valid JSON in UTF-8 for `text`, which `LENIENT_WRITER` has written. `null` replaces
    `NaN` and infinite numbers. Halves of surrogate pairs are replaced as in `whole_characters`.
    """
    with_nulls = _STRING_OR_NAN.sub(lambda match: match["string"] or "null", text)
    return whole_characters(with_nulls).encode()


def whole_characters(text: str) -> str:
    """Return the text without halves of characters: the two halves of a surrogate pair in a row
    become their character, and a half that stands alone becomes U+FFFD.

    One call of `str.encode` for the whole text would be faster. But no other thread can run during
    a call of C code, and so a call is made for each half or pair.
    """
    return _HALVES.sub(
        lambda each: each[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"),
        text,
    )
