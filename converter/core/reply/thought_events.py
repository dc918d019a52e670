"""Every thought of a reply as one event, which other tools can follow, when the thought ends.

The events of the reading stage go in. Form and dialect do not matter: a thought in tags ends with
its `ThinkingEnd`; one that the server sent as such, which chat completions never end, ends with the
next event.
"""

from collections.abc import Sequence
from io import StringIO

from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.core.wire.bounds import LONGEST_THOUGHT

type ThoughtEvent = dict[str, object]


class ThoughtEventStage:
    """A stage that collects thoughts as they end, and passes all events on.

    A thought loses CR and LF at both ends; one of nothing but blanks makes no event. Choices are
    kept apart.

    Arguments:
        task: the exchange.
        context: the conversation.
        ended: a list that gets a thought event for each ended thought.
    """

    def __init__(self, task: str, context: str, ended: list[ThoughtEvent]) -> None:
        self._task = task
        self._context = context
        self._ended = ended
        self._pending: dict[int, StringIO] = {}

    def feed(self, event: Event) -> Sequence[Event]:
        """Collect the thoughts that end with `event`; return it."""
        match event:
            case Thinking():
                buffer = self._pending.setdefault(event.choice, StringIO(newline=""))
                if room := max(0, LONGEST_THOUGHT - buffer.tell()):
                    buffer.write(event.text[:room])
            case ThinkingEnd():
                self._end(event)
            case Text() | ToolCall() | Finish() if event.choice in self._pending:
                if not isinstance(event, Text) or event.text.strip():
                    self._end(ThinkingEnd(event.choice))
            case End() | Failure():
                self.close()
        return [event]

    def close(self) -> Sequence[Event]:
        """Collect the thoughts so far: the reply is over, or cut."""
        for choice in sorted(self._pending):
            self._end(ThinkingEnd(choice))
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return text that ends no thought, as it is."""
        return None if kind is not Thinking and self._pending else (kind, "")

    def _end(self, end: ThinkingEnd) -> None:
        buffer = self._pending.pop(end.choice, None)
        thought = buffer.getvalue().strip("\r\n") if buffer else ""
        if thought and not thought.isspace():
            metadata: dict[str, object] = {"verbosity": "normal"}
            if end.thought_type:
                metadata["thoughtType"] = end.thought_type
            if end.confidence is not None:
                metadata["confidence"] = end.confidence
            event: ThoughtEvent = {
                "kind": "thought-stream",
                "taskId": self._task,
                "contextId": self._context,
                "thoughtType": "reasoning",
                "thought": thought,
                "metadata": metadata,
            }
            self._ended.append(event)
