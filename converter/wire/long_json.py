"""Long JSON, read and written in short steps, so that other threads have their turn in between.

Python's own reader and writer do a text of megabytes in one call of C, and no other thread runs
meanwhile. Here the outer objects and lists are walked; a part that ends within a window is left to
C, and a string that is longer than one is done piece by piece. The values and the bytes are the
same. It costs up to five times as much, so it is for work beside a loop (`json_text`).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import cast

from converter.wire.bounds import DEEPEST

WINDOW = 4096
"""Characters that are read at once, but for strings: some 10 microseconds."""
PIECE = 1 << 17
"""Characters of a string that are read or written at once: up to 1 millisecond."""
_FEW = 500
"""Values that are written at once."""
_SHORT = 1000
"""Characters of a string among them."""
_TRIES = 8
"""Windows of a list that may fail to hold several whole values before single ones are read."""
_ESCAPE = 6
"""Characters of the longest escape, `\\u00e9`; a pair of surrogates has two."""
_BLANKS = re.compile(r"[ \t\r\n]*+")
_ENDS = {"{": "},", "[": "],", '"': '",'}
"""Ends of a value with the comma behind it, by how the value begins."""
_SCALARS = (str, int, float, bool, type(None))

type Encode = Callable[[object], str]


def read(text: str, decoder: json.JSONDecoder) -> object:
    """Return the value that `decoder` would return. Raises ValueError."""
    reading = _Reading(text, decoder)
    value, at = reading.value(reading.behind_blanks(0), DEEPEST)
    if reading.behind_blanks(at) < len(text):
        raise json.JSONDecodeError("Extra data", text[at : at + WINDOW], 0)
    return value


class _Reading:
    """One text. `at`, in all methods: the place where something begins."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder

    def behind_blanks(self, at: int) -> int:
        """Return the place of the next character that is no blank."""
        blanks = _BLANKS.match(self._text, at)
        return blanks.end() if blanks else at

    def value(self, at: int, deepest: int) -> tuple[object, int]:
        """Return the value, and the place behind it."""
        window = self._text[at : at + WINDOW]
        try:
            value, end = self._decoder.raw_decode(window)
        except ValueError:
            if window[:1] == '"':
                return self._string(at + 1)
            if window[:1] not in ("[", "{") or not deepest or len(window) < WINDOW:
                raise
            return self._container(at, deepest - 1)
        if end == WINDOW and window[-1] not in '"]}':  # a number, which may go on
            value, end = self._decoder.raw_decode(self._text[at : at + PIECE])
        return value, at + end

    def _container(self, at: int, deepest: int) -> tuple[object, int]:
        opener = self._text[at]
        closer = "}" if opener == "{" else "]"
        made: dict[str, object] | list[object] = {} if opener == "{" else []
        tries, end = _TRIES, ","
        at = self.behind_blanks(at + 1)
        while end == ",":
            many, behind = self._several(at, opener, closer) if tries else (None, at)
            if many is None:
                tries -= bool(tries)
                many, behind = self._single(at, opener, deepest)
            if isinstance(made, dict):
                made.update(many)  # type: ignore[arg-type]
            else:
                made.extend(many)
            behind = self.behind_blanks(behind)
            end = self._text[behind : behind + 1]
            at = self.behind_blanks(behind + 1)
        if end != closer:
            raise json.JSONDecodeError("Expecting ',' delimiter", end, 0)
        return made, behind + 1

    def _single(self, at: int, opener: str, deepest: int) -> tuple[Iterable[object], int]:
        """Return one value, in its container's kind."""
        if opener == "[":
            value, at = self.value(at, deepest)
            return [value], at
        if self._text[at : at + 1] != '"':
            raise ValueError("a name of a field is no string")
        name, at = self._string(at + 1)
        at = self.behind_blanks(at)
        if self._text[at : at + 1] != ":":
            raise ValueError("no colon behind the name of a field")
        value, at = self.value(self.behind_blanks(at + 1), deepest)
        return {name: value}, at

    def _several(self, at: int, opener: str, closer: str) -> tuple[Iterable[object] | None, int]:
        """Return the values of a container up to the last in the window that may be whole; None
        where it is not. The text is written so if C can read it between brackets.
        """
        window = self._text[at : at + WINDOW]
        mark = ',"' if opener == "{" else _ENDS.get(window[:1], ",")
        cut = window.rfind(mark) + (len(mark) - 1 if opener == "[" else 0)
        if cut <= 0 or len(window) < WINDOW:
            return None, at
        try:
            many = self._decoder.decode(f"{opener}{window[:cut]}{closer}")
        except ValueError:
            return None, at
        return cast("Iterable[object]", many), at + cut

    def _string(self, at: int) -> tuple[str, int]:
        """Return a string, from behind its first quote on, and the place behind the last."""
        text, strict, pieces = self._text, self._decoder.strict, list[str]()
        while True:
            window = text[at : at + PIECE]
            cut = _before_escape(window) if len(window) == PIECE else len(window)
            piece, end = scanstring(f'{window[:cut]}"', 0, strict)
            if end <= cut:
                return "".join([*pieces, piece]), at + end
            if len(window) < PIECE:
                raise json.JSONDecodeError("Unterminated string", window[:WINDOW], 0)
            if "\ud800" <= piece[-1:] <= "\udbff":  # its other half may follow
                piece, cut = piece[:-1], cut - _ESCAPE
            pieces.append(piece)
            at += cut


def _before_escape(window: str) -> int:
    """Return where to cut: at the end, or before an escape that may go on behind it."""
    last = window.rfind("\\", max(0, len(window) - _ESCAPE))
    run = last + 1 - len(window[: last + 1].rstrip("\\"))
    return last if run % 2 else len(window)


def pieces(value: object, encode: Encode) -> list[str]:
    """Return `encode`'s text of the value, in pieces; it puts nothing behind a comma."""
    out: list[str] = []
    _write(value, encode, out, DEEPEST)
    return out


def _write(value: object, encode: Encode, out: list[str], deepest: int) -> None:
    if isinstance(value, str) and len(value) > PIECE:
        parts = (value[at : at + PIECE] for at in range(0, len(value), PIECE))
        out += ['"', *(encode(part)[1:-1] for part in parts), '"']
    elif isinstance(value, dict) and deepest and not _is_short(value.values()):
        for at, (name, inner) in enumerate(value.items()):
            out.append(("," if at else "{") + encode(str(name)) + ":")
            _write(inner, encode, out, deepest - 1)
        out.append("}")
    elif isinstance(value, list | tuple) and deepest and not _is_short(value):
        _write_list(value, encode, out, deepest - 1)
    else:
        out.append(encode(value))


def _write_list(
    value: list[object] | tuple[object, ...], encode: Encode, out: list[str], deepest: int
) -> None:
    for at in range(0, len(value), _FEW):
        few = value[at : at + _FEW]
        out.append("," if at else "[")
        if _is_short(few):
            out.append(encode(few)[1:-1])
            continue
        for number, inner in enumerate(few):
            out += [","] if number else []
            _write(inner, encode, out, deepest)
    out.append("]")


def _is_short(values: "Iterable[object] | Mapping[str, object]") -> bool:
    """Tell whether the values are few and small, and hold no others."""
    few = list(values)
    if len(few) > _FEW:
        return False
    return all(
        type(value) in _SCALARS and (type(value) is not str or len(value) <= _SHORT)
        for value in few
    )
