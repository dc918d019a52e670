"""Thought events: each thought of a reply as one event when it ends, for tools that follow
thoughts.

It does not matter how a thought came. A thought in tags ends with its `ThinkingEnd`. A thought in a
reasoning field of chat completions has no end of its own, and so ends with the next event.
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
    """A stage that makes the thought events. All events pass through it unchanged.

    CR and LF at both ends of a thought are removed; a thought of nothing but blanks makes no event.

    Arguments:
        task: the id of the exchange.
        context: the id of the conversation.
        ended: a list that gets the thought events.
    """

    def __init__(self, task: str, context: str, ended: list[ThoughtEvent]) -> None:
        self._task = task
        self._context = context
        self._ended = ended
        self._thought: StringIO | None = None

    def feed(self, event: Event) -> Sequence[Event]:
        """Return `event`, after adding the thoughts that end with it to `ended`."""
        match event:
            case Thinking():
                self._thought = self._thought or StringIO(newline="")
                if room := max(0, LONGEST_THOUGHT - self._thought.tell()):
                    self._thought.write(event.text[:room])
            case ThinkingEnd():
                self._end(event)
            case Text() if not event.text.strip():
                pass
            case Text() | ToolCall() | Finish() | End() | Failure():
                self.close()
        return [event]

    def close(self) -> Sequence[Event]:
        """Add the open thought to `ended`, because it is over. Return nothing."""
        self._end(ThinkingEnd())
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind` and no characters, because all text is plain; None for text that ends a
        thought.
        """
        return None if kind is not Thinking and self._thought else (kind, "")

    def _end(self, end: ThinkingEnd) -> None:
        thought = self._thought.getvalue().strip("\r\n") if self._thought else ""
        self._thought = None
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
