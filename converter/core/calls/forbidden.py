"""The server's own calls in a reply whose client wants none (`tool_choice: none`): their JSON is
text, and the finish is that of an answer.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from converter.core.calls.assembler import CALLED
from converter.core.model.events import Event, Finish, Text, TextKind, ToolCall
from converter.core.wire.bounds import HELD_LIMIT


class ForbiddenCalls:
    """Events of one choice behind the assembler in, events out. Of calls that take turns the later
    ones wait, up to a bound.
    """

    def __init__(self) -> None:
        self._begun = False  # something was said, so that a call begins a paragraph
        self._waiting: dict[int, str] = {}
        self._ended: set[int] = set()

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case ToolCall():
                text = self._piece(event)
                return [Text(text, event.choice)] if text else []
            case Text():
                self._begun = True
            case Finish():
                rest = "".join(self._waiting.values())
                self._waiting.clear()
                reason = "stop" if event.reason in CALLED else event.reason
                held = [Text(rest, event.choice)] if rest else []
                return [*held, replace(event, reason=reason)]
        return [event]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return all text that is of no call."""
        return None if kind is ToolCall else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return nothing: a reply without a finish has failed."""
        return []

    def _piece(self, event: ToolCall) -> str:
        text = event.arguments + ("}" if event.ends else "")
        if event.name:
            gap = "\n\n" if self._begun else ""
            text = f'{gap}{{"name": {json.dumps(event.name)}, "arguments": {text}'
            self._begun = True
        self._waiting[event.index] = self._waiting.get(event.index, "") + text
        if event.ends:
            self._ended.add(event.index)
        out = ""
        for index, waiting in [*self._waiting.items()]:
            out += waiting
            self._waiting[index] = ""
            if index in self._ended:
                del self._waiting[index]
            elif sum(map(len, self._waiting.values())) <= HELD_LIMIT:
                break
        return out
