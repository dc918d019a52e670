"""A body cut into tokens (strings and numbers) and the gaps between them, so that a string can be
replaced and every other byte stays.

A stream repeats most strings in frame after frame. So the same string at the same path is the same
Token each time, and a decision about a token is made once.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from converter.core.wire.beginnings import FirstBytes, beginning_of

type Path = tuple[str | None, ...]

_PIECE = re.compile(
    rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(?:"|\\?(?=[\r\n]|\Z))'
    rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}\[\],]"
)
"""A string without an end reaches to the line's end; else each quote in it would begin a match."""
_DATA = (b"data:", b"\xef\xbb\xbfdata:", b"{")
"""How a line of data begins; a stream may begin with a byte order mark, or be of JSON's lines."""
_MARKS = frozenset((b"{", b"}", b"[", b"]", b","))
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 100
"""Names in a path. Deeper values are in no reply; their paths would cost time by their depth."""


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A string or a number."""

    raw: bytes  # as it is written
    path: Path  # the names that lead to the token, `None` for an element of an array
    value: str | float
    name: bool = False  # the token is a name itself


class Pieces(NamedTuple):
    """A body cut up: a gap, a token, a gap ... and a gap."""

    gaps: list[bytes]
    tokens: list[Token]


def pieces(body: bytes, stream: bool) -> Pieces:
    """Cut a body into gaps and tokens. JSON may be cut short; any other text is one gap."""
    reader = _BodyReader()
    if not stream and beginning_of(body, last=True) is FirstBytes.JSON:
        reader.scan(body)
    else:
        for line in body.splitlines(keepends=True) if stream else [body]:
            reader.read(line, stream)
    return Pieces([*reader.gaps, b"".join(reader.gap)], reader.tokens)


class _BodyReader:
    """Reads one body, line by line; `gap` has the bytes since the last token. Each open object or
    array has a name in the path, `None` in an array.
    """

    def __init__(self) -> None:
        self.gaps: list[bytes] = []
        self.tokens: list[Token] = []
        self.gap: list[bytes] = []
        self._by_value: dict[tuple[bytes, Path, bool], Token | None] = {}
        self._value = cache(_value)
        self._begin()

    def _begin(self) -> None:
        self._path: list[str | None] = []
        self._objects: list[bool] = []
        self._name_next = False

    def read(self, line: bytes, stream: bool) -> None:
        """Read a line of a stream, or text that is no JSON."""
        if stream and line.startswith(_DATA):
            self.scan(line)
            return
        self.gap.append(line)
        if not line.strip(b"\r\n"):
            self._begin()

    def scan(self, line: bytes) -> None:
        """Read JSON, or one line of JSON; a value that cannot be read belongs to its gap."""
        end = 0
        for match in _PIECE.finditer(line):
            if (piece := match[0]) in _MARKS:
                self._pass_over(piece)
            elif token := self._take(piece):
                self.gaps.append(b"".join([*self.gap, line[end : match.start()]]))
                self.tokens.append(token)
                self.gap, end = [], match.end()
        self.gap.append(line[end:])
        if not 0 < len(self._path) <= _DEEPEST:
            self._begin()

    def _pass_over(self, mark: bytes) -> None:
        if mark in b"{[":
            self._path.append(None)
            self._objects.append(mark == b"{")
        elif mark != b",":
            del self._path[-1:], self._objects[-1:]
        self._name_next = mark in b"{," and bool(self._objects and self._objects[-1])

    def _take(self, raw: bytes) -> Token | None:
        """Return the token of a string or number; `None` where it cannot be read."""
        value = self._value(raw)
        name, self._name_next = self._name_next and not isinstance(value, int | float), False
        if name:  # one that cannot be read is not the name before it
            self._path[-1] = value if isinstance(value, str) else None
        path = tuple(self._path[:_DEEPEST])
        key = raw, path, name
        if key not in self._by_value:
            self._by_value[key] = None if value is None else Token(raw, path, value, name)
        return self._by_value[key]


def _value(raw: bytes) -> str | float | None:
    try:
        value: str | float = _DECODER.decode(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None  # an escape that JSON does not know, or a number of too many digits
    return value


def woven(gaps: Sequence[bytes], written: Sequence[bytes]) -> list[bytes]:
    """Return a gap, a written value, a gap ... and a gap."""
    both = [b""] * (len(gaps) + len(written))
    both[::2], both[1::2] = gaps, written
    return both


def moved(before: Sequence[bytes], after: Sequence[bytes], borders: Sequence[int]) -> list[int]:
    """Return the new offset of each border after pieces of a body were replaced; a border within a
    replaced piece stays within it.
    """
    starts, now = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    pieces = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inner = border - starts[at]
        pieces.append(now[at] + (min(inner, len(after[at])) if inner else 0))
    return pieces


def written(text: str) -> bytes:
    """Return a string as JSON; bytes that are no UTF-8 stay unchanged."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()
