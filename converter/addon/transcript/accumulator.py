"""Collect the parts of a reply's choice (thoughts, texts, calls) from its events, so that people
can read them while the reply comes. For each event the new parts and texts are returned, as `News`;
all parts so far can be read at any time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from converter.addon.transcript.blocks import part_of, parts_of_item
from converter.addon.transcript.turns import FailurePart, Field, Part
from converter.core.dialects.reasoning_fields import has_value
from converter.core.model import events
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.reply.growing_blocks import GrowingBlocks, GrowingCall

_NUMBERS = frozenset({"logprobs", "token_ids", "prompt_token_ids"})
"""Fields that are not shown, because they have numbers for each of a reply's tokens, which may be
thousands.
"""
_SHOWN_FIELDS = ("role", "content", "refusal")
"""Names of a delta's fields that `_add_opaque` does not show as fields, because other events show
them. Of `content` it shows the parts that no other event shows.
"""
_SHOWN_PARTS = ("text", "thinking")
"""Types of parts in a message's `content` that `_add_opaque` leaves out, because other events show
them.
"""


@dataclass(frozen=True, slots=True)
class News:
    """A new part of a reply's transcript, or new text of the transcript's last part. One event may
    bring several `News`.
    """

    part: Part
    """The new part. If a thought or text goes on, it is a part of the same kind that has only the
    new text.
    """
    choice: int = 0
    """The index of the reply's choice."""
    fresh: bool = True
    """True if a new part begins, False if the text of `part` continues the last part."""


