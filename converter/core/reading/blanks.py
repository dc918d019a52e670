"""Blanks that touch a mark: a stage that leaves them out of the answer.

Models write blank lines between a thought and the answer; a client that prints the answer shows
them. An empty thought, as Qwen3 writes one when it is not to think, leaves its blank lines at the
reply's head, so they go there as well. Blanks in a line with words stay, so that code keeps
its indentation.
"""

import re
from dataclasses import replace

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.core.wire.bounds import BLANKS_LIMIT

_BEFORE_TEXT = re.compile(r"\A(?:\s*[\r\n]|\s+)")
"""The blanks before the line in which a text's first word stands, or before the word itself."""


class BlanksTrimmer:
    """Events of one choice in, events out: text loses the blanks before and behind thinking, and
    those at the reply's head.
    """

    def __init__(self) -> None:
        self._held: Text | None = None
        self._behind_thought = True  # or at the head, where an empty one stood

    def feed(self, event: Event) -> list[Event]:
        """Return the text that goes out now: blanks wait for what follows them."""
        match event:
            case Text() if not event.refusal:
                return self._read_text(event)
            case Thinking():
                self._held = None
                self._behind_thought = True
                return [event]
            case ThinkingEnd():
                return [event]
            case ToolCall() | Finish() if self._behind_thought:
                self._held = None  # nothing but blanks stands between the thought and it
                return [event]
            case _:
                return [*self.close(), event]

    def close(self) -> list[Event]:
        """Return the held text: no thought follows."""
        held, self._held = self._held, None
        return [held] if held and not self._behind_thought else []

    def plain(self, kind: TextKind) -> tuple[type[Thinking], str] | None:
        """Return thinking alone: any text may end in blanks that wait."""
        passes = self._behind_thought and self._held is None and kind is Thinking
        return (Thinking, "") if passes else None

    def _read_text(self, event: Text) -> list[Event]:
        whole = (self._held.text if self._held else "") + event.text
        text = whole[: max(len(whole.rstrip()), len(whole) - BLANKS_LIMIT)]
        blanks = whole[len(text) :]
        self._held = replace(event, text=blanks) if blanks else None
        if not text or (self._behind_thought and text.isspace()):
            return []
        behind, self._behind_thought = self._behind_thought, False
        left = _BEFORE_TEXT.sub("", text) if behind else text
        return [replace(event, text=left)] if left else []
