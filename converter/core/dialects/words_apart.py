"""Text around a call that was read from the text: kept apart in the dialects that have one field
for all text.
"""

from dataclasses import replace

from converter.core.model.events import Event, Text, TextKind, ToolCall

JOINT = "\n\n"
"""Separates two thoughts that share one field, and text before a call from text behind it, whose
own blanks went with the call.
"""


class TextApart:
    """Events of all choices in, the same events out; text behind a call that was read from the text
    begins a paragraph if text stands before the call.
    """

    def __init__(self) -> None:
        self._with_text: set[int] = set()
        self._behind_call: set[int] = set()

    @property
    def waits(self) -> bool:
        """Return True if the next text of any choice begins a paragraph."""
        return bool(self._behind_call)

    def feed(self, event: Event) -> Event:
        """Return the event as it is to be written."""
        match event:
            case ToolCall() if event.read_from and event.choice in self._with_text:
                self._behind_call.add(event.choice)
            case Text(refusal=False, own=None) if event.text:
                choice = event.choice
                if choice in self._behind_call:
                    self._behind_call.discard(choice)
                    event = replace(event, text=JOINT + event.text)
                if choice not in self._with_text and not event.text.isspace():
                    self._with_text.add(choice)
        return event

    def spliced(self, kind: TextKind, text: str) -> None:
        """Note text of the first choice that was written by itself."""
        if kind is Text and 0 not in self._with_text and not text.isspace():
            self._with_text.add(0)
