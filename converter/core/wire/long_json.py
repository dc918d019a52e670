"""Long JSON, read and written by Python, because no other thread has its turn within a call of C.

On a busy machine C reads 4 MB of numbers in 0.2 seconds, and writes 4 MB of fractions in 0.5.
Python takes three times as long for an agent's request, and lets other threads have their turns.
Strings are read and written by C, whatever their length is.

Python's collector looks at all containers of the process in one call as well. So a text of more
containers than `CONTAINERS_LIMIT` is not read, nor one of more values than `COMMAS_LIMIT`.
"""

import codecs
import json
import re
from itertools import islice
from json.scanner import py_make_scanner  # type: ignore[attr-defined]

from converter.core.wire import json_text

LONG = 1 << 17
"""Characters of a text that is read without its containers and commas being counted."""
IN_C = 1 << 20
"""Characters of a text that one call of C reads: at most 25 milliseconds."""
CONTAINERS_LIMIT = 1 << 15
"""Objects and lists of a text: an agent's request of 4 MB has 4,000, and Python's collector looks
at so many in 50 milliseconds.
"""
COMMAS_LIMIT = 1 << 17
"""Commas between the values of a text: an agent's request of 4 MB has 15,000, and Python reads so
many values in 0.2 seconds.
"""
_MOST = 1 << 12
"""Values that one call of C writes: a millisecond."""
_BITS = 16
"""Bits of an integer that cost as much as a value, because the time for thousands of digits grows
with their square.
"""
_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{,])', re.DOTALL)
"""Strings, and the brackets and commas that stand in none."""


def _in_python(decoder: json.JSONDecoder) -> json.JSONDecoder:
    decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder


_READER = _in_python(json.JSONDecoder())
_STRICT_READER = _in_python(json.JSONDecoder(parse_constant=json_text.refuse))
_SPACED = json.JSONEncoder(ensure_ascii=False)
"""`json.dumps` makes one for each value."""


def scan_of(text: str) -> json_text.Scan:
    """Return the reader of the values in a text. Raises TooManyError."""
    check(text)
    return json_text.scan if len(text) <= IN_C else _READER.scan_once  # type: ignore[attr-defined]


def read(data: bytes) -> object:
    """Return what `json_text.read` returns. Raises UnreadableError."""
    if len(data) <= LONG:
        return json_text.read(data)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    check(text)
    if len(text) <= IN_C:
        return json_text.read(data)
    try:
        return _READER.decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise json_text.UnreadableError(str(error)) from None
    except ValueError:  # a number beyond all bounds
        return json_text.read(data)


def read_strictly(text: str) -> object:
    """Return what `json_text.read_strictly` returns for a text. Raises UnreadableError."""
    check(text)
    if len(text) <= IN_C:
        return json_text.read_strictly(text.encode(errors="surrogatepass"))
    try:
        text.encode()  # halves of characters are none
        return _STRICT_READER.decode(text)
    except (ValueError, RecursionError) as error:
        raise json_text.UnreadableError(str(error)) from None


class TooManyError(json_text.UnreadableError):
    """A text has more than `CONTAINERS_LIMIT` containers, or `COMMAS_LIMIT` commas."""


def check(text: str) -> None:
    """Raise TooManyError for a long text of too many containers or commas."""
    limits = (("[{", CONTAINERS_LIMIT), (",", COMMAS_LIMIT)) if len(text) > LONG else ()
    for marks, most in limits:
        if sum(map(text.count, marks)) > most:
            standing = (each for each in _MARKS.finditer(text) if each[1] and each[1] in marks)
            if any(islice(standing, most, None)):
                raise TooManyError(f"expected at most {most:,} of {marks!r}, got more")


def write(value: object) -> bytes:
    """Return what `json_text.write` returns."""
    if _is_small(value):
        return json_text.write(value)
    try:
        return "".join(json_text.WRITER.iterencode(value)).encode()
    except RecursionError:  # C goes deeper
        return json_text.write(value)
    except ValueError:
        return json_text.sendable("".join(json_text.LENIENT_WRITER.iterencode(value)))


def spaced(value: object) -> str:
    """Return a value as `json.dumps` writes it, with a blank behind each comma and colon: so models
    write the arguments of calls. Python writes a long one, piece by piece.
    """
    return _SPACED.encode(value) if _is_small(value) else "".join(_SPACED.iterencode(value))


def _is_small(value: object) -> bool:
    """Return True if one call may write a value; long strings take C no time."""
    values, waiting = 0, [value]
    while waiting and values <= _MOST:
        one = waiting.pop()
        values += 1
        if isinstance(one, dict):
            values += len(one)
            waiting += one.values() if values <= _MOST else ()
        elif isinstance(one, list | tuple):
            values += len(one)
            waiting += one if values <= _MOST else ()
        elif type(one) is int:
            values += one.bit_length() // _BITS
    return values <= _MOST