class FieldAccumulator:
    """Collects the values of a reply's fields from its frames. The values of a field are joined if
    all are strings. Otherwise they become a list, if there are several; a value that equals the one
    before is left out.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[object]] = {}

    def add(self, name: str, value: object) -> None:
        """Add the value that the field `name` has in one frame."""
        values = self._values.setdefault(name, [])
        if isinstance(value, str) or not values or values[-1] != value:
            values.append(value)

    def parts(self) -> tuple[Field, ...]:
        """Return the fields with their values so far."""
        gathered = list[Field]()
        for name, values in self._values.items():
            pieces = [value for value in values if isinstance(value, str)]
            others = values[0] if len(values) == 1 else values
            gathered.append(Field(name, "".join(pieces) if len(pieces) == len(values) else others))
        return tuple(gathered)


class Accumulator:
    """Collects the parts of one choice of a reply. `choice`: the choice's index.

    `feed` returns text and thoughts as they come. It returns calls only at the choice's finish or
    at an error, because further events may bring more of a call's arguments.

    Attributes:
        finish: why the choice ended; empty before its end.
        stop_sequence: the stop string at which the choice ended, None if at none.
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._blocks = GrowingBlocks[Part]()
        self._open_calls: list[GrowingCall] = []
        self._fields = FieldAccumulator()
        self.finish = ""
        self.stop_sequence: str | None = None

    def parts(self) -> tuple[Part, ...]:
        """Return all parts so far. Fields that no decoder knows (a vendor's own) come last."""
        return (*self._blocks.parts(), *self._fields.parts())

    def feed(self, event: events.Event) -> list[News]:
        """Add an event; return the parts and texts that can be shown now. A finish or an error also
        returns all calls before it.
        """
        complete = (
            self._complete_calls() if isinstance(event, events.Finish | events.Failure) else []
        )
        read = _READERS.get(type(event))  # an event of a type without a reader adds nothing
        return [*complete, *(read(self, event) if read else [])]

    def close(self) -> list[News]:
        """Return the parts that `feed` has not returned: the calls of a choice that has no finish,
        and the fields that are shown last, such as a vendor's own.
        """
        return [
            *self._complete_calls(),
            *(News(part, self._choice) for part in self._fields.parts()),
        ]

    def _complete_calls(self) -> list[News]:
        """Return the calls that have not been returned yet; no event can extend them any more."""
        calls, self._open_calls = self._open_calls, []
        return [News(call.block(), self._choice) for call in calls]

    def _add_text(self, event: events.Text) -> list[News]:
        """Add text of the answer, or of a refusal."""
        stood_in = "refusal" if event.refusal else ""
        fresh = self._blocks.grow(TextBlock, event.text, stood_in)
        return [News(TextBlock(event.text, stood_in), self._choice, fresh)]

    def _add_thinking(self, event: events.Thinking) -> list[News]:
        """Add text of a thought."""
        fresh = self._blocks.grow(ThinkingBlock, event.text)
        return [News(ThinkingBlock(event.text), self._choice, fresh)]

    def _end_thinking(self, event: events.ThinkingEnd) -> list[News]:
        """End a thought. The returned list is empty: an end adds nothing to show."""
        self._blocks.end_thought("", event.note)  # "" is the signature, which people do not need
        return []

    def _add_tool_call(self, event: events.ToolCall) -> list[News]:
        """Add a piece of a call. The returned list is empty: `feed` returns calls at the finish."""
        own = event.own.fields if event.own else {}
        field = next(iter(own), "tool_calls")
        call, begins = self._blocks.call_of((field, event.index), event.id)
        self._open_calls += [call] if begins else []
        call.add(event)
        return []

    def _add_finish(self, event: events.Finish) -> list[News]:
        """End the choice, and keep the reason. The returned list is empty: the reason is shown with
        the reply's facts.
        """
        self._blocks.end()
        self.finish, self.stop_sequence = event.server_word or event.reason, event.stop_sequence
        return []

    def _add_failure(self, event: events.Failure) -> list[News]:
        """Add an error of the server, and return it."""
        return self._append(FailurePart(event.message, event.kind))

    def _append(self, part: Part) -> list[News]:
        """Add a complete part, and return it."""
        self._blocks.append(part)
        return [News(part, self._choice)]

    def _add_mapped_field(self, event: events.MappedField) -> list[News]:
        """Add the value of a field that the option `think_map` turns into a block. The transcript
        shows the value at the end of the reply, so no part is returned now.
        """
        self._fields.add(f"{event.block}.{event.key}", event.value)
        return []

    def _add_opaque(self, event: events.Opaque) -> list[News]:
        """Keep the fields that the decoder does not know, to show them at the end. Return the parts
        of the field `content` that are neither text nor thinking, such as pictures.
        """
        shown = (*_SHOWN_FIELDS, *event.covered)
        inner = {name: value for name, value in event.inner.items() if name not in shown}
        for name, value in [*inner.items(), *event.outer.items()]:
            if name not in _NUMBERS and has_value(value):
                self._fields.add(name, value)
        content = event.inner.get("content")
        parts = content if isinstance(content, list) else []
        untold = [part for part in parts if part.get("type") not in _SHOWN_PARTS]
        return [news for block in untold for part in part_of(block) for news in self._append(part)]

    def _add_block_event(self, event: events.DialectBlock) -> list[News]:
        """Add an event of a block that only the server's dialect has, such as a web search; return
        the parts that can be shown now.
        """
        block, delta = event.event.get("content_block"), event.event.get("delta")
        if isinstance(delta, dict):
            kind = str(delta.get("type")).removesuffix("_delta")
            for name, value in delta.items():
                if name != "type":
                    self._fields.add(f"{kind}.{name}", value)
        if not str(event.event.get("type")).startswith("content_block"):
            return [news for part in parts_of_item(event.event) for news in self._append(part)]
        if not isinstance(block, dict) or not any(
            has_value(value) for name, value in block.items() if name != "type"
        ):
            return []
        news, index = list[News](), event.event.get("index")
        for part in part_of(block):
            if not isinstance(part, ToolUse):
                news += self._append(part)
                continue
            # a call of a server's own tool is returned later, because further events may have more
            # of its arguments
            call = self._blocks.begin_call(("tool_calls", index if isinstance(index, int) else 0))
            call.id, call.name = part.id, part.name
            call.pieces.append("" if part.arguments == "{}" else part.arguments)
            self._open_calls.append(call)
        return news


_READERS: Mapping[type, Callable[[Accumulator, Any], list[News]]] = {
    events.Text: Accumulator._add_text,
    events.Thinking: Accumulator._add_thinking,
    events.ThinkingEnd: Accumulator._end_thinking,
    events.ToolCall: Accumulator._add_tool_call,
    events.Finish: Accumulator._add_finish,
    events.Failure: Accumulator._add_failure,
    events.MappedField: Accumulator._add_mapped_field,
    events.Opaque: Accumulator._add_opaque,
    events.DialectBlock: Accumulator._add_block_event,
}
"""Type of an event -> the method that adds the event; it returns what can be shown now."""
