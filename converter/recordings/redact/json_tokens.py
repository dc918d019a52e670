"""A body in pieces: its strings and numbers, and what stands between them, so that one can be
changed and the rest stays.

A stream says nearly the same in frame after frame. So what a line's punctuation and names mean is
found out once, and the same string in the same place is the same Token each time: whoever decides
about tokens decides once for each.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from converter.recordings.redact.weaving import woven

type Path = tuple[str | None, ...]
type _Line = tuple[_Open, tuple[bytes, ...]]
type _Shape = tuple[list[_Column], _Open]

_SCALAR = re.compile(
    rb'("[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(?:"|\\?(?=[\r\n]|\Z))'
    rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
)
"""A string that is cut counts to the line's end, or each quote in it would be tried as a first."""
_MARK = re.compile(rb"[{}\[\],]")
_DATA = (b"data:", b"\xef\xbb\xbfdata:")
"""How a line of data begins; a stream may begin with a byte order mark."""
_NEXT = frozenset((b",", b", "))
"""Gaps within an array of numbers or strings, of which there may be millions."""
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 100
"""Names in a path: what is nested deeper is nobody's reply, and must not cost its depth for each
value.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A string or a number, as it is written (`raw`). `path`: the names that lead to it, None for a
    place in an array.

    `name`: it is a name itself.
    """

    raw: bytes
    path: Path
    value: str | float
    name: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    """A body cut up: a gap, a token, a gap ... and a gap."""

    gaps: list[bytes]
    tokens: list[Token]

    def all(self) -> list[bytes]:
        """Return the bytes of all pieces."""
        return woven(self.gaps, [token.raw for token in self.tokens])


def pieces(body: bytes, stream: bool) -> Pieces:
    """Cut up a body: JSON that may be cut short; what is no JSON is all gap."""
    reader = _Reader()
    if stream:
        for line in body.splitlines(keepends=True):
            reader.read(line)
    elif body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        reader.scan(body)
    else:
        reader.skip(body)
    return reader.pieces()


def tokens(body: bytes, stream: bool) -> list[Token]:
    """Return every string and number of a body."""
    return pieces(body, stream).tokens


class _Open:
    """The objects and arrays that are open where a line begins. Each open object or array has a
    name in the path: None in an array.
    """

    def __init__(
        self, path: Sequence[str | None] = (), objects: Sequence[bool] = (), name_next: bool = False
    ) -> None:
        self.path, self.objects, self.name_next = list(path), list(objects), name_next

    def copy(self) -> "_Open":
        """Return one to go on with."""
        return _Open(self.path, self.objects, self.name_next)

    @property
    def in_object(self) -> bool:
        """Tell whether the innermost that is open is an object."""
        return bool(self.objects and self.objects[-1])

    def pass_over(self, gap: bytes) -> None:
        """Go on behind a gap."""
        for mark in _MARK.findall(gap):
            if mark in b"{[":
                self.path.append(None)
                self.objects.append(mark == b"{")
                self.name_next = mark == b"{"
            elif mark == b",":
                self.name_next = self.in_object
            else:
                del self.path[-1:], self.objects[-1:]
                self.name_next = False

    def take(self, raw: bytes) -> tuple[Path, bool]:
        """Go on behind a string or number; return its path, and whether it is a name."""
        name = False
        if self.name_next:
            value, self.name_next = _value(raw), False
            if not isinstance(value, int | float):
                # a name that cannot be read is not the name before it
                self.path[-1], name = value, value is not None
        return tuple(self.path[:_DEEPEST]), name


_NOTHING_OPEN = _Open()


_UNREAD = Token(b"", (), "")
"""Stands for what looks like a token and cannot be read."""


class _Column(dict[bytes, Token]):
    """The tokens of one path, by how they are written."""

    def __init__(self, path: Path, name: bool) -> None:
        self._path, self._name = path, name

    def __missing__(self, raw: bytes) -> Token:
        value = _value(raw)
        self[raw] = _UNREAD if value is None else Token(raw, self._path, value, self._name)
        return self[raw]


