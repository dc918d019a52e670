"""Every thought of a reply, told once as an event that other tools can follow, when it ends.

The events of the think stage go in. Form and dialect do not matter: a thought in tags ends with
its `ThinkingEnd`, one that the server sent as such (which chat completions never end) with whatever
comes next.
"""

from collections.abc import Iterable
from io import StringIO

from converter.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from converter.wire.bounds import LONGEST_THOUGHT

type ThoughtEvent = dict[str, object]


class ThoughtEvents:
    """Events of a reply in; a thought event out for each thought that ended. `task`: the exchange;
    `context`: the conversation.

    A thought loses CR and LF at both ends; one of nothing but blanks makes no event. Choices are
    kept apart.
    """

    def __init__(self, task: str, context: str) -> None:
        self._task = task
        self._context = context
        self._said: dict[int, StringIO] = {}

    def feed(self, event: Event) -> list[ThoughtEvent]:
        """Return the thoughts that end with `event`."""
        match event:
            case Thinking():
                words = self._said.setdefault(event.choice, StringIO(newline=""))
                if room := max(0, LONGEST_THOUGHT - words.tell()):
                    words.write(event.text[:room])
                return []
            case ThinkingEnd():
                return self._end(event)
            case Text() if event.text and not event.text.isspace():
                return self._end(ThinkingEnd(event.choice))
            case ToolCall() | Finish():
                return self._end(ThinkingEnd(event.choice))
            case End() | Failure():
                return self.close()
            case _:
                return []

    @property
    def are_open(self) -> bool:
        """Tell whether a thought goes on, which words of an answer would end."""
        return bool(self._said)

    def close(self) -> list[ThoughtEvent]:
        """Return the thought so far: the reply is over, or cut."""
        return [event for choice in sorted(self._said) for event in self._end(ThinkingEnd(choice))]

    def _end(self, end: ThinkingEnd) -> list[ThoughtEvent]:
        words = self._said.pop(end.choice, None)
        thought = words.getvalue().strip("\r\n") if words else ""
        return [self._event(thought, end)] if thought and not thought.isspace() else []

    def _event(self, thought: str, end: ThinkingEnd) -> ThoughtEvent:
        return {
            "kind": "thought-stream",
            "taskId": self._task,
            "contextId": self._context,
            "thoughtType": "reasoning",
            "thought": thought,
            "metadata": _metadata(end),
        }


def _metadata(end: ThinkingEnd) -> dict[str, object]:
    metadata: dict[str, object] = {"verbosity": "normal"}
    if end.thought_type:
        metadata["thoughtType"] = end.thought_type
    if end.confidence is not None:
        metadata["confidence"] = end.confidence
    return metadata


def within_limit(thoughts: Iterable[ThoughtEvent], kept: Iterable[str]) -> list[str]:
    """Return the words of thoughts as far as they may be kept beside others."""
    room, words = LONGEST_THOUGHT - sum(map(len, kept)), []
    for event in thoughts:
        thought = str(event["thought"])[: max(0, room)]
        room -= len(thought)
        words += [thought] if thought else []
    return words
