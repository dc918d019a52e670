"""`ThoughtEventStage` makes thought events: each thought of a reply as one JSON object when it
ends, for programs that follow the thoughts of models.

A thought in tags ends with its `ThinkingEnd`. A thought in a reasoning field of chat completions
has no such event. It ends at the next text that is not blank, or at a call, the finish, a failure
or the end of the reply.
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
    """A stage that makes a thought event for each thought. It returns all events unchanged.

    CR and LF at both ends of a thought are removed. A thought of nothing but blanks gets no thought
    event. Of a very long thought, only the beginning is in its event (`LONGEST_THOUGHT`).

    Arguments:
        task: the id of the exchange, for the field `taskId`.
        context: the id of the conversation, for the field `contextId`.
        ended: the list to which the thought events are added.
    """

    def __init__(self, task: str, context: str, ended: list[ThoughtEvent]) -> None:
        self._task = task
        self._context = context
        self._ended = ended
        self._thought: StringIO | None = None

    def feed(self, event: Event) -> Sequence[Event]:
        """Return `event`. If a thought ends with it, add a thought event to `ended`."""
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
        """End the open thought: add its thought event to `ended`. Return no events."""
        self._end(ThinkingEnd())
        return []

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `kind` and no characters, because text of this kind may skip this stage now (see
        `Stage.plain`). Return None for text of the answer or of a call while a thought is open,
        because this stage must see that such text ends the thought.
        """
        return None if kind is not Thinking and self._thought else (kind, "")

    def _end(self, end: ThinkingEnd) -> None:
        """End the open thought: add its thought event to `ended`, unless it is blank."""
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
