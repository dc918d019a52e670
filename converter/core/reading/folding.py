"""Thinking for clients that show nothing but text: a folded block of Markdown."""

import re
from collections.abc import Iterable

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)

OPENER = "<details>\n<summary>Thinking</summary>\n\n"
CLOSER = "\n\n</details>\n\n"
_FOLDED = re.compile(f"{re.escape(OPENER)}.*?\n\n</details>\\s*", re.DOTALL)


class ThoughtFolder:
    """Events of one choice in, events out: thoughts as text."""

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._is_open = False

    def feed(self, event: Event) -> list[Event]:
        """Return the event, a thought as text; the event behind a thought comes behind its fold."""
        if isinstance(event, Thinking):
            opener = "" if self._is_open else OPENER
            self._is_open = True
            return [Text(opener + event.text, self._choice)]
        if isinstance(event, ThinkingEnd):
            return self.close()
        return [*(self.close() if isinstance(event, (Text, ToolCall, Finish)) else ()), event]

    def close(self) -> list[Event]:
        """Return the end of a fold that is open."""
        closer: list[Event] = [Text(CLOSER, self._choice)] if self._is_open else []
        self._is_open = False
        return closer

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return words like the last ones; those of a thought are text."""
        if self._is_open != (kind is Thinking):
            return None
        return (Text if kind is Thinking else kind), ""


def unfold(texts: Iterable[str]) -> str:
    """Return the texts as one, without their folded thoughts."""
    return _FOLDED.sub("", "".join(texts))
