"""A reply that is a thought and no answer, a stage: it goes on behind the closed thought, once, in
place of its finish.
"""

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
    joined,
)
from converter.core.reading.findings import Findings

UNANSWERED = "unanswered"
"""Why the reply goes on, among the reasons for which thoughts were ended."""


class ThoughtAlone:
    """Events of one choice in, events out; nothing behind the finish of a thought alone. Words of
    an answer, or a call, end its watch.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._thoughts: list[Thinking] = []
        self._thinks = self._is_over = False
        self._answered = bool(findings.ended)  # one that goes on already

    def feed(self, event: Event) -> list[Event]:
        """Return the part of `event` that goes on."""
        if self._is_over:
            return []
        match event:
            case Thinking() if not self._answered:
                self._thoughts.append(Thinking(event.text))
                self._thinks = True
            case Text() if event.text.strip():
                self._answered = True
            case ToolCall():
                self._answered = True
            case ThinkingEnd():
                self._thinks = False
            case Finish(reason="stop", stop_sequence=None) if not self._answered and self._thoughts:
                return self._go_on(event)
        return [event]

    def close(self) -> list[Event]:
        """Return nothing: nothing is held."""
        return []

    def plain(self, kind: WordKind) -> tuple[WordKind, str] | None:
        """Return words that may come later: those behind an answer."""
        return (kind, "") if self._answered else None

    def _go_on(self, finish: Finish) -> list[Event]:
        self._is_over = True
        self._findings.ended_at = sum(len(said.text) for said in self._thoughts)
        self._findings.turn = tuple(joined(self._thoughts))
        self._findings.ended.append(UNANSWERED)
        return [ThinkingEnd(finish.choice)] if self._thinks else []
