"""Calls that a server sends although the client forbids calls (`tool_choice: none`). The JSON of
such a call becomes text, and the finish that of an answer.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from converter.core.calls.assembler import CALLED
from converter.core.model.events import Event, Finish, Text, TextKind, ToolCall


class ForbiddenCalls:
    """Takes the events of one choice from the assembler, and returns them with text instead of
    calls.
    """

    def __init__(self) -> None:
        self._begun = False  # text was emitted, so that a call has to begin a paragraph

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events for this event."""
        match event:
            case ToolCall():
                text = event.arguments + ("}" if event.ends else "")
                if event.name:
                    gap = "\n\n" if self._begun else ""
                    text = f'{gap}{{"name": {json.dumps(event.name)}, "arguments": {text}'
                    self._begun = True
                return [Text(text, event.choice)] if text else []
            case Text():
                self._begun = True
            case Finish() if event.reason in CALLED:
                return [replace(event, reason="stop")]
        return [event]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind` and no characters, because all text is plain; None for text of a call."""
        return None if kind is ToolCall else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return nothing, because no event is held."""
        return []
