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
    """Takes the events of one choice from the assembler, and returns the events with text in place
    of calls. The text of calls waits for other text, for the finish, or for too much of it, so that
    calls whose pieces alternate stand one behind the other.
    """

    def __init__(self) -> None:
        self._begun = False  # text came out, so that a call begins a paragraph
        self._texts: dict[int, str] = {}

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case ToolCall():
                self._add(event)
                length = sum(map(len, self._texts.values()))
                return self._released(event.choice) if length > HELD_LIMIT else []
            case Text():
                self._begun = True
                return [*self._released(event.choice), event]
            case Finish():
                reason = "stop" if event.reason in CALLED else event.reason
                return [*self._released(event.choice), replace(event, reason=reason)]
        return [event]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return all text that is of no call, while no text of calls waits."""
        return None if kind is ToolCall or any(self._texts.values()) else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return nothing: a reply without a finish has failed."""
        return []

    def _add(self, event: ToolCall) -> None:
        text = event.arguments + ("}" if event.ends else "")
        if event.name:
            gap = "\n\n" if self._begun else ""
            text = f'{gap}{{"name": {json.dumps(event.name)}, "arguments": {text}'
            self._begun = True
        self._texts[event.index] = self._texts.get(event.index, "") + text

    def _released(self, choice: int) -> list[Event]:
        text, self._texts = "".join(self._texts.values()), {}
        return [Text(text, choice)] if text else []
