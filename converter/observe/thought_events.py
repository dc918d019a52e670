"""Every thought of a reply, told once as an event that other tools can follow, when it ends.

The events of the think stage go in. Form and dialect do not matter: a thought in tags ends with
its `ThinkingEnd`, one that the server sent as such (which chat completions never end) with whatever
comes next.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
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
type Fields = Mapping[str, object]

# Claude Code's, another in each request
BILLING_LINES = re.compile(r"^x-anthropic-billing-header:[^\n]*\n*", re.MULTILINE)
_SYSTEM_ROLES = ("system", "developer")
_LONGEST = 100_000
"""Characters of a text that identify a conversation, because a first message may be a whole book.
"""
_ID_LENGTH = 16
"""Hex digits of a conversation's id: 64 bits, so that no two conversations of one person meet, and
a line stays readable.
"""


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


def conversation_id(body: Fields) -> str:
    """Return an id that stays the same over the turns of one conversation, whatever the dialect of
    its requests.

    It is made of the parts that a client repeats in every turn: the system text, the first message
    of the user, and the user's id. Later messages, the model and the settings have no part in it.
    Nothing a client sends makes it raise.
    """
    given = body.get("messages") or body.get("input")
    turns = [{"role": "user", "content": given}] if isinstance(given, str) else given
    beginning = list(_beginning(turns if isinstance(turns, list) else []))
    system = [text for name in ("system", "instructions") for text in _texts(body.get(name))]
    system += [text for role, text in beginning if role != "user"]
    first = [text for role, text in beginning if role == "user"]
    metadata = body.get("metadata")
    user = body.get("user") or (metadata.get("user_id") if isinstance(metadata, Mapping) else None)
    unbilled = (BILLING_LINES.sub("", text) for text in system)
    parts = [user if isinstance(user, str) else "", list(filter(str.strip, unbilled)), first]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_ID_LENGTH]


def _beginning(messages: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Yield role and text of the system's messages before the user's first one, and of that one;
    later turns are not looked at.
    """
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if isinstance(message, Mapping) and (role in _SYSTEM_ROLES or role == "user"):
            yield from ((str(role), text) for text in _texts(message.get("content")))
        if role == "user":
            return


def _texts(content: object) -> Iterator[str]:
    """Yield what identifies a content, plain or in parts; of a long one the beginning. Where the
    prompt's cache ends moves from turn to turn: it is left out.
    """
    if isinstance(content, str):
        yield content[:_LONGEST]
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping):
            yield from _strings(part)


def _strings(part: Fields) -> Iterator[str]:
    """Yield the text, or all strings of a picture or file, whose parts have two levels."""
    if isinstance(text := part.get("text"), str):
        yield text[:_LONGEST]
        return
    for name, value in sorted(part.items()):
        inner = (
            value.values() if isinstance(value, Mapping) and name != "cache_control" else [value]
        )
        yield from (item[:_LONGEST] for item in inner if isinstance(item, str))