class _Reader:
    """Reads one body, line by line."""

    def __init__(self) -> None:
        self._gaps: list[bytes] = []
        self._tokens: list[Token] = []
        self._gap: list[bytes] = []
        self._open = _NOTHING_OPEN
        self._columns: dict[tuple[Path, bool], _Column] = {}
        self._names: dict[_Line, list[int]] = {}
        self._shapes: dict[tuple[_Line, tuple[bytes, ...]], _Shape] = {}

    def read(self, line: bytes) -> None:
        """Read a line of a stream."""
        if line.startswith(_DATA):
            self.scan(line)
            return
        self.skip(line)
        if not line.strip(b"\r\n"):
            self._open = _NOTHING_OPEN

    def skip(self, text: bytes) -> None:
        """Read what is no JSON."""
        self._gap.append(text)

    def scan(self, line: bytes) -> None:
        """Read JSON, or one line of it."""
        parts = _SCALAR.split(line)
        gaps, raws = parts[::2], parts[1::2]
        columns, self._open = self._shape((self._open, tuple(gaps)), raws)
        kept = [column[raw] for column, raw in zip(columns, raws, strict=True)]
        if _UNREAD in kept:
            gaps, kept = _without_unread(parts, kept)
        self._gap.append(gaps[0])
        if kept:
            self._gaps += [b"".join(self._gap), *gaps[1:-1]]
            self._gap = [gaps[-1]]
            self._tokens += kept

    def _shape(self, line: _Line, raws: Sequence[bytes]) -> _Shape:
        """Return the columns of a line's tokens, and what is open behind it; the same for lines
        that differ in values only.
        """
        if line not in self._names:
            self._names[line] = _names(line)
        key = line, tuple([raws[at] for at in self._names[line]])
        if key not in self._shapes:
            self._shapes[key] = self._new_shape(line, raws)
        return self._shapes[key]

    def _new_shape(self, line: _Line, raws: Sequence[bytes]) -> _Shape:
        begin, gaps = line
        end, columns = begin.copy(), list[_Column]()
        for gap, raw in zip(gaps, raws, strict=False):
            if gap in _NEXT and columns and not end.in_object:
                columns.append(columns[-1])
                continue
            end.pass_over(gap)
            place = end.take(raw)
            columns.append(self._columns.setdefault(place, _Column(*place)))
        end.pass_over(gaps[-1])
        return columns, end if 0 < len(end.path) <= _DEEPEST else _NOTHING_OPEN

    def pieces(self) -> Pieces:
        """Return all that was read."""
        return Pieces([*self._gaps, b"".join(self._gap)], self._tokens)


def _names(line: _Line) -> list[int]:
    """Return which strings of a line are names, by what stands between them."""
    begin, gaps = line
    passed, names = begin.copy(), []
    for at, gap in enumerate(gaps[:-1]):
        if gap in _NEXT and not passed.in_object:
            continue
        passed.pass_over(gap)
        if passed.name_next:
            names.append(at)
        passed.name_next = False
    return names


def _without_unread(
    parts: Sequence[bytes], read: Sequence[Token]
) -> tuple[list[bytes], list[Token]]:
    """Return the gaps and tokens of a line in which something cannot be read: it belongs to the gap
    that it stands in.
    """
    gaps = [[parts[0]]]
    for token, raw, gap in zip(read, parts[1::2], parts[2::2], strict=True):
        if token is _UNREAD:
            gaps[-1] += raw, gap
        else:
            gaps.append([gap])
    return [b"".join(gap) for gap in gaps], [token for token in read if token is not _UNREAD]


def _value(raw: bytes) -> str | float | None:
    try:
        value: str | float = _DECODER.decode(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None  # an escape that JSON does not know, or a number of too many digits
    return value
