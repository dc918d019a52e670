"""Calls of type `custom`, whose input is a free text: read as a call with one string, `input`."""

import json
from dataclasses import replace

from converter.core.calls.arguments import CUSTOM_INPUT
from converter.core.dialects.error_words import string_of
from converter.core.model.events import NO_INDEX, Own, ToolCall, own_fields
from converter.core.wire.json_text import as_object

_END = '"}'


class CustomCalls:
    """The pieces of custom calls. An open call gets the end of its string with the finish, or
    where another call begins.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._open: dict[int, int] = {}  # the index of the open call, by choice

    def read(self, piece: ToolCall) -> list[ToolCall]:
        """Return the piece; of a custom call its name, and its text as part of a JSON string."""
        entry = as_object((own_fields(piece.own, self._dialect) or {}).get("tool_calls"))
        custom = entry.get("custom")
        if not isinstance(custom, dict):
            return [piece]
        index, name = piece.index, string_of(custom.get("name"))
        text = json.dumps(string_of(custom.get(CUSTOM_INPUT)), ensure_ascii=False)[1:-1]
        out: list[ToolCall] = []
        if name or (index != NO_INDEX and index != self._open.get(piece.choice, index)):
            out = self.close(piece.choice)
            self._open[piece.choice] = index
            text = f'{{"{CUSTOM_INPUT}": "{text}'
        if piece.ends:
            self._open.pop(piece.choice, None)
            text += _END
        return [*out, replace(piece, name=name, arguments=text, misshapen=index == NO_INDEX)]

    def close(self, choice: int) -> list[ToolCall]:
        """Return the end of the call that is open."""
        index = self._open.pop(choice, None)
        own = Own(self._dialect, {"tool_calls": {"custom": {}}})
        return [] if index is None else [ToolCall(index, "", "", _END, choice, own)]
