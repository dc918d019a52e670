"""Calls that are said twice: one of the two goes out.

Models write a draft that ended its thought once more behind the thought's closer, and servers tell
a call that stood in the text. So where such calls may come again, later ones wait for their end,
and those that mean the same are dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.core.calls.arguments import meaning_of
from converter.core.model.events import Event, ToolCall
from converter.core.wire.bounds import HELD_LIMIT

_PIECE_COST = 16
"""Characters that a held piece of a call counts as beside its own, because it may say nothing."""


class Repeats:
    """Events of one choice in, the same out, less the calls that were said before.

    `dropped`: the indices of those. Nothing is remembered beyond a bound.
    """

    def __init__(self) -> None:
        self.dropped: list[int] = []
        self._emitted: dict[int, list[ToolCall]] = {}  # calls that went out, as pieces
        self._meanings: list[object] = []
        self._held: dict[int, list[ToolCall]] = {}
        self._length = 0

    @property
    def holds(self) -> bool:
        """Return True if calls wait."""
        return bool(self._held)

    def expect(self) -> None:
        """From here on hold calls that may repeat those that went out."""
        meanings = map(_meaning, self._emitted.values())
        self._meanings = [meaning for meaning in meanings if meaning is not None]

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that go out."""
        out: list[Event] = []
        for event in events:
            if not isinstance(event, ToolCall):
                out += [*self.release(), event]
                continue
            self._length += _PIECE_COST + len(event.arguments)
            if self._meanings and self._length <= HELD_LIMIT:
                self._held.setdefault(event.index, []).append(event)
            else:
                out += [*self.release(), self._numbered(event)]
        return out

    def release(self) -> list[Event]:
        """Return the held calls that repeat none."""
        held, self._held = self._held, {}
        out: list[Event] = []
        for index, pieces in held.items():
            if (meaning := _meaning(pieces)) in self._meanings:
                self._meanings.remove(meaning)
                self.dropped.append(index)
            else:
                out += map(self._numbered, pieces)
        return out

    def _numbered(self, piece: ToolCall) -> ToolCall:
        """Return a piece that goes out, under its number without those that were dropped."""
        if self._length <= HELD_LIMIT:
            self._emitted.setdefault(piece.index, []).append(piece)
        return replace(piece, index=piece.index - len(self.dropped)) if self.dropped else piece


def _meaning(pieces: Sequence[ToolCall]) -> tuple[str, str] | None:
    """Return the name and the meaning of a call; None of one that was cut off."""
    name = next((piece.name for piece in pieces if piece.name), "")
    meaning = meaning_of("".join(piece.arguments for piece in pieces) or "{}")
    return (name, meaning) if meaning else None
