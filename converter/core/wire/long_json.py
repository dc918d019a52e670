"""Long JSON, read and written in many short calls of Python's C code for JSON.

No other thread can run during such a call. On a busy machine, C reads 4 MB of numbers in 0.2
seconds and writes 4 MB of fractions in 0.5 seconds. So one call reads only the values that end
within a window of `WINDOW` characters. An object or a list that is longer than the window is opened
by code of this module, and its members are read in the same manner. A string or a number is always
read in one call.

Python's garbage collector visits all objects and lists of the process in one call too. So text with
more than `CONTAINERS_LIMIT` objects and lists is refused.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from converter.core.wire import json_text

WINDOW = 1 << 15
"""How many characters one call of C should read at most: C reads the densest JSON of this length in
a millisecond.
"""
LONG = 4 * WINDOW
"""Text of up to so many characters is read in a single call."""
CONTAINERS_LIMIT = 1 << 15
"""The most objects and lists in a text. An agent's request of 4 MB has 4,000. Python's garbage
collector visits the number of the limit in 50 milliseconds.
"""
_MOST = 1 << 12
"""The most values that one call of C writes, in a millisecond."""
_BITS = 16
"""So many bits of an integer count as one more value. The time to write an integer grows with the
square of its digits.
"""
_BLANKS = re.compile(r"[ \t\n\r]*+")
_COLON = re.compile(r"[ \t\n\r]*+:[ \t\n\r]*+")
_NEXT = re.compile(r"[ \t\n\r]*+([,\]}])")
_BEHIND = frozenset(",:]} \t\n\r")
"""Characters that may follow a value. If another one follows a number, the number goes on."""
_CLOSING = {"[": "]", "{": "}"}
_OPENINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{])', re.DOTALL)
"""A whole string, or an opening bracket outside of strings."""

type Scan = Callable[[str, int], tuple[object, int]]
"""A function that returns the JSON value at an index of a text, and the index behind the value. It
raises StopIteration if no value begins there, ValueError and RecursionError.
"""


def read(data: bytes) -> object:
    """Return the value that `json_text.read` returns. Raises UnreadableError."""
    if len(data) <= LONG:
        return json_text.read(data)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    check(text)
    try:
        return LongText(text, json_text.scan).whole()
    except (json.JSONDecodeError, RecursionError) as error:
        raise json_text.UnreadableError(str(error)) from None
    except ValueError:  # an integer with too many digits, which `json_text.read` can read
        return json_text.read(data)


def read_strictly(text: str) -> object:
    """Return the value that `json_text.read_strictly` returns. Raises UnreadableError."""
    if len(text) <= LONG:
        return json_text.read_strictly(text.encode(errors="surrogatepass"))
    check(text)
    try:
        text.encode()  # raises ValueError for lone surrogates
        return LongText(text, json_text.strict_scan).whole()
    except (ValueError, RecursionError) as error:
        raise json_text.UnreadableError(str(error)) from None


class TooManyError(json_text.UnreadableError):
    """A text has more than `CONTAINERS_LIMIT` objects and lists."""


def check(text: str) -> None:
    """Raise TooManyError if a text has too many objects and lists."""
    most = CONTAINERS_LIMIT
    if text.count("{") + text.count("[") > most:
        openings = (each for each in _OPENINGS.finditer(text) if each[1])
        if any(islice(openings, most, None)):
            raise TooManyError(f"expected at most {most:,} objects and lists, got more")


def write(value: object) -> bytes:
    """Return the bytes that `json_text.write` returns."""
    return b"".join(_pieces(value))


_SPACED = json.JSONEncoder(ensure_ascii=False)
"""The encoder is kept here because `json.dumps` makes a new one for each value."""


def spaced(value: object) -> str:
    """Return a value as JSON with a blank behind each comma and colon, as models write the
    arguments of calls. A long value is written by Python's code, piece by piece.
    """
    return _SPACED.encode(value) if _is_small(value) else "".join(_SPACED.iterencode(value))


class LongText:
    """A long text of JSON, read with `scan`. Each value must stand behind the value before."""

    def __init__(self, text: str, scan: Scan) -> None:
        self._text, self._scan = text, scan
        self._begin, self._window = 0, text[:WINDOW]
        self._alone = 0

    def whole(self) -> object:
        """Return the value of the whole text. Raises ValueError and RecursionError."""
        try:
            value, end = self.value(self._behind(_BLANKS, 0))
        except StopIteration as stop:
            raise json.JSONDecodeError("Expecting value", self._text, stop.value) from None
        if self._behind(_BLANKS, end) < len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, end)
        return value

    def value(self, at: int) -> tuple[object, int]:
        """Return the value at an index, and the index behind the value. Raises StopIteration,
        ValueError and RecursionError, as `scan` does.
        """
        opened = list[_Opened]()
        while True:
            mark = self._text[at : at + 1]
            if read := self._in_window(at):
                value, end = read
            elif mark not in _CLOSING:
                value, end = self._scan(self._text, at)
            else:
                one = _Opened(mark)
                at = self._behind(_BLANKS, at + 1)
                if not self._text.startswith(one.closing, at):
                    opened.append(one)
                    at = self._member(one, at)
                    continue
                value, end = one.value, at + 1
            while opened:
                opened[-1].add(value)
                match = _NEXT.match(self._text, end)
                if match and match[1] == ",":
                    at = self._member(opened[-1], self._behind(_BLANKS, match.end()))
                    break
                if not match or match[1] != opened[-1].closing:
                    raise json.JSONDecodeError("Expecting ',' delimiter", self._text, end)
                value, end = opened.pop().value, match.end()
            else:
                return value, end

    def _member(self, one: "_Opened", at: int) -> int:
        """Read members that end within a window, and the name of the member behind them. Return the
        index of this member's value.
        """
        while behind := self._run(one, at):
            at = self._behind(_BLANKS, behind)
        if one.opening == "[":
            return at
        name, end = self._in_window(at) or self._scan(self._text, at)
        if not isinstance(name, str):
            raise json.JSONDecodeError("Expecting property name", self._text, at)
        one.name = name
        return self._behind(_COLON, end)

    def _run(self, one: "_Opened", at: int) -> int:
        """Read the members up to the last comma of a window in one call, and return the index
        behind this comma. Return 0 if this fails, because the comma is in the middle of a member.
        """
        if at < self._alone:
            return 0
        part = self._text[at : at + WINDOW]
        for cut in (part.rfind(","), max(part.rfind("},"), part.rfind("],")) + 1):
            with suppress(StopIteration, ValueError):
                members, end = self._scan(one.opening + part[: max(cut, 0)] + one.closing, 0)
                if cut > 0 and end == cut + 2:
                    one.add_all(members)
                    return at + cut + 1
        self._alone = at + WINDOW
        return 0

    def _in_window(self, at: int) -> tuple[object, int] | None:
        """Return the value at an index and the index behind the value, if it ends in the last
        window or in one that begins at the index; else `None`.
        """
        for begin in {self._begin: 0, at: 0}:
            if begin != self._begin:
                self._begin, self._window = begin, self._text[begin : begin + WINDOW]
            try:
                value, end = self._scan(self._window, at - begin)
            except (StopIteration, ValueError):
                continue
            if self._window[end : end + 1] in _BEHIND or begin + end == len(self._text):
                return value, begin + end
        return None

    def _behind(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self._text, at)
        if match is None:
            raise json.JSONDecodeError("Expecting ':' delimiter", self._text, at)
        return match.end()


class _Opened:
    """An object or a list whose members are being read.

    Attributes:
        name: the name of the object's next member.
    """

    def __init__(self, opening: str) -> None:
        self.opening, self.closing = opening, _CLOSING[opening]
        self.name = ""
        self._list = list[object]()
        self._object = dict[str, object]()

    @property
    def value(self) -> object:
        """The list or the object, with the members so far."""
        return self._list if self.opening == "[" else self._object

    def add(self, value: object) -> None:
        """Add a member; in an object, under `name`."""
        self.add_all([value] if self.opening == "[" else {self.name: value})

    def add_all(self, members: Any) -> None:
        """Add the members of another list, or of another object."""
        if self.opening == "[":
            self._list += members
        else:
            self._object |= members


def _pieces(value: object) -> Iterator[bytes]:
    opened: list[Iterator[bytes | _Value]] = [iter([_Value(value)])]
    while opened:
        piece = next(opened[-1], None)
        if piece is None:
            opened.pop()
        elif isinstance(piece, bytes):
            yield piece
        elif isinstance(piece.value, dict) and not _is_small(piece.value):
            opened.append(_members(piece.value))
        elif isinstance(piece.value, list | tuple) and not _is_small(piece.value):
            opened.append(_elements(piece.value))
        else:
            yield json_text.write(piece.value)


class _Value(NamedTuple):
    """A value that is not written yet. The tuple marks it among pieces that are bytes."""

    value: object


def _members(members: dict[object, object]) -> Iterator[bytes | _Value]:
    for at, (name, value) in enumerate(members.items()):
        yield b"%s%s" % (b"," if at else b"{", json_text.write({name: 0})[1:-2])
        yield _Value(value)
    yield b"}"


def _elements(elements: Sequence[object]) -> Iterator[bytes | _Value]:
    for at in range(0, len(elements), _MOST >> 2):
        part = elements[at : at + (_MOST >> 2)]
        yield b"," if at else b"["
        if _is_small(part):
            yield json_text.write(part)[1:-1]
            continue
        for number, value in enumerate(part):
            if number:
                yield b","
            yield _Value(value)
    yield b"]"


def _is_small(value: object) -> bool:
    """Return True if one call of C may write a value, because it has few values in it. The length
    of strings does not count, because C writes them fast.
    """
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
