"""`HalfCharacters`, a stage, joins the halves of a character which a server has cut between two
frames.

JSON can write a character as two escapes (a surrogate pair, `\\ud83d\\ude00`). Servers in Python
and JavaScript may cut between the two, and models may write only one of them. A half without its
other half becomes U+FFFD, because UTF-8 cannot express it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from converter.core.model.events import Event, Text, TextEvent, TextKind, Thinking, ToolCall
from converter.core.reading.thought import part_of
from converter.core.wire.json_text import whole_characters

_HALF = re.compile("[\ud800-\udfff]")
"""The pattern of half a character: one of the two code units of a surrogate pair."""
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")
"""The pattern of the first half of a character at the end of a text."""


class HalfCharacters:
    """The stage, for one choice: if the text of an event ends with the first half of a character,
    it holds this half until the next event.
    """

    def __init__(self) -> None:
        self._held = ""
        self._begun: TextEvent | None = None  # the event whose text ended in the held half

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event with the held half before its text; if it is an event of another kind,
        or of another call, with U+FFFD before it in place of the half. If its text ends with the
        first half of a character, this half is held; an event of which nothing is left is not
        returned.
        """
        if not isinstance(event, Text | Thinking | ToolCall):
            return [*self.close(), event]
        text = event.arguments if isinstance(event, ToolCall) else event.text
        if not self._held and (text.isascii() or not _HALF.search(text)):
            return [event]
        out: Sequence[Event] = []
        if self._held:
            begun, continues = self._begun, type(self._begun) is type(event)
            if isinstance(begun, ToolCall) and isinstance(event, ToolCall):
                continues = begun.index == event.index
            out = [] if continues else self.close()
        text, self._held = self._held + text, ""
        if half := _FIRST_HALF.search(text):
            self._held, self._begun = half[0], event
            text = text[:-1]
        return [*out, *_with_text(event, whole_characters(text))]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind` and no characters: text of any kind may skip this stage on the fast path
        (`Stage.plain`), whatever characters it has. Return `None` while half a character is held.
        """
        return None if self._held else (kind, "")

    def close(self) -> Sequence[Event]:
        """Return U+FFFD in place of the held half, because its other half did not come."""
        if not self._held or self._begun is None:
            return []
        self._held = ""
        begun = self._begun
        if isinstance(begun, ToolCall):
            return [ToolCall(begun.index, "", "", "\ufffd", begun.choice)]
        return _with_text(begun, "\ufffd")


def _with_text(event: TextEvent, text: str) -> Sequence[Event]:
    """Return the event with its text replaced by `text`; no event if it then has no content."""
    if isinstance(event, ToolCall):
        says = text or event.name or event.id or event.ends
        return [replace(event, arguments=text)] if says else []
    if isinstance(event, Thinking):
        return [part_of(event, text, rest=True)] if text else []
    return [replace(event, text=text)] if text else []
