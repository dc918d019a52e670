"""Writes the output items of a response (`TextItem`, `FunctionCall`, `OtherCall`), and the events
that begin, fill and end each item; `response_events` opens an item for each block. `shown_item`
completes an item of a request's input (id, type, status) for answers that list it.

An item is sent three times: at its beginning with empty fields, then its text in pieces, and at its
end complete. Some clients (OpenAI's SDKs, agents) read the pieces; Codex and the AI SDK read only
the complete item. The item at the beginning already has all its fields, because OpenAI's Python SDK
adds pieces only to fields that are there.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass

from converter.core.dialects.responses import thoughts
from converter.core.dialects.responses.tools import CALL_KINDS, ToolName, name_fields

RUNNING, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"
"""Values of an item's `status`."""


class OutputItem(ABC):
    """An item of the output, for one block of the reply. It collects pieces of text, and returns
    the events for them. An item that clients cannot read in pieces (a call of a custom tool) gives
    no event before it is complete.

    `index`: the item's index in the output.
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
        """Return the complete item with this `status`, and the events to send before the event
        `output_item.done`, which has the complete item.
        """

    def _event(self, kind: str, **fields: object) -> dict[str, object]:
        """Return the event `response.{kind}` for this item, with these further fields."""
        return {
            "type": f"response.{kind}",
            "item_id": self._id,
            "output_index": self._index,
            **fields,
        }


def added_event(item: dict[str, object], index: int) -> dict[str, object]:
    """Return the event that announces an item. `index`: its place in the response's `output`."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done_event(item: dict[str, object], index: int) -> dict[str, object]:
    """Return the event with a complete item. `index`: its place in the response's `output`."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


@dataclass(frozen=True, slots=True)
class TextItemFormat:
    """The wire format of a type of item that holds text: a message, or a thought. Such an item has
    a list of parts, here always of one part, which has the text.
    """

    id_prefix: str
    """The beginning of the item's id: `msg` in `msg_12`."""
    item_fields: dict[str, object]
    """The fields of the item without its id and parts."""
    parts_field: str
    """The name of the item's field that has the list of parts."""
    empty_part: dict[str, object]
    """The JSON of the part while its text is empty."""
    index_field: str
    """The name of the field, in events, that has the part's index."""
    part_event: str
    """The events that begin and end the part are `response.{part_event}.added` and `.done`."""
    text_event: str
    """The events with text are `response.{text_event}.delta` and `.done`."""
    beside: dict[str, object]
    """Fields that the events with text must have beside the text."""


