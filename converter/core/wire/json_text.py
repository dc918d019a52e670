"""JSON as replies carry it: bytes in, values out, and back without making it longer.

`read_strictly` takes what every client can read, `read` what Python can, and `rescue` all that has
a clear meaning. None of them raises anything but UnreadableError, whatever the bytes.

Within `in_short_steps` what C would read or write for long (`QUICK`, `_VALUES`) is left to the half
of `json` that is Python. Other threads have their turn between its steps, while one call of the
half in C holds them up for seconds, where a body has megabytes of numbers. Long strings are read
and written by C, in pieces. An agent's requests are quick: 2 MB of them are read in 8 ms.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from itertools import batched
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from json.scanner import py_make_scanner  # type: ignore[attr-defined]  # typeshed lacks it
from typing import NoReturn

from converter.core.wire.bounds import DEEPEST

LONG = 1 << 17
"""Bytes that are read at once in any case: some milliseconds. Characters of a string's pieces."""
QUICK = 1 << 21
"""Bytes of a text, and characters of a value, up to which one call of C may take them: 2 MB of text
in one string are written in 26 milliseconds, more than that would hold a stream for too long.
"""
_VALUES = 1 << 16
"""Values that one call of C may take: 15 milliseconds for the slowest, an object's short keys."""
_APART = 251
"""Characters from one sample of a text to the next: fewer than a number has that takes long, and a
prime, so that no period of a text hides from it.
"""
_SHORT = 1 << 12
"""Characters that most strings do not have."""
_FEW = 1 << 12
"""Pieces of a text that are put together at once."""
_ESCAPE = 6
"""Characters of the longest escape, `\\u00e9`; a pair of surrogates has two."""
_LONGEST_NUMBER = 4300
"""Digits that Python reads as one number; longer ones raise."""
_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|,(?=\s*[\]}])|[\[\]{}]', re.DOTALL)
"""Strings, which are stepped over, a last one without its end as well, because its escaped quotes
would each be looked behind; commas before an end; brackets.
"""
_PLAIN = re.compile(r'([^"\\\x00-\x1f]{0,1000}+)"')
"""Most strings from their first quote on: short ones with nothing to be read in them."""
_LEFT_OVER = " \t\r\n,;]}"
"""Characters that may follow a value and mean nothing."""


class UnreadableError(ValueError):
    """The bytes are no JSON."""


def refuse(name: str) -> NoReturn:
    """Raise ValueError for a number of Python's."""
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _nothing(_: str) -> None:
    """Return JavaScript's word for a number that is none."""


