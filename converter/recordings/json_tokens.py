"""Where the strings and numbers of a body stand, so that one can be changed and every other byte stays as it came."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

type Path = tuple[str | None, ...]

_TOKEN = re.compile(rb'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}\[\],]')
_DECODER = json.JSONDecoder(strict=False)
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Token:
    """A string or a number, from `start` to `end` of a body. `path`: the names that lead to it, None for a place in an array.

    `name`: it is a name itself.
    """

    start: int
    end: int
    path: Path
    value: str | float
    name: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes in place of those from `start` to `end`."""

    start: int
    end: int
    new: bytes


def tokens(body: bytes, stream: bool) -> Iterator[Token]:
    """Return every string and number, of JSON that may be cut short; what is no JSON has none."""
    if stream:
        yield from _of_stream(body)
    elif body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        yield from _Scanner().scan(body, 0, len(body))


def _of_stream(body: bytes) -> Iterator[Token]:
    scanner = _Scanner()
    for line in _LINE.finditer(body):
        if not line[0].strip(b"\r\n"):
            scanner = _Scanner()
        elif line[0].startswith(b"data:"):
            yield from scanner.scan(body, line.start() + len(b"data:"), line.end())


class _Scanner:
    """Reads one value, which may go on in another line. Each open object or array is a list: its name now, None in an array."""

    def __init__(self) -> None:
        self._open: list[str | None] = []
        self._objects: list[bool] = []
        self._names_next = False

    def scan(self, body: bytes, start: int, end: int) -> Iterator[Token]:
        for found in _TOKEN.finditer(body, start, end):
            if token := self._read(found.group(), found.start(), found.end()):
                yield token

    def _read(self, raw: bytes, start: int, end: int) -> Token | None:
        if raw in b"{[":
            self._open.append(None)
            self._objects.append(raw == b"{")
            self._names_next = raw == b"{"
        elif raw in b"}]":
            del self._open[-1:], self._objects[-1:]
            self._names_next = False
        elif raw == b",":
            self._names_next = bool(self._objects and self._objects[-1])
        else:
            return self._scalar(raw, start, end)
        return None

    def _scalar(self, raw: bytes, start: int, end: int) -> Token | None:
        value = _value_again(raw) if len(raw) < _SHORT else _value(raw)
        if value is None:
            return None
        name, self._names_next = self._names_next and isinstance(value, str), False
        if name:
            self._open[-1] = str(value)
        return Token(start, end, tuple(self._open), value, name)


def _value(raw: bytes) -> str | float | None:
    try:
        value: str | float = _DECODER.decode(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None  # an escape that JSON does not know, or a number of too many digits
    return value


_value_again = lru_cache(maxsize=1024)(_value)
"""For short ones: a stream says the same in frame after frame."""
_SHORT = 64


def written(text: str) -> bytes:
    """Return a string as JSON; bytes that were no UTF-8 stay what they were."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def edited(body: bytes, edits: list[Edit], borders: list[int]) -> tuple[bytes, list[int]]:
    """Return the body with the edits made, which are in order and apart, and where each of the rising `borders` is now."""
    out = bytearray()
    moved: list[int] = []
    at = 0
    waiting = iter([*borders, len(body) + 1])
    border = next(waiting)
    for edit in [*edits, Edit(len(body), len(body), b"")]:
        while border < edit.start:
            moved.append(len(out) + border - at)
            border = next(waiting)
        out += body[at : edit.start]
        while border < edit.end or border == edit.start < len(body):
            moved.append(len(out) + min(border - edit.start, len(edit.new)))
            border = next(waiting)
        out += edit.new
        at = edit.end
    return bytes(out), [*moved, *(len(out) for place in borders if place >= len(body))]
