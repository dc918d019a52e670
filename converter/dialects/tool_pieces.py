"""Tool calls, as servers stream them, to tool_use blocks, of which only one may be open at a time.

Calls whose pieces alternate are kept apart: the first goes out as it comes, the others wait until
it is complete or the reply ends. A server may repeat an index with a new id (a new call), leave the
index out, or send every call under index 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from converter.model.events import ToolCall
from converter.wire.bounds import MOST_CALLS, WAITING_LIMIT, TooMuchError
from converter.wire.partial_json import PartialJson


@dataclass(frozen=True, slots=True)
class ToolPiece:
    """A piece to write: `begins` opens a block of this id and name; `json` is a piece of its input.
    `cut`: the server left the object open, and the piece closes it.
    """

    begins: bool
    id: str = ""
    name: str = ""
    json: str = ""
    cut: bool = False


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    begun: bool = False
    sent_id: str = ""  # as the server has it, once it tells
    object: PartialJson = field(default_factory=PartialJson)
    ready: list[str] = field(default_factory=list)

    def add(self, event: ToolCall) -> None:
        self.name = self.name or event.name
        if text := self.object.feed(event.arguments):
            self.ready.append(text)


class ToolCalls:
    """Pieces of tool calls in, pieces of blocks out, one block after another."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        # name of the reply; calls without ids need some that no other reply of the conversation has
        self.reply = ""
        self._waiting: list[_Call] = []
        self._at_index: dict[int, _Call] = {}
        self._of_id: dict[str, _Call] = {}
        self._count = self._held = 0

    @property
    def open(self) -> bool:
        """Tell whether a call still waits for some of its arguments."""
        return any(not call.object.complete for call in self._waiting)

    def feed(self, event: ToolCall) -> list[ToolPiece]:
        """Return what can be written. Raises TooMuchError."""
        call = self._call(event)
        call.add(event)
        if call is not self._waiting[0] or not call.name:
            self._held += len(event.arguments)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)
        out: list[ToolPiece] = []
        while len(self._waiting) > 1 and self._waiting[0].object.complete:
            out += self._last_pieces(self._waiting.pop(0))
        return [*out, *_pieces(self._waiting[0])]

    def _call(self, event: ToolCall) -> _Call:
        """Return the call that the piece belongs to: the last one at its index, or the one there
        with its id, or a new one.
        """
        call = self._at_index.get(event.index)
        if (
            event.id
            and (call is None or event.id != call.sent_id)
            and (call is not None or not event.name)
        ):
            call = self._of_id.get(event.id, call)
        if call is None or _is_new(call, event):
            self._count += 1
            if self._count > MOST_CALLS:
                raise TooMuchError(MOST_CALLS)
            known = event.id in self._of_id or not event.id
            call = _Call(f"{event.id or 'toolu'}_{self.reply}_{self._count}" if known else event.id)
            self._waiting.append(call)
        self._at_index[event.index] = call
        if event.id:
            self._of_id[event.id] = call
            call.sent_id = event.id
        return call

    def end(self, whole: bool = True) -> list[ToolPiece]:
        """Return the rest of every call. `whole`: the reply was not cut short, so that a call
        without arguments is one that takes none.
        """
        out = [piece for call in self._waiting for piece in self._last_pieces(call, whole)]
        self._waiting.clear()
        self._held = 0
        self._at_index.clear()
        self._of_id.clear()
        return out

    def _last_pieces(self, call: _Call, whole: bool = True) -> Iterator[ToolPiece]:
        call.name = call.name or "unnamed"
        if call.object.said and not call.object.complete:
            self.notes.append(
                f"the arguments of the call to {call.name!r} are no JSON object and were made one"
            )
        elif call.object.unfit:
            self.notes.append(
                f"the arguments of the call to {call.name!r} go on after their object: "
                f"{call.object.unfit[:200]!r}"
            )
        cut = call.object.begun or not (whole or call.object.complete)
        if cut:
            yield from _pieces(call)
        if not call.object.complete:
            call.ready.append(call.object.close())
        yield from _pieces(call, cut)


def _is_new(call: _Call, event: ToolCall) -> bool:
    if event.id and call.sent_id:
        return event.id != call.sent_id
    another = bool(event.arguments.strip()) or event.name != call.name
    return bool(event.name and call.name) and call.object.complete and another


def _pieces(call: _Call, cut: bool = False) -> Iterator[ToolPiece]:
    if not call.name:
        return
    if not call.begun:
        call.begun = True
        yield ToolPiece(True, call.id, call.name)
    if call.ready:
        yield ToolPiece(False, json="".join(call.ready), cut=cut)
        call.ready.clear()