MESSAGE = TextItemFormat(
    "msg",
    {"type": "message", "status": RUNNING, "role": "assistant"},
    "content",
    {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    "content_index",
    "content_part",
    "output_text",
    {"logprobs": []},
)
"""The type of item for the answer's text. A refusal is sent as such text, too, because Codex shows
no refusals.
"""
THOUGHT = TextItemFormat(
    "rs",
    {"type": "reasoning", "status": RUNNING},
    "summary",
    {"type": "summary_text", "text": ""},
    "summary_index",
    "reasoning_summary_part",
    "reasoning_summary_text",
    {},
)
"""The type of item for a thought. The thought is sent as `summary`, because most clients do not
show a raw text (`reasoning_text`).
"""


class TextItem(OutputItem):
    """An item for text of the answer, or for a thought: `form` is `MESSAGE` or `THOUGHT`.

    `suffix`: the part of the item's id behind its prefix: `7_0` in `msg_7_0`. `sealed`: True if the
    complete item also has its text as `encrypted_content`, so that a client can send it back.
    """

    def __init__(self, suffix: str, index: int, form: TextItemFormat, sealed: bool = False) -> None:
        super().__init__(f"{form.id_prefix}_{suffix}", index)
        self._format, self._sealed = form, sealed

    def _event(self, kind: str, **fields: object) -> dict[str, object]:
        """Return the event `response.{kind}` for the item's only part."""
        return super()._event(kind, **{self._format.index_field: 0}, **fields)

    def start(self) -> list[dict[str, object]]:
        """Return the events that announce the item and its only part."""
        form, parts = self._format, list[dict[str, object]]()
        item = {"id": self._id, **form.item_fields, form.parts_field: parts}
        part = self._event(f"{form.part_event}.added", part=form.empty_part)
        return [added_event(item, self._index), part]

    def feed(self, text: str) -> list[dict[str, object]]:
        """Add a piece of text, and return the event for it."""
        super().feed(text)
        return [self._event(f"{self._format.text_event}.delta", delta=text, **self._format.beside)]

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the item with all its text, and the events that end the text and the part."""
        form, text = self._format, "".join(self._pieces)
        part = form.empty_part | {"text": text}
        item = {"id": self._id, **form.item_fields, "status": status, form.parts_field: [part]}
        sealed = {"encrypted_content": thoughts.encode(text)} if self._sealed else {}
        return item | sealed, [
            self._event(f"{form.text_event}.done", text=text, **form.beside),
            self._event(f"{form.part_event}.done", part=part),
        ]


class OtherCall(OutputItem):
    """A call of a custom tool or of a tool search. No event is sent before the call is complete,
    because clients cannot read such a call in pieces. The subclass `FunctionCall` sends pieces.

    `suffix`: the part of the item's id behind its prefix: `7_0` in `ctc_7_0`. `call_id`: the id of
    the call, which its output repeats; an item's own id is another one.
    """

    def __init__(self, suffix: str, index: int, call_id: str, tool: ToolName) -> None:
        self._kind = CALL_KINDS[tool.kind]
        super().__init__(f"{self._kind.id_prefix}_{suffix}", index)
        self._call_id, self._tool = call_id, tool

    def _item(self, status: str, fields: dict[str, object]) -> dict[str, object]:
        """Return the item of the call. `fields`: the fields that depend on the type of the tool."""
        head = {"id": self._id, "type": self._kind.item_type, "status": status}
        return {**head, "call_id": self._call_id, **fields}

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the complete call, and the events that announce it and send its input."""
        arguments = json.loads("".join(self._pieces))
        item = self._item(status, self._kind.item_fields(self._tool, arguments))
        if self._tool.kind != "custom":
            return item, [added_event({**item, "status": RUNNING}, self._index)]
        return item, [
            added_event({**item, "status": RUNNING, "input": ""}, self._index),
            self._event("custom_tool_call_input.delta", delta=item["input"]),
            self._event("custom_tool_call_input.done", input=item["input"]),
        ]


class FunctionCall(OtherCall):
    """A call of a function. Its arguments are sent piece by piece, as they come."""

    def _call_item(self, status: str, arguments: str) -> dict[str, object]:
        """Return the item of the call. `arguments`: the call's arguments, as JSON text."""
        return self._item(status, {**name_fields(self._tool), "arguments": arguments})

    def start(self) -> list[dict[str, object]]:
        """Return the event that announces the call."""
        return [added_event(self._call_item(RUNNING, ""), self._index)]

    def feed(self, text: str) -> list[dict[str, object]]:
        """Add a piece of the arguments, and return the event for it."""
        super().feed(text)
        return [self._event("function_call_arguments.delta", delta=text)]

    def finish(self, status: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """Return the complete call, and the event that ends its arguments."""
        text, name = "".join(self._pieces), self._tool.name
        event = self._event("function_call_arguments.done", name=name, arguments=text)
        return self._call_item(status, text), [event]


def shown_item(item: object, id_part: str) -> object:
    """Return an item of a request's input as the API shows it later: with an id, a type, a status,
    and with a list of parts if its content is a string. Fields that the item has are kept. A value
    that is no object is returned as it is.

    `id_part`: the id without its prefix, for an item without an id: `7_in0` -> `msg_7_in0`.
    """
    if not isinstance(item, dict):
        return item
    shown = {"id": f"msg_{id_part}", "type": "message", "status": "completed", **item}
    if isinstance(content := item.get("content"), str):
        answered = item.get("role") == "assistant"
        part = {"type": "output_text", "annotations": []} if answered else {"type": "input_text"}
        shown["content"] = [{**part, "text": content}]
    return shown
