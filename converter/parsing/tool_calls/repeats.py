"""Calls that a model writes twice: as a draft that ended its thought, and once more behind the
thought's closer.

The draft has gone out at once, because its opener ends the thought. What repeats it letter by
letter is held until it is the same or another call; no other call waits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from converter.model.events import Event, ToolCall
from converter.wire.partial_json import is_open

type Said = tuple[str, str]
"""The name and the arguments of a call."""


class Repeats:
    """Events in, events out: calls that were drafts of a closed thought come once. `dropped`: the
    indices of those that were left out.
    """

    def __init__(self) -> None:
        self._drafts: list[Said] = []
        self._held: list[ToolCall] = []
        self._other = -1  # the call that is known to be no draft
        self.dropped: list[int] = []

    @property
    def holds(self) -> bool:
        """Tell whether pieces of a call wait."""
        return bool(self._held)

    def closed(self, calls: Iterable[Sequence[ToolCall]]) -> None:
        """The thought is closed behind these calls; one that was cut off is no draft."""
        keys = map(_said, calls)
        self._drafts = [draft for draft in keys if not is_open(draft[1])]

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the words that can go out."""
        if not (self._drafts or self.dropped):
            return list(events)
        return [made for event in events for made in self._of(event)]

    def close(self) -> list[Event]:
        """Return the held words: it is no draft."""
        held, self._held = self._held, []
        return [replace(piece, index=piece.index - len(self.dropped)) for piece in held]

    def _of(self, event: Event) -> list[Event]:
        if not isinstance(event, ToolCall):
            return [*self.close(), event]
        before = self.close() if self._held and self._held[-1].index != event.index else []
        self._held.append(event)
        held = _said(self._held)
        if held in self._drafts and event.index != self._other:
            self._drafts.remove(held)
            self._held.clear()
            self.dropped.append(event.index)
            return before
        if event.index == self._other or not any(_begins(held, draft) for draft in self._drafts):
            self._other = event.index
            return [*before, *self.close()]
        return before


def _begins(call: Said, draft: Said) -> bool:
    return call[0] == draft[0] and draft[1].startswith(call[1])


def _said(pieces: Sequence[ToolCall]) -> Said:
    name = next((piece.name for piece in pieces if piece.name), "")
    return name, "".join(piece.arguments for piece in pieces)
