"""`cut_body` cuts a body into its JSON tokens (`Token`: a string or number) and the gaps (all bytes
between tokens), so that `redactor.py` can replace a token while every other byte stays.

`{"id": "a", "n": 1}` -> the gaps `{`, `: `, `, `, `: `, `}` around the tokens `"id"`, `"a"`, `"n"`,
`1`.

A stream repeats most strings in many frames. Equal strings at equal paths give the same `Token`
object, so that the token's replacement is computed once.
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
"""The keys that lead to a value in JSON; None stands for an element of an array."""

_PIECE = re.compile(
    rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(?:"|\\?(?=[\r\n]|\Z))'
    rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}\[\],]"
)
"""Matches a string, a number, a bracket or a comma of JSON. A string without a closing quote
matches up to the end of its line.
"""
_DATA = (b"data:", b"\xef\xbb\xbfdata:", b"{")
"""How a line with JSON may begin in a stream: `data:` in server-sent events (the first line may
have a byte order mark before it), `{` in lines of JSON.
"""
_SIGNS = frozenset((b"{", b"}", b"[", b"]", b","))
"""Brackets and commas: the pieces of JSON that are no tokens."""
_DECODER = json.JSONDecoder(strict=False)
"""Reads a string or a number. It accepts control characters in strings, which JSON forbids."""
_DEEPEST = 100
"""The most keys in a path. A path of a deeper value is cut, to save time; real replies are not as
deep.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A string or a number in JSON."""

    raw: bytes
    """The token's bytes, as the body has them."""
    path: Path
    """The keys that lead to the token; None stands for an element of an array. For example, the
    path of `"a"` in `{"choices": [{"id": "a"}]}` is `("choices", None, "id")`.
    """
    value: str | float
    """The value of the string or number."""
    is_key: bool = False
    """True if the token is a key of an object."""


class Pieces(NamedTuple):
    """A body in pieces: `gaps[0]`, `tokens[0]`, `gaps[1]`, `tokens[1]` ... and a last gap. Joined
    in this order, their bytes are the body.
    """

    gaps: list[bytes]
    """The bytes before, between and after the tokens: one gap more than tokens. A gap may be
    empty.
    """
    tokens: list[Token]
    """The strings and numbers of the body, in their order."""


def cut_body(body: bytes, stream: bool) -> Pieces:
    """Cut a body into gaps and tokens. Its JSON may be incomplete. A line of a stream that begins
    as none of `_DATA`, and a body that does not begin as JSON, have no tokens: they are parts of a
    gap. `stream`: True if each line of the body may hold JSON, False if the body is one JSON value.
    """
    reader = _BodyReader()
    if stream:
        for line in body.splitlines(keepends=True):
            reader.read(line, line.startswith(_DATA))
    else:
        reader.read(body, beginning_of(body, last=True) is FirstBytes.JSON)
    return Pieces([*reader.gaps, b"".join(reader.gap)], reader.tokens)


class _BodyReader:
    """Cuts one body: a stream line by line, any other body as one JSON value."""

    def __init__(self) -> None:
        self.gaps: list[bytes] = []
        """The bytes before each token that was read so far, at the token's index."""
        self.tokens: list[Token] = []
        """The tokens of JSON that were read so far."""
        self.gap: list[bytes] = []
        """The bytes since the last token, in parts that together begin the next gap."""
        self._token = cache(Token)
        self._decode_value = cache(_decode_value)
        self._forget_path()

    def _forget_path(self) -> None:
        """Forget the keys and brackets read so far: a new JSON value comes next."""
        self._path: list[str | None] = []
        self._objects: list[bool] = []
        self._name_next = False

    def read(self, line: bytes, is_json: bool) -> None:
        """Read a whole body, or a line of a stream. `is_json`: False if it has no JSON; all of it
        is then a part of a gap. A value that cannot be decoded is a part of a gap too.
        """
        end = 0
        for match in _PIECE.finditer(line) if is_json else ():
            if (piece := match[0]) in _SIGNS:
                self._update_path(piece)
            elif token := self._token_of(piece):
                self.gaps.append(b"".join([*self.gap, line[end : match.start()]]))
                self.tokens.append(token)
                self.gap, end = [], match.end()
        self.gap.append(line[end:])
        if len(self._path) > _DEEPEST or not line.strip(b"\r\n"):
            self._forget_path()

    def _update_path(self, sign: bytes) -> None:
        """Update the path at `sign`, a bracket or a comma. Record whether the next string is a
        key.
        """
        if sign in b"{[":
            self._path.append(None)
            self._objects.append(sign == b"{")
        elif sign != b",":
            del self._path[-1:], self._objects[-1:]
        self._name_next = sign in b"{," and bool(self._objects and self._objects[-1])

    def _token_of(self, raw: bytes) -> Token | None:
        """Return the token of the string or number `raw`, None if `raw` cannot be decoded. If `raw`
        is a key, put it into the path.
        """
        value = self._decode_value(raw)
        name, self._name_next = self._name_next and not isinstance(value, int | float), False
        if name:
            # A key that cannot be decoded becomes None: the path must not keep the key before it.
            self._path[-1] = value if isinstance(value, str) else None
        path = tuple(self._path[:_DEEPEST])
        return None if value is None else self._token(raw, path, value, name)


def _decode_value(raw: bytes) -> str | float | None:
    """Return the value of a string or number in JSON, None if it is invalid."""
    try:
        value: str | float = _DECODER.decode(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None  # An escape that JSON lacks, or too many digits for Python.
    return value


def interleave(gaps: Sequence[bytes], tokens: Sequence[bytes]) -> list[bytes]:
    """Return one list in the order of a body: the first gap, the first token, the second gap ...
    and the last gap.
    """
    both = [b""] * (len(gaps) + len(tokens))
    both[::2], both[1::2] = gaps, tokens
    return both


def moved_borders(
    before: Sequence[bytes], after: Sequence[bytes], borders: Sequence[int]
) -> list[int]:
    """Return the offsets at which the chunks of a changed body end.

    `before`: the gaps and tokens of the old body in order. `after`: those that replaced them.
    `borders`: the offsets at which the chunks of the old body ended. An offset within an old gap or
    token gives an offset within the new one.
    """
    starts, now = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    pieces = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inner = border - starts[at]
        pieces.append(now[at] + (min(inner, len(after[at])) if inner else 0))
    return pieces


def json_string(text: str) -> bytes:
    """Return a text as a JSON string in UTF-8, with its quotes. A surrogate that stands for a byte
    which is not UTF-8 (`surrogateescape`) becomes this byte again. A text with any other surrogate
    is written in ASCII, with escapes.
    """
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()
