"""JSON in short steps, for work beside mitmproxy's loop: other threads have their turn meanwhile.

What C would read or write for long (`QUICK`, `_VALUES`) is left to the half of `json` that is
Python. Other threads have their turn between its steps, while one call of the half in C holds them
up for seconds, where a body has megabytes of numbers. Long strings are read and written by C, in
pieces. An agent's requests are quick: 2 MB of them are read in 8 ms.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from itertools import batched
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from json.scanner import py_make_scanner  # type: ignore[attr-defined]  # typeshed lacks it

from converter.core.wire.json_text import Way

LONG = 1 << 17
"""Bytes that are read at once in any case: some milliseconds. Characters of a string's pieces."""
QUICK = 1 << 21
"""Bytes of a text, and characters of a value, up to which one call of C may take them: 2 MB of text
in one string are written in 26 milliseconds, more than that would hold a stream for too long.
"""
_VALUES = 1 << 16
"""Values that one call of C may take: 15 milliseconds for the slowest, an object's short keys."""
_IN_TURN = 1 << 20
"""Bytes of a request that is read, translated and written in the loop: 20 milliseconds, if no part
of it was said before.
"""
_QUOTES = 1 << 15
"""Quotes in such a request: 4,000 short messages have as many, and take 50 milliseconds. A body of
700 kB with the 130 turns of an agent has a third as many.
"""
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
_PLAIN = re.compile(r'([^"\\\x00-\x1f]{0,1000}+)"')
"""Most strings from their first quote on: short ones with nothing to be read in them."""
_MAY_BE_LONG = {str, dict, list, tuple}


class ShortSteps(Way):
    """A way that gives other threads their turn."""

    def text(self, data: bytes, errors: str) -> str:
        """Return the text of bytes. Raises UnicodeDecodeError where `errors` is `strict`."""
        if len(data) <= max(LONG, QUICK) or data.isascii():
            return data.decode("utf-8", errors)
        decoder = codecs.getincrementaldecoder("utf-8")(errors)
        pieces = [decoder.decode(data[at : at + LONG]) for at in range(0, len(data), LONG)]
        return "".join([*pieces, decoder.decode(b"", final=True)])

    def reader(self, usual: json.JSONDecoder, text: str) -> json.JSONDecoder:
        """Return the reader of this text: the usual one where C has soon read it."""
        if _is_quickly_read(text):
            return usual
        reader = copy(usual)
        reader.parse_string = _string  # type: ignore[attr-defined]
        reader.scan_once = py_make_scanner(reader)  # type: ignore[attr-defined]
        return reader

    @staticmethod
    def is_quickly_written(value: object) -> bool:
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

    def encode(
        self, value: object, writer: json.JSONEncoder, finish: Callable[[str], str]
    ) -> Iterable[str]:
        """Return the finished text of a value in pieces. Raises what `writer` raises."""
        if self.is_quickly_written(value):
            return (finish(writer.encode(value)),)
        long = set[int]()
        _find_long(value, long)
        return map("".join, batched(_steps(value, writer, finish, long), _FEW))


def is_quick(body: bytes) -> bool:
    """Tell whether a request is read, translated and written in some milliseconds: C has soon read
    it, and it has so few strings that it has few messages.
    """
    sample = body[::_APART].decode("latin-1")
    few = sample.count('"') * _APART <= _QUOTES
    return len(body) <= _IN_TURN and few and _is_soon_read(sample)


def _is_quickly_read(text: str) -> bool:
    """Tell by a sample whether C has soon read it: few values, and few digits, because the time for
    a number of thousands of digits grows with their square.
    """
    if not LONG < len(text) <= QUICK:
        return len(text) <= LONG
    return _is_soon_read(text[::_APART])


def _is_soon_read(sample: str) -> bool:
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
