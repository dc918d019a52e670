"""Tool calls, as the stage that judges them leaves them, to tool_use blocks, of which only one may
be open at a time.

Calls whose pieces alternate are kept apart: the first goes out as it comes, the others wait until
it is complete or the reply ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from converter.model.events import ToolCall
from converter.wire.bounds import MOST_CALLS, WAITING_LIMIT, TooMuchError


@dataclass(frozen=True, slots=True)
class ToolPiece:
    """A piece to write: `begins` opens a block of this id and name; `json` is a piece of its input.
    `cut`: the call has no end, so its input stays open.
    """

    begins: bool
    id: str = ""
    name: str = ""
    json: str = ""
    cut: bool = False


@dataclass(slots=True)
class _ToolCall:
    id: str = ""
    name: str = ""
    begun: bool = False
    ended: bool = False
    said: bool = False
    ready: list[str] = field(default_factory=list)

    def add(self, event: ToolCall) -> None:
        self.id, self.name = self.id or event.id, self.name or event.name
        self.ended = self.ended or event.ends
        if event.arguments:
            self.said = True
            self.ready.append(event.arguments)

    def pieces(self) -> Iterator[ToolPiece]:
        if not self.name:
            return
        if not self.begun:
            self.begun = True
            yield ToolPiece(True, self.id, self.name)
        if self.ready:
            yield ToolPiece(False, json="".join(self.ready))
            self.ready.clear()

    def rest(self) -> Iterator[ToolPiece]:
        """Yield the rest at the reply's end. A call of which nothing was said is open as well:
        clients take no input for an empty one.
        """
        self.name = self.name or "unnamed"
        if not (self.said or self.ended):
            self.ready.append("{")
        yield from self.pieces()
        if not self.ended:
            yield ToolPiece(False, cut=True)


class ToolCalls:
    """Pieces of tool calls in, pieces of blocks out, one block after another."""

    def __init__(self) -> None:
        self._waiting: dict[int, _ToolCall] = {}
        self._count = self._held = 0

    @property
    def open(self) -> bool:
        """Tell whether a call still waits for some of its arguments."""
        return any(not call.ended for call in self._waiting.values())

    def feed(self, event: ToolCall) -> list[ToolPiece]:
        """Return the pieces that can be written. Raises TooMuchError."""
        call = self._waiting.get(event.index) or self._begun(event.index)
        call.add(event)
        if call is not self._first or not call.name:
            self._held += len(event.arguments)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)
        out: list[ToolPiece] = []
        while len(self._waiting) > 1 and self._first.ended:
            out += self._first.rest()
            del self._waiting[next(iter(self._waiting))]
        return [*out, *self._first.pieces()]

    def end(self) -> list[ToolPiece]:
        """Return the rest of every call."""
        out = [piece for call in self._waiting.values() for piece in call.rest()]
        self._waiting.clear()
        self._held = 0
        return out

    @property
    def _first(self) -> _ToolCall:
        return next(iter(self._waiting.values()))

    def _begun(self, index: int) -> _ToolCall:
        self._count += 1
        if self._count > MOST_CALLS:
            raise TooMuchError(MOST_CALLS)
        call = self._waiting[index] = _ToolCall()
        return call
