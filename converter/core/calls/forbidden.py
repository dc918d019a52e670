"""Turn calls into text if the client forbids calls (`tool_choice: none`) and the server sends some.

The text is the call's JSON, and the finish reason becomes `stop`.
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
        self._begun = False  # True if text was emitted: an empty line then goes before a call

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event. But a piece of a call is returned as text, or not at all if it has no
        text; and a finish with a reason of `CALLED` gets the reason `stop`.

        `get_weather` with `{"city": "Oslo"}` becomes the text
        `{"name": "get_weather", "arguments": {"city": "Oslo"}}`. If text or a call was emitted
        before it, an empty line goes before it.
        """
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
        """Return `kind` and no characters for thinking and text: they may skip this stage, whatever
        characters they have (see `Stage.plain`). Return None for arguments, which must be fed.
        """
        return None if kind is ToolCall else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return nothing, because no event is held."""
        return []
