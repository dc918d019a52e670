"""The order in which blocks can be written, one after another: content and calls that wait for the
end of another call.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from converter.core.model.events import Event, Text, Thinking, ToolCall
from converter.core.wire.bounds import DELAYED_LIMIT, MOST_CALLS, WAITING_LIMIT, TooMuchError


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
    id: str
    name: str
    begun: bool = False
    ended: bool = False
    has_arguments: bool = False
    ready: list[str] = field(default_factory=list)

    def add(self, event: ToolCall) -> None:
        self.ended = self.ended or event.ends
        if event.arguments:
            self.has_arguments = True
            self.ready.append(event.arguments)

    def pieces(self) -> Iterator[ToolPiece]:
        if not self.begun:
            self.begun = True
            yield ToolPiece(True, self.id, self.name)
        if self.ready:
            yield ToolPiece(False, json="".join(self.ready))
            self.ready.clear()

    def rest(self) -> Iterator[ToolPiece]:
        """Yield the rest at the reply's end. A call without any arguments is open as well: clients
        take no input for an empty one.
        """
        if not (self.has_arguments or self.ended):
            self.ready.append("{")
        yield from self.pieces()
        if not self.ended:
            yield ToolPiece(False, cut=True)


_LEAST = 64
"""Characters that an event counts at least, because any event costs memory."""


class InOrder[Content: Event]:
    """Content and pieces of tool calls in, as the assembler leaves them: the first of each call has
    its name and id. The same out in the order in which blocks can be written, one after another.

    The first call goes out as it comes. Behind it all else waits, other calls and content, which
    would tear it apart, until the call is complete or the reply ends.
    """

    def __init__(self) -> None:
        self._calls: dict[int, _ToolCall] = {}
        self._waiting: deque[Content | _ToolCall] = deque()
        self._held = self._length = 0

    @property
    def open(self) -> bool:
        """Return True if a call still waits for some of its arguments."""
        return bool(self._waiting)

    def feed(self, event: Content | ToolCall) -> Iterator[Content | ToolPiece]:
        """Yield the content that can be written by now. Raises TooMuchError."""
        if isinstance(event, ToolCall):
            self._add(event)
        else:
            text = event.text if isinstance(event, (Text, Thinking)) else ""
            self._length += max(_LEAST, len(text))
            if self._waiting and self._length > DELAYED_LIMIT:
                raise TooMuchError(DELAYED_LIMIT)
            self._waiting.append(event)
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _ToolCall):
                yield from first.pieces()
                if not first.ended:
                    return
            else:
                yield first
            self._waiting.popleft()
        self._length = 0

    def end(self) -> Iterator[Content | ToolPiece]:
        """Yield the rest of every call, and the content that waited for it."""
        for each in self._waiting:
            yield from each.rest() if isinstance(each, _ToolCall) else (each,)
        self._waiting.clear()

    def _add(self, event: ToolCall) -> None:
        if event.index not in self._calls:
            if len(self._calls) == MOST_CALLS:
                raise TooMuchError(MOST_CALLS)
            self._calls[event.index] = _ToolCall(event.id, event.name)
            self._waiting.append(self._calls[event.index])
        call = self._calls[event.index]
        call.add(event)
        if call is not next(iter(self._waiting), call):
            self._held += len(event.arguments)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)
