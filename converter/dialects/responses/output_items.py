"""The items of a response while they grow: a class per kind, each with the events that start it,
fill it and finish it.

An item is sent empty when it starts, in pieces, and whole when it is finished: some clients (openai
SDKs, agents) read the pieces, Codex and the AI SDK only the whole item. Keys that are empty at the
start are there all the same, because the Python SDK fills them in place.
"""

import json
from abc import ABC, abstractmethod

from converter.dialects.responses import thoughts
from converter.dialects.responses.tools import CALL_KINDS, ToolName, named

type Json = dict[str, object]

RUNNING, COMPLETED, INCOMPLETE = "in_progress", "completed", "incomplete"


class OutputItem(ABC):
    """One item of the output, in the pieces that have come. A kind that clients cannot read in
    pieces is announced when it is whole.
    """

    def __init__(self, item_id: str, index: int) -> None:
        self._id, self._index = item_id, index
        self._pieces: list[str] = []

    def start(self) -> list[Json]:
        """Return the events that announce it."""
        return []

    def feed(self, text: str) -> list[Json]:
        """Take a piece; return the events for it."""
        self._pieces.append(text)
        return []

    @abstractmethod
    def finish(self, status: str) -> tuple[Json, list[Json]]:
        """Return the whole item, and the events before its `output_item.done`."""

    def _event(self, kind: str, **fields: object) -> Json:
        return {
            "type": f"response.{kind}",
            "item_id": self._id,
            "output_index": self._index,
            **fields,
        }


def added(item: Json, index: int) -> Json:
    """Return the event that announces an item."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: Json, index: int) -> Json:
    """Return the event that brings the whole item."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


