"""Events of another dialect, given this dialect's fields."""

from collections.abc import Mapping
from dataclasses import replace

from converter.dialects.openai_chat.frame_fields import NAME
from converter.model.events import (
    Block,
    End,
    Event,
    Finish,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    ToolCall,
    Usage,
    own_fields,
)

_FIRST: Mapping[str, object] = {"role": "assistant", "content": ""}
"""The first delta of a foreign reply."""


class ForeignEvents:
    """Events of any dialect in, the same with this dialect's fields out.

    `kind`: the `object` of a foreign reply. `done`: the frame that ends a foreign stream.
    """

    def __init__(self, kind: str, done: bytes) -> None:
        self._kind = kind
        self._done = done
        self.begun = False  # the reply is of another dialect
        self._left_out = 0

    @property
    def notes(self) -> list[str]:
        """The count of events without a place in a chat completion, in one line if any."""
        note = f"{self._left_out} blocks or frames have no place in a chat completion, left out"
        return [note] if self._left_out else []

    def feed(self, event: Event) -> list[Event]:
        """Return the event's form in this dialect; its own events go through as they are."""
        match event:
            case Start() | ToolCall() | Usage():
                return [event] if own_fields(event.own, NAME) is not None else self._own(event)
            case Finish(stop_sequence=str(stop)) if self.begun and stop:
                return [Opaque(NAME, {}, {"stop_reason": stop}, event.choice), event]
            case End() if self.begun:
                return [End(Own(NAME, raw=self._done))]
            case OpaqueFrame() | Block() | Opaque():
                return self._opaque(event)
            case _:
                return [event]

    def _own(self, event: Start | ToolCall | Usage) -> list[Event]:
        match event:
            case Start():
                return self._start(event)
            case ToolCall():
                return [replace(event, own=Own(NAME, {"tool_calls": self._call(event)}))]
            case Usage():
                return [replace(event, own=Own(NAME, _counts(event)))]

    def _start(self, event: Start) -> list[Event]:
        head = {"id": event.id, "object": self._kind, "created": 0, "model": event.model}
        first = [] if self.begun else [Opaque(NAME, _FIRST, {})]
        self.begun = True
        return [Start(event.id, event.model, Own(NAME, head)), *first]

    def _call(self, event: ToolCall) -> dict[str, object]:
        """Return the entry."""
        named = {"id": event.id, "type": "function"} if event.id else {}
        name = {"name": event.name} if event.name else {}
        return {"index": event.index, **named, "function": {**name, "arguments": event.arguments}}

    def _opaque(self, event: OpaqueFrame | Block | Opaque) -> list[Event]:
        """Count events that no other dialect can write; a comment of a stream is of none."""
        match event:
            case Opaque():
                return [event] if event.dialect == NAME else []
            case Block():
                self._left_out += event.event.get("type") == "content_block_start"
                return []
            case OpaqueFrame() if event.own.dialect == NAME or event.own.raw.startswith(b":"):
                return [replace(event, own=Own(NAME, raw=event.own.raw))]
            case _:
                self._left_out += not event.comment and bool(event.own.raw.strip())
                return []


def _counts(usage: Usage) -> dict[str, object]:
    details = {
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking},
    }
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        **{name: counts for name, counts in details.items() if None not in counts.values()},
    }
