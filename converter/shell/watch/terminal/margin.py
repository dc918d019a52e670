"""A margin at the left of all that a model says, so that no line of it passes for one of the log or
for the head of another reply.

Lines are broken at the terminal's width: where the terminal itself breaks one, the rest would begin
at its left edge.
"""

import re
import unicodedata
from collections.abc import Iterator

MARGIN = "  "
LONGEST_LINE = 1000
"""Columns of a line where the width is not known."""
_LEAST = 20
"""Columns of a terminal below which nothing can be read anyway."""
_PIECES = re.compile(r"\x1b\[[0-9;]*m|\n|[^\n\t\x1b\x80-\U0010ffff]+|[\t\x80-\U0010ffff]+|\x1b")
"""ASCII stands alone, because it is placed without a look at each letter; but for tabs, which are
wide.
"""


class Margin:
    """Text of one reply in, the same with a margin out. `width`: the terminal's; 0: unknown."""

    def __init__(self, width: int = 0) -> None:
        self._room = max(_LEAST, width or LONGEST_LINE) - len(MARGIN)
        self._column = -1  # no margin yet

    def feed(self, text: str) -> str:
        """Return what to print."""
        return "".join(map(self._piece, _PIECES.findall(text)))

    def restart(self) -> None:
        """Begin at the left edge: somebody else has ended the line."""
        self._column = -1

    def _piece(self, piece: str) -> str:
        if piece == "\n":
            self._column = -1
            return piece
        if piece[0] == "\x1b":
            return piece
        if "\t" < piece[0] < "\x80":
            return "".join(self._cut(piece))
        return "".join(self._placed(letter, columns(letter)) for letter in piece)

    def _cut(self, piece: str) -> Iterator[str]:
        """Place letters of one column: as many as there is room for, and again."""
        while piece:
            room = self._room - max(0, self._column) or self._room
            yield self._placed(piece[:room], min(room, len(piece)))
            piece = piece[room:]

    def _placed(self, text: str, width: int) -> str:
        begins = self._column < 0
        breaks = not begins and self._column + width > self._room
        before = MARGIN if begins else "\n" + MARGIN if breaks else ""
        self._column = (0 if begins or breaks else self._column) + width
        return before + text


def columns(letter: str) -> int:
    """Return the columns that a character takes; a tab as many as it may."""
    if letter == "\t":
        return 8
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
