"""`TextApart` puts a blank line (`JOINT`) between the text before and the text behind a call that
the model wrote into its text. It is for the dialects that have one field for all text of a reply:
chat completions and Ollama.
"""

from dataclasses import replace

from converter.core.model.events import Event, Text, TextKind, ToolCall

JOINT = "\n\n"
"""The blank line between two thoughts in one field, and between the texts around a call."""


class TextApart:
    """A filter for the events of all choices. It puts a blank line before the first text behind a
    call, if the call was read from the text and there is text before it:

        "I look. <tool_call>...</tool_call> Done." -> "I look." + call + blank line + "Done."

    Without it the two texts would touch, because the blanks around such a call are removed with it.
    """

    def __init__(self) -> None:
        self._with_text: set[int] = set()
        self._behind_call: set[int] = set()

    @property
    def separates_next_text(self) -> bool:
        """True if at least one choice has a call behind which its next text gets a blank line."""
        return bool(self._behind_call)

    def feed(self, event: Event) -> Event:
        """Return the event, unchanged unless it is a text that needs the blank line before it."""
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

    def record_unparsed_text(self, kind: TextKind, text: str) -> None:
        """Record text that did not come through `feed`, because the fast path rewrote its frames
        without parsing them. It belongs to the choice 0.
        """
        if kind is Text and 0 not in self._with_text and not text.isspace():
            self._with_text.add(0)
