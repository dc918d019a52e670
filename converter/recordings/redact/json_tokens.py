"""A body in pieces: its strings and numbers, and the gaps between them, so that one can be
changed and the rest stays.

A stream says nearly the same in frame after frame. So the same string in the same place is the
same Token each time, because whoever decides about tokens decides once for each.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, batched

type Path = tuple[str | None, ...]

_SCALAR = re.compile(
    rb'("[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(?:"|\\?(?=[\r\n]|\Z))'
    rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
)
"""A string that is cut counts to the line's end, or each quote in it would be tried as a first."""
_MARK = re.compile(rb"[{}\[\],]")
_DATA = (b"data:", b"\xef\xbb\xbfdata:", b"{")
"""How a line of data begins; a stream may begin with a byte order mark, or be of JSON's lines."""
_NEXT = frozenset((b",", b", "))
"""Gaps between values of one array, of which there may be millions."""
_COLON = frozenset((b":", b": "))
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST = 100
"""Names in a path: deeper values are nobody's reply, and must not cost its depth for each
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
    """Cut up a body: JSON that may be cut short; any other text is all gap."""
    reader = _BodyReader()
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


class _BodyReader:
    """Reads one body, line by line. Each object or array that is open has a name in the path: None
    in an array.
    """

    def __init__(self) -> None:
        self._gaps: list[bytes] = []
        self._tokens: list[Token] = []
        self._gap: list[bytes] = []
        self._known: dict[tuple[bytes, Path, bool], Token | None] = {}
        self._value = cache(_value)
        self._begin()

    def _begin(self) -> None:
        self._path: list[str | None] = []
        self._objects: list[bool] = []
        self._name_next = False

    def read(self, line: bytes) -> None:
        """Read a line of a stream."""
        if line.startswith(_DATA):
            self.scan(line)
            return
        self.skip(line)
        if not line.strip(b"\r\n"):
            self._begin()

    def skip(self, text: bytes) -> None:
        """Read text that is no JSON."""
        self._gap.append(text)

    def scan(self, line: bytes) -> None:
        """Read JSON, or one line of it; a mock value belongs to its gap."""
        gap, *rest = _SCALAR.split(line)
        path = self._pass_over(gap)
        self._gap.append(gap)
        for raw, gap in batched(rest, 2):
            if token := self._take(raw, path):
                self._gaps.append(b"".join(self._gap))
                self._tokens.append(token)
                self._gap = [gap]
            else:
                self._gap += raw, gap
            if token and gap in _COLON:
                path = token.path
            elif gap not in _NEXT or self._in_object:
                path = self._pass_over(gap)
        if not 0 < len(self._path) <= _DEEPEST:
            self._begin()

    @property
    def _in_object(self) -> bool:
        return bool(self._objects and self._objects[-1])

    def _pass_over(self, gap: bytes) -> Path:
        """Go on behind a gap; return the path of the next value."""
        for mark in _MARK.findall(gap):
            if mark in b"{[":
                self._path.append(None)
                self._objects.append(mark == b"{")
                self._name_next = mark == b"{"
            elif mark == b",":
                self._name_next = self._in_object
            else:
                del self._path[-1:], self._objects[-1:]
                self._name_next = False
        return tuple(self._path[:_DEEPEST])

    def _take(self, raw: bytes, path: Path) -> Token | None:
        """Return the token that is written so; `None` for one that cannot be read."""
        name = self._name_next
        self._name_next = False
        if name and not isinstance(value := self._value(raw), int | float):
            # a name that cannot be read is not the name before it
            self._path[-1] = value
            path, name = tuple(self._path[:_DEEPEST]), value is not None
        else:
            name = False
        key = raw, path, name
        if key not in self._known:
            value = self._value(raw)
            self._known[key] = None if value is None else Token(raw, path, value, name)
        return self._known[key]

    def pieces(self) -> Pieces:
        """Return all that was read."""
        return Pieces([*self._gaps, b"".join(self._gap)], self._tokens)


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
    """Return where each of the borders is, now that the pieces of a body are others; one in a new
    piece stays in it.
    """
    starts, now = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    pieces = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inner = border - starts[at]
        pieces.append(now[at] + (min(inner, len(after[at])) if inner else 0))
    return pieces


def written(text: str) -> bytes:
    """Return a string as JSON; bytes that were no UTF-8 stay what they were."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()