class Message(OutputItem):
    """Text of the answer. A refusal is text as well, because Codex shows no refusal part."""

    def __init__(self, name: str, index: int) -> None:
        super().__init__(f"msg_{name}", index)

    def _item(self, status: str, content: list[Json]) -> Json:
        return {
            "id": self._id,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def _event(self, kind: str, **fields: object) -> Json:
        return super()._event(kind, content_index=0, **fields)

    def start(self) -> list[Json]:
        """Announce the message and its only part."""
        return [
            added(self._item(RUNNING, []), self._index),
            self._event("content_part.added", part=_part("")),
        ]

    def feed(self, text: str) -> list[Json]:
        """Add a piece of text."""
        super().feed(text)
        return [self._event("output_text.delta", delta=text, logprobs=[])]

    def finish(self, status: str) -> tuple[Json, list[Json]]:
        """Return the message with all its text."""
        text = "".join(self._pieces)
        return self._item(status, [_part(text)]), [
            self._event("output_text.done", text=text, logprobs=[]),
            self._event("content_part.done", part=_part(text)),
        ]


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


class Reasoning(OutputItem):
    """One thought, as a summary: the raw `reasoning_text` is invisible in most clients.

    `encrypted`: the client wants the thought as opaque content too.
    """

    def __init__(self, name: str, index: int, encrypted: bool) -> None:
        super().__init__(f"rs_{name}", index)
        self._encrypted = encrypted

    def _item(self, status: str, summary: list[Json]) -> Json:
        return {"id": self._id, "type": "reasoning", "status": status, "summary": summary}

    def _event(self, kind: str, **fields: object) -> Json:
        return super()._event(f"reasoning_summary_{kind}", summary_index=0, **fields)

    def start(self) -> list[Json]:
        """Announce the thought and its only summary part."""
        part = {"type": "summary_text", "text": ""}
        return [
            added(self._item(RUNNING, []), self._index),
            self._event("part.added", part=part),
        ]

    def feed(self, text: str) -> list[Json]:
        """Add a piece of the thought."""
        super().feed(text)
        return [self._event("text.delta", delta=text)]

    def finish(self, status: str) -> tuple[Json, list[Json]]:
        """Return the whole thought."""
        text = "".join(self._pieces)
        part: Json = {"type": "summary_text", "text": text}
        item = self._item(status, [part])
        if self._encrypted:
            item["encrypted_content"] = thoughts.encode(text)
        return item, [self._event("text.done", text=text), self._event("part.done", part=part)]


class FunctionCall(OutputItem):
    """A call of a function, its arguments as they come."""

    def __init__(self, name: str, index: int, call_id: str, tool: ToolName) -> None:
        super().__init__(f"{CALL_KINDS['function'].prefix}_{name}", index)
        self._call_id, self._tool = call_id, tool

    def _item(self, status: str, arguments: str) -> Json:
        return {
            "id": self._id,
            "type": "function_call",
            "status": status,
            "call_id": self._call_id,
            **named(self._tool),
            "arguments": arguments,
        }

    def _event(self, kind: str, **fields: object) -> Json:
        return super()._event(f"function_call_arguments.{kind}", **fields)

    def start(self) -> list[Json]:
        """Announce the call."""
        return [added(self._item(RUNNING, ""), self._index)]

    def feed(self, text: str) -> list[Json]:
        """Add a piece of the arguments."""
        super().feed(text)
        return [self._event("delta", delta=text)]

    def finish(self, status: str) -> tuple[Json, list[Json]]:
        """Return the whole call."""
        arguments = "".join(self._pieces)
        return self._item(status, arguments), [
            self._event("done", name=self._tool.name, arguments=arguments)
        ]


class OtherCall(OutputItem):
    """A call of any other kind: nothing of it can be sent before its input is whole."""

    def __init__(self, name: str, index: int, call_id: str, tool: ToolName) -> None:
        self._kind = CALL_KINDS[tool.kind]
        super().__init__(f"{self._kind.prefix}_{name}", index)
        self._call_id, self._tool = call_id, tool

    def finish(self, status: str) -> tuple[Json, list[Json]]:
        """Return the whole call, announced first."""
        given = json.loads("".join(self._pieces))
        item: Json = {
            "id": self._id,
            "type": self._kind.item,
            "status": status,
            "call_id": self._call_id,
            **self._kind.write(self._tool, given),
        }
        if self._tool.kind != "custom":
            return item, [added({**item, "status": RUNNING}, self._index)]
        return item, [
            added({**item, "status": RUNNING, "input": ""}, self._index),
            self._event("custom_tool_call_input.delta", delta=item["input"]),
            self._event("custom_tool_call_input.done", input=item["input"]),
        ]


class Finished(OutputItem):
    """An item that a server of this dialect sent whole."""

    def __init__(self, name: str, index: int, item: Json) -> None:
        super().__init__(name, index)
        self._item = {"id": name, **item}

    def start(self) -> list[Json]:
        """Announce the item as it is."""
        return [added(self._item, self._index)]

    def finish(self, _: str) -> tuple[Json, list[Json]]:
        """Return the item as it came."""
        return self._item, []


class Compaction(OutputItem):
    """The summary as an item: it goes out when it is whole, because a part of it is none."""

    def __init__(self, name: str, index: int) -> None:
        super().__init__(f"cmp_{name}", index)

    def finish(self, _: str) -> tuple[Json, list[Json]]:
        """Return the item, announced first."""
        sealed = thoughts.encode("".join(self._pieces).strip())
        item: Json = {"id": self._id, "type": "compaction", "encrypted_content": sealed}
        return item, [added(item, self._index)]


def with_id(item: object, name: str) -> object:
    """Return an item as the API shows it: with an id, a message with its type and parts."""
    if not isinstance(item, dict):
        return item
    shown = {"id": f"msg_{name}", "type": "message", "status": "completed", **item}
    if isinstance(content := item.get("content"), str):
        answered = item.get("role") == "assistant"
        part = {"type": "output_text", "annotations": []} if answered else {"type": "input_text"}
        shown["content"] = [{**part, "text": content}]
    return shown
