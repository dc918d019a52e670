"""A filter for calls that stand twice in a reply: the second one is dropped.

A model may write a call at the end of a thought, and once more behind the thought's closer. A
server may send a call that was read from the text already. If this can happen (`expect`), later
calls wait until they are complete, and those with the name and arguments of an earlier call are
dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.core.calls.arguments import meaning_of
from converter.core.model.events import Event, ToolCall
from converter.core.wire.bounds import HELD_LIMIT

_PIECE_COST = 16
"""A held piece of a call counts as so many characters more than it has, because it may have
none.
"""


class Repeats:
    """The filter, for the events of one choice. It remembers up to `HELD_LIMIT` characters of
    calls.

    Attributes:
        dropped: the indexes of the calls that were dropped.
    """

    def __init__(self) -> None:
        self.dropped: list[int] = []
        self._emitted: dict[int, list[ToolCall]] = {}  # the pieces of calls that were emitted
        self._meanings: list[object] = []
        self._held: dict[int, list[ToolCall]] = {}
        self._length = 0

    @property
    def holds(self) -> bool:
        """True if calls wait."""
        return bool(self._held)

    def expect(self) -> None:
        """Hold all calls from here on, because they may repeat calls that were emitted."""
        meanings = map(_meaning, self._emitted.values())
        self._meanings = [meaning for meaning in meanings if meaning is not None]

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that need not wait; any other event releases the calls that wait."""
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
        """Return the held calls, without those that repeat an emitted call."""
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
        """Return a piece that is emitted. Its index does not count the dropped calls."""
        if self._length <= HELD_LIMIT:
            self._emitted.setdefault(piece.index, []).append(piece)
        return replace(piece, index=piece.index - len(self.dropped)) if self.dropped else piece


def _meaning(pieces: Sequence[ToolCall]) -> tuple[str, str] | None:
    """Return a call's name and its normalised arguments; `None` if the call was cut off."""
    name = next((piece.name for piece in pieces if piece.name), "")
    meaning = meaning_of("".join(piece.arguments for piece in pieces) or "{}")
    return (name, meaning) if meaning else None
