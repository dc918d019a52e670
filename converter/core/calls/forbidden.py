"""The server's own calls in a reply whose client wants none (`tool_choice: none`): their JSON is
text, and the finish is that of an answer.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from converter.core.calls.assembler import CALLED
from converter.core.model.events import Event, Finish, Text, TextKind, ToolCall


class ForbiddenCalls:
    """Takes the events of one choice from the assembler, and returns them with text in place of
    calls.
    """

    def __init__(self) -> None:
        self._begun = False  # text came out, so that a call begins a paragraph

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
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
        """Return all text that is of no call."""
        return None if kind is ToolCall else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return nothing: a reply without a finish has failed."""
        return []
