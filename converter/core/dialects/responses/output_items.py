"""Output items of a response, and the events that begin, fill and end each item.

An item is sent empty at its beginning, then in pieces, and complete at its end. Some clients
(OpenAI's SDKs, agents) read the pieces; Codex and the AI SDK read only the complete item. An empty
item has all its fields, because the Python SDK fills in their values.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass

from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.tools import CALL_KINDS, ToolName, named

RUNNING, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class OutputItem(ABC):
    """An item of the output, with the pieces that have come. An item of a type that clients cannot
    read in pieces sends nothing before it is complete.
    """

    def __init__(self, item_id: str, index: int) -> None:
        self._id, self._index = item_id, index
        self._pieces: list[str] = []

    def start(self) -> list[dict[str, object]]:
        """Return the events that announce the item."""
        return []

    def feed(self, text: str) -> list[dict[str, object]]:
        """Add a piece of text, and return the events for it."""
        self._pieces.append(text)
        return []

    @abstractmethod
    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the complete item, and the events that come before its `output_item.done`."""

    def _event(self, kind: str, **fields: object) -> dict[str, object]:
        return {
            "type": f"response.{kind}",
            "item_id": self._id,
            "output_index": self._index,
            **fields,
        }


def added(item: dict[str, object], index: int) -> dict[str, object]:
    """Return the event that announces an item."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: dict[str, object], index: int) -> dict[str, object]:
    """Return the event with the complete item."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


@dataclass(frozen=True, slots=True)
class TextForm:
    """A type of item whose text is sent in pieces. Such an item has one part.

    Attributes:
        prefix: the beginning of the item's id.
        item: the item without its text.
        parts: the item's field with its list of parts.
        part: the part without its text.
        index: the field of an event that has the part's index.
        part_event: the beginning of the names of the events that begin and end the part.
        event: the beginning of the names of the events with text.
        beside: further fields of the events with text.
    """

    prefix: str
    item: dict[str, object]
    parts: str
    part: dict[str, object]
    index: str
    part_event: str
    event: str
    beside: dict[str, object]


MESSAGE = TextForm(
    "msg",
    {"type": "message", "status": RUNNING, "role": "assistant"},
    "content",
    {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    "content_index",
    "content_part",
    "output_text",
    {"logprobs": []},
)
"""Text of the answer. A refusal is sent as text as well, because Codex does not show refusals."""
THOUGHT = TextForm(
    "rs",
    {"type": "reasoning", "status": RUNNING},
    "summary",
    {"type": "summary_text", "text": ""},
    "summary_index",
    "reasoning_summary_part",
    "reasoning_summary_text",
    {},
)
"""A thought, sent as a summary, because most clients do not show the raw `reasoning_text`."""


class TextItem(OutputItem):
    """Text of the answer, or a thought. `sealed`: True if the complete item has the text as
    `encrypted_content`, too.
    """

    def __init__(self, name: str, index: int, form: TextForm, sealed: bool = False) -> None:
        super().__init__(f"{form.prefix}_{name}", index)
        self._form, self._sealed = form, sealed

    def _event(self, kind: str, **fields: object) -> dict[str, object]:
        return super()._event(kind, **{self._form.index: 0}, **fields)

    def start(self) -> list[dict[str, object]]:
        """Return the events that announce the item and its only part."""
        item = {"id": self._id, **self._form.item, self._form.parts: list[dict[str, object]]()}
        part = self._event(f"{self._form.part_event}.added", part=self._form.part)
        return [added(item, self._index), part]

    def feed(self, text: str) -> list[dict[str, object]]:
        """Add a piece of text, and return its event."""
        super().feed(text)
        return [self._event(f"{self._form.event}.delta", delta=text, **self._form.beside)]

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the item with all its text, and the events that end the text and the part."""
        form, text = self._form, "".join(self._pieces)
        part = form.part | {"text": text}
        item = {"id": self._id, **form.item, "status": status, form.parts: [part]}
        sealed = {"encrypted_content": thoughts.encode(text)} if self._sealed else {}
        return item | sealed, [
            self._event(f"{form.event}.done", text=text, **form.beside),
            self._event(f"{form.part_event}.done", part=part),
        ]


class OtherCall(OutputItem):
    """A call that clients cannot read in pieces. Nothing is sent before its input is complete."""

    def __init__(self, name: str, index: int, call_id: str, tool: ToolName) -> None:
        self._kind = CALL_KINDS[tool.kind]
        super().__init__(f"{self._kind.prefix}_{name}", index)
        self._call_id, self._tool = call_id, tool

    def _item(self, status: str, fields: dict[str, object]) -> dict[str, object]:
        head = {"id": self._id, "type": self._kind.item, "status": status}
        return {**head, "call_id": self._call_id, **fields}

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the complete call, and the events that announce it."""
        arguments = json.loads("".join(self._pieces))
        item = self._item(status, self._kind.write(self._tool, arguments))
        if self._tool.kind != "custom":
            return item, [added({**item, "status": RUNNING}, self._index)]
        return item, [
            added({**item, "status": RUNNING, "input": ""}, self._index),
            self._event("custom_tool_call_input.delta", delta=item["input"]),
            self._event("custom_tool_call_input.done", input=item["input"]),
        ]


class FunctionCall(OtherCall):
    """A call of a function. Its arguments are sent as they come."""

    def _of(self, status: str, arguments: str) -> dict[str, object]:
        return self._item(status, {**named(self._tool), "arguments": arguments})

    def start(self) -> list[dict[str, object]]:
        """Return the event that announces the call."""
        return [added(self._of(RUNNING, ""), self._index)]

    def feed(self, text: str) -> list[dict[str, object]]:
        """Add a piece of the arguments, and return its event."""
        super().feed(text)
        return [self._event("function_call_arguments.delta", delta=text)]

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the complete call, and the event that ends its arguments."""
        text, name = "".join(self._pieces), self._tool.name
        event = self._event("function_call_arguments.done", name=name, arguments=text)
        return self._of(status, text), [event]


def with_id(item: object, name: str) -> object:
    """Return an item of a request as the API shows it: with an id, and with its type, status and
    parts if it is a message. An id in the item is kept.
    """
    if not isinstance(item, dict):
        return item
    shown = {"id": f"msg_{name}", "type": "message", "status": "completed", **item}
    if isinstance(content := item.get("content"), str):
        answered = item.get("role") == "assistant"
        part = {"type": "output_text", "annotations": []} if answered else {"type": "input_text"}
        shown["content"] = [{**part, "text": content}]
    return shown
