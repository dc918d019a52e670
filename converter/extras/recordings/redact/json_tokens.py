"""A body cut into tokens (strings and numbers) and the gaps between them. A token can then be
replaced while every other byte stays.

A stream repeats most strings in many frames. Each repetition of a string at a path gives the same
`Token` object, so that the token's replacement is computed once.
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
"""A string, a number or a mark of JSON. A string without a closing quote matches up to the end of
its line.
"""
_DATA = (b"data:", b"\xef\xbb\xbfdata:", b"{")
"""The beginnings of a stream's line that has JSON: of server-sent events, with a byte order mark at
the stream's beginning, and of lines of JSON.
"""
_MARKS = frozenset((b"{", b"}", b"[", b"]", b","))
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 100
"""The most names in a path. Real replies are not as deep, and the paths of deep values would take
time.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A string or a number in JSON.

    Attributes:
        raw: the token's bytes.
        path: the names that lead to the token; None stands for an element of an array.
        value: the value of the string or number.
        name: True if the token is the name of an object's member.
    """

    raw: bytes
    path: Path
    value: str | float
    name: bool = False


class Pieces(NamedTuple):
    """A body in pieces that alternate: a gap, a token, a gap ... and a last gap."""

    gaps: list[bytes]
    tokens: list[Token]


def pieces(body: bytes, stream: bool) -> Pieces:
    """Cut a body into gaps and tokens. JSON may be incomplete; any text that is not JSON is one
    gap.
    """
    reader = _BodyReader()
    if not stream and beginning_of(body, last=True) is FirstBytes.JSON:
        reader.scan(body)
    else:
        for line in body.splitlines(keepends=True) if stream else [body]:
            reader.read(line, stream)
    return Pieces([*reader.gaps, b"".join(reader.gap)], reader.tokens)


class _BodyReader:
    """A reader of one body, line by line.

    Attributes:
        gaps: the gaps that are complete.
        tokens: the tokens so far, each after the gap of the same index.
        gap: the bytes since the last token.
    """

    def __init__(self) -> None:
        self.gaps: list[bytes] = []
        self.tokens: list[Token] = []
        self.gap: list[bytes] = []
        self._by_value: dict[tuple[bytes, Path, bool], Token | None] = {}
        self._decoded = cache(_decoded)
        self._forget_path()

    def _forget_path(self) -> None:
        self._path: list[str | None] = []
        self._objects: list[bool] = []
        self._name_next = False

    def read(self, line: bytes, stream: bool) -> None:
        """Read a line of a stream, or a whole text that is not JSON."""
        if stream and line.startswith(_DATA):
            self.scan(line)
            return
        self.gap.append(line)
        if not line.strip(b"\r\n"):
            self._forget_path()

    def scan(self, line: bytes) -> None:
        """Read JSON, or one line with JSON. A value that cannot be decoded stays a part of a
        gap.
        """
        end = 0
        for match in _PIECE.finditer(line):
            if (piece := match[0]) in _MARKS:
                self._follow_mark(piece)
            elif token := self._token_of(piece):
                self.gaps.append(b"".join([*self.gap, line[end : match.start()]]))
                self.tokens.append(token)
                self.gap, end = [], match.end()
        self.gap.append(line[end:])
        if not 0 < len(self._path) <= _DEEPEST:
            self._forget_path()

    def _follow_mark(self, mark: bytes) -> None:
        if mark in b"{[":
            self._path.append(None)
            self._objects.append(mark == b"{")
        elif mark != b",":
            del self._path[-1:], self._objects[-1:]
        self._name_next = mark in b"{," and bool(self._objects and self._objects[-1])

    def _token_of(self, raw: bytes) -> Token | None:
        """Return the token of a string or number, None if it cannot be decoded."""
        value = self._decoded(raw)
        name, self._name_next = self._name_next and not isinstance(value, int | float), False
        if name:  # A name that cannot be decoded replaces the member's name before it, too.
            self._path[-1] = value if isinstance(value, str) else None
        path = tuple(self._path[:_DEEPEST])
        key = raw, path, name
        if key not in self._by_value:
            self._by_value[key] = None if value is None else Token(raw, path, value, name)
        return self._by_value[key]


def _decoded(raw: bytes) -> str | float | None:
    try:
        value: str | float = _DECODER.decode(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None  # JSON has no such escape, or the number has too many digits for Python.
    return value


def woven(gaps: Sequence[bytes], written: Sequence[bytes]) -> list[bytes]:
    """Return gaps and values as one list that alternates: a gap, a value, a gap ... and a gap."""
    both = [b""] * (len(gaps) + len(written))
    both[::2], both[1::2] = gaps, written
    return both


def moved(before: Sequence[bytes], after: Sequence[bytes], borders: Sequence[int]) -> list[int]:
    """Return the new offset of each border between chunks, after the pieces `before` of a body
    became the pieces `after`. A border within a piece stays within the new piece.
    """
    starts, now = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    pieces = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inner = border - starts[at]
        pieces.append(now[at] + (min(inner, len(after[at])) if inner else 0))
    return pieces


def written(text: str) -> bytes:
    """Return a string as JSON. Surrogates that stand for bytes which are not UTF-8 become these
    bytes again.
    """
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()
