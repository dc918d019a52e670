"""Reads and writes JSON that may be long (`read`, `write`), as `json_text` does, and writes it with
blanks, as models do (`spaced`). Long JSON is read and written by the `json` module's Python code,
not its C code, so that other threads can run.

No other thread can run during a call of C code. On a busy machine, one call reads 4 MB of numbers
in 0.2 seconds and writes 4 MB of fractions in 0.5 seconds. The Python code takes three times as
long for an agent's request. Strings are always read and written by C code.

Python's garbage collector, too, is C code: in one call, it visits all objects and lists of the
process. So text with more than `CONTAINERS_LIMIT` objects and lists is refused (`TooManyError`),
and also text with more than `COMMAS_LIMIT` commas between values.
"""

import codecs
import json
import re
from itertools import islice
from json.scanner import py_make_scanner  # type: ignore[attr-defined]

from converter.core.wire import json_text

LONG = 1 << 17
"""The most characters of a text that is never refused as too much (`TooManyError`). In a longer
text, objects, lists and commas are counted, and it is refused if they are more than the limits
below.
"""
IN_C = 1 << 20
"""The most characters of a text that is read by one call of C code. The call takes at most 25
milliseconds. A longer text is read by Python code.
"""
CONTAINERS_LIMIT = 1 << 15
"""The most objects and lists that a text may have. An agent's request of 4 MB has 4,000. Python's
garbage collector visits 32,768 objects and lists in 50 milliseconds.
"""
COMMAS_LIMIT = 1 << 17
"""The most commas between values that a text may have. An agent's request of 4 MB has 15,000. The
Python code reads the values of a text with 131,072 commas in 0.2 seconds.
"""
_MOST_VALUES = 1 << 12
"""The most values that one call of C code may write, as `_is_small` counts them. The call takes
about a millisecond.
"""
_BITS_PER_VALUE = 16
"""A long integer counts as several values: one more for each 16 of its bits. The time to write an
integer grows with the square of its length.
"""
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{,])', re.DOTALL)
"""The pattern of a whole string, or of an opening bracket or a comma outside of strings. Only the
bracket or comma is in its group.
"""


def _in_python(decoder: json.JSONDecoder) -> json.JSONDecoder:
    """Change `decoder` so that it reads by Python code instead of C code, and return it."""
    decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder


_READER = _in_python(json.JSONDecoder())
"""A reader with the settings of `json_text`'s first reader, the defaults of Python's `json`, but in
Python code.
"""
_STRICT_READER = _in_python(json.JSONDecoder(parse_constant=json_text.refuse))
"""A reader in Python code that, unlike `_READER`, refuses `NaN` and `Infinity`."""
_SPACED = json.JSONEncoder(ensure_ascii=False)
"""The encoder of `spaced`. It is kept because `json.dumps` makes a new encoder for each value."""


def scan_of(text: str) -> json_text.Scan:
    """Return the function that reads a value at an index of this text. It is C code; for a text of
    more than `IN_C` characters, Python code. Raises TooManyError if the text has too many values.
    """
    check(text)
    return json_text.scan if len(text) <= IN_C else _READER.scan_once  # type: ignore[attr-defined]


def read(data: bytes) -> object:
    """Return the same value as `json_text.read`, but read JSON of more than `IN_C` characters by
    Python code, so that other threads can run. (JSON with an integer of more than 4,300 digits is
    read by C code.) Raises UnreadableError, and TooManyError (a kind of it) for too many values.
    """
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
    except ValueError:  # an integer has too many digits for Python: `json_text.read` can read it
        return json_text.read(data)


def read_strictly(text: str) -> object:
    """Return the same value as `json_text.read_strictly`, but read JSON of more than `IN_C`
    characters by Python code, so that other threads can run. Raises UnreadableError, and
    TooManyError (a kind of it) for too many values.
    """
    check(text)
    if len(text) <= IN_C:
        return json_text.read_strictly(text.encode(errors="surrogatepass"))
    try:
        text.encode()  # raises ValueError for half a surrogate pair, which is not allowed
        return _STRICT_READER.decode(text)
    except (ValueError, RecursionError) as error:
        raise json_text.UnreadableError(str(error)) from None


class TooManyError(json_text.UnreadableError):
    """The error for a text of more than `LONG` characters with more than `CONTAINERS_LIMIT` objects
    and lists, or more than `COMMAS_LIMIT` commas between values.
    """


def check(text: str) -> None:
    """Raise TooManyError if a text of more than `LONG` characters has too many objects and lists,
    or too many commas between values. The text need not be JSON.
    """
    containers = ("[{", CONTAINERS_LIMIT, "objects and lists")
    commas = (",", COMMAS_LIMIT, "commas between values")
    for marks, most, what in (containers, commas) if len(text) > LONG else ():
        if sum(map(text.count, marks)) > most:
            standing = (each for each in _TOKENS.finditer(text) if each[1] and each[1] in marks)
            if any(islice(standing, most, None)):
                raise TooManyError(f"expected at most {most:,} {what}, got more")


def write(value: object) -> bytes:
    """Return the same bytes as `json_text.write`, but write a long value by Python code, so that
    other threads can run.
    """
    if _is_small(value):
        return json_text.write(value)
    try:
        return "".join(json_text.WRITER.iterencode(value)).encode()
    except RecursionError:  # too many levels for Python code: C code can write more
        return json_text.write(value)
    except ValueError:
        return json_text.sendable("".join(json_text.LENIENT_WRITER.iterencode(value)))


def spaced(value: object) -> str:
    """Return a value as JSON text with a blank behind each comma and colon, as models write the
    arguments of calls. A long value is written by Python code, so that other threads can run.
    """
    return _SPACED.encode(value) if _is_small(value) else "".join(_SPACED.iterencode(value))


def _is_small(value: object) -> bool:
    """Return True if one call of C code may write `value`: it has at most `_MOST_VALUES` values in
    it. Each value in an object or list counts twice, and a long integer as several. The length of
    strings does not count, because C code writes them fast.
    """
    values, waiting = 0, [value]
    while waiting and values <= _MOST_VALUES:
        one = waiting.pop()
        values += 1
        if isinstance(one, dict):
            values += len(one)
            waiting += one.values() if values <= _MOST_VALUES else ()
        elif isinstance(one, list | tuple):
            values += len(one)
            waiting += one if values <= _MOST_VALUES else ()
        elif type(one) is int:
            values += one.bit_length() // _BITS_PER_VALUE
    return values <= _MOST_VALUES
