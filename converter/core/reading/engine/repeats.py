"""`Repeats` drops a call that repeats an earlier call of the reply.

A model may write a call at the end of a thought, and once more behind the thought's closer. A
server may send a call itself that was read from the text already. When a repetition is possible
(`expect_repeats`), later calls are held until they are complete. A call with the name and arguments
of an earlier call is dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.core.calls.arguments import meaning_of
from converter.core.model.events import Event, ToolCall
from converter.core.wire.bounds import HELD_LIMIT

_PIECE_COST = 16
"""How many characters each piece of a call adds to its arguments in the count for `HELD_LIMIT`,
because a stream may have very many pieces without arguments.
"""


class Repeats:
    """The filter, for the events of one choice. Once the calls of the choice have `HELD_LIMIT`
    characters, later calls are no longer held and compared: a repeated one is then emitted twice.

    Attributes:
        dropped: the indexes of the calls that were dropped.
    """

    def __init__(self) -> None:
        self.dropped: list[int] = []
        # index of a call -> the pieces of the call that were emitted
        self._emitted: dict[int, list[ToolCall]] = {}
        self._meanings: list[object] = []
        self._held: dict[int, list[ToolCall]] = {}
        self._length = 0

    @property
    def holds(self) -> bool:
        """True if calls are held."""
        return bool(self._held)

    def expect_repeats(self) -> None:
        """Compare each later call with the calls that were emitted so far, and hold it until it is
        complete.
        """
        meanings = map(_meaning_of_call, self._emitted.values())
        self._meanings = [meaning for meaning in meanings if meaning is not None]

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that need not be held. Before an event that is no piece of a call, all
        held calls are returned, or dropped as repetitions.
        """
        out: list[Event] = []
        for event in events:
            if not isinstance(event, ToolCall):
                out += [*self.release(), event]
                continue
            self._length += _PIECE_COST + len(event.arguments)
            if self._meanings and self._length <= HELD_LIMIT:
                self._held.setdefault(event.index, []).append(event)
            else:
                out += [*self.release(), self._number_anew(event)]
        return out

    def release(self) -> list[Event]:
        """Hold no call any longer: return the pieces of the held calls, but drop the calls that
        repeat an emitted call.
        """
        held, self._held = self._held, {}
        out: list[Event] = []
        for index, pieces in held.items():
            if (meaning := _meaning_of_call(pieces)) in self._meanings:
                self._meanings.remove(meaning)
                self.dropped.append(index)
            else:
                out += map(self._number_anew, pieces)
        return out

    def _number_anew(self, piece: ToolCall) -> ToolCall:
        """Return `piece`, a piece of a call that is emitted now, with its index lowered by the
        number of dropped calls. Keep it, so that later calls can be compared with its call.
        """
        if self._length <= HELD_LIMIT:
            self._emitted.setdefault(piece.index, []).append(piece)
        return replace(piece, index=piece.index - len(self.dropped)) if self.dropped else piece


def _meaning_of_call(pieces: Sequence[ToolCall]) -> tuple[str, str] | None:
    """Return the name and the normalised arguments of the call that consists of these pieces;
    `None` if its arguments are not valid JSON.
    """
    name = next((piece.name for piece in pieces if piece.name), "")
    meaning = meaning_of("".join(piece.arguments for piece in pieces) or "{}")
    return (name, meaning) if meaning else None
