"""A blank line between the texts before and behind a call that was read from the text, for dialects
that have one field for all text.
"""

from dataclasses import replace

from converter.core.model.events import Event, Text, TextKind, ToolCall

JOINT = "\n\n"
"""Separates two thoughts in one field, and the text before a call from the text behind it."""


class TextApart:
    """A filter for the events of all choices. If a call that was read from the text has text before
    it, the first text behind it begins with a blank line.

    The model's own blanks around such a call are removed together with the call.
    """

    def __init__(self) -> None:
        self._with_text: set[int] = set()
        self._behind_call: set[int] = set()

    @property
    def waits(self) -> bool:
        """True if the next text of any choice will get a blank line."""
        return bool(self._behind_call)

    def feed(self, event: Event) -> Event:
        """Return the event, with the blank line if it needs one."""
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
        """Note text of the first choice that the fast path has written."""
        if kind is Text and 0 not in self._with_text and not text.isspace():
            self._with_text.add(0)