_IN_SHORT_STEPS: ContextVar[bool] = ContextVar("in_short_steps", default=False)
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_LENIENT_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_MAY_BE_LONG = {str, dict, list, tuple}
_NO_NUMBERS = re.compile(r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN')
_READER = json.JSONDecoder()
_READER_OF_LONG_NUMBERS = json.JSONDecoder(parse_int=_integer)
"""It calls Python for each integer: three times as long for a list of them."""
_STRICT_READER = json.JSONDecoder(parse_constant=refuse)
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
    if _IN_SHORT_STEPS.get() and not _is_quickly_read(text):
        reader = copy(reader)
        reader.parse_string = _string  # type: ignore[attr-defined]
        reader.scan_once = py_make_scanner(reader)  # type: ignore[attr-defined]
    return reader.decode(text)


def _is_quickly_read(text: str) -> bool:
    """Tell by a sample whether C has soon read it: few values, and few digits, because the time for
    a number of thousands of digits grows with their square.
    """
    if not LONG < len(text) <= QUICK:
        return len(text) <= LONG
    sample = text[::_APART]
    values = sum(map(sample.count, ",[{")) * _APART
    return values <= _VALUES and 4 * sum(map(sample.count, "0123456789")) < len(sample)


def _string(text: str, at: int, strict: bool) -> tuple[str, int]:
    """Return a string, from behind its first quote on, and the place behind the last, in steps."""
    if plain := _PLAIN.match(text, at):
        return plain[1], plain.end()
    pieces, size = list[str](), _SHORT
    while True:
        window = text[at : at + size]
        cut = _before_escape(window) if len(window) == size else len(window)
        piece, end = scanstring(f'{window[:cut]}"', 0, strict)
        if end <= cut:
            return "".join([*pieces, piece]), at + end
        if len(window) < size:
            raise json.JSONDecodeError("Unterminated string", "", 0)
        if "\ud800" <= piece[-1:] <= "\udbff":  # its other half may follow
            piece, cut = piece[:-1], cut - _ESCAPE
        pieces.append(piece)
        at, size = at + cut, LONG


def _before_escape(window: str) -> int:
    """Return where to cut: at the end, or before an escape that may go on behind it."""
    last = window.rfind("\\", max(0, len(window) - _ESCAPE))
    run = last + 1 - len(window[: last + 1].rstrip("\\"))
    return last if run % 2 else len(window)


def _text(data: bytes, errors: str = "replace") -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    if len(data) <= max(LONG, QUICK) or data.isascii() or not _IN_SHORT_STEPS.get():
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


def readable(data: bytes, reader: Callable[[bytes], object] = read) -> bool:
    """Tell whether the bytes are JSON, as this reader takes it."""
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
        return b"".join([piece.encode() for piece in _pieces(value, _WRITER, str)])
    except ValueError:  # UnicodeEncodeError is one
        text = "".join(_pieces(value, _LENIENT_WRITER, _with_nulls))
        return whole_characters(text).encode()


def whole_characters(text: str) -> str:
    """Return the text with U+FFFD for each half of a surrogate pair that lacks the other one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pieces(value: object, writer: json.JSONEncoder, finish: Callable[[str], str]) -> Iterable[str]:
    if not _IN_SHORT_STEPS.get() or _is_quickly_written(value):
        return (finish(writer.encode(value)),)
    long = set[int]()
    _find_long(value, long)
    return map("".join, batched(_steps(value, writer, finish, long), _FEW))


def _is_quickly_written(value: object) -> bool:
    """Tell whether C has soon written it: few values, and few characters. The bits of a number
    count as such, because the time for a number of thousands of digits grows with their square.
    """
    values, size, waiting = 0, 0, [value]
    while waiting:
        inner = waiting.pop()
        if type(inner) is str:
            size += len(inner)
        elif type(inner) is dict:
            values += len(inner)
            size += len("".join(map(str, inner)))
            waiting += inner.values()
        elif type(inner) is list or type(inner) is tuple:
            values += len(inner)
            waiting += inner
        elif type(inner) is int:
            size += inner.bit_length()
        if size > QUICK or values > _VALUES:
            return False
    return True


def _steps(
    value: object, writer: json.JSONEncoder, finish: Callable[[str], str], long: set[int]
) -> Iterator[str]:
    """Yield the text. `long`: the ids of long strings, and of all that holds one."""
    if id(value) not in long:
        yield from map(finish, writer.iterencode(value))  # Python, while `encode` is C
    elif isinstance(value, str):
        parts = (value[at : at + LONG] for at in range(0, len(value), LONG))
        yield from ('"', *(finish(writer.encode(part))[1:-1] for part in parts), '"')
    elif isinstance(value, dict):
        for at, (name, inner) in enumerate(value.items()):
            yield f"{',' if at else '{'}{finish(writer.encode(str(name)))}:"
            yield from _steps(inner, writer, finish, long)
        yield "}"
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield "," if at else "["
            yield from _steps(inner, writer, finish, long)
        yield "]"


def _find_long(value: object, found: set[int]) -> bool:
    """Tell whether the value is a long string or holds one; `found` gets the ids of all such."""
    holds = isinstance(value, str) and len(value) > LONG
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            if type(inner) in _MAY_BE_LONG and _find_long(inner, found):
                holds = True
    if holds:
        found.add(id(value))
    return holds


def _with_nulls(text: str) -> str:
    return _NO_NUMBERS.sub(lambda found: found["string"] or "null", text)
