"""Write a Responses API reply in its other form: `fold` joins a stream, `unfold` makes one."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

type Json = dict[str, Any]
TEXT_DELTAS = (
    "response.output_text.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
)
"""Types of events that hold text or thinking and nothing else."""
_PARTS = {
    ("message", "content"): ("output_text", "content_index"),
    ("reasoning", "content"): ("reasoning_text", "content_index"),
    ("reasoning", "summary"): ("reasoning_summary_text", "summary_index"),
}
"""Type of an item, its field with a list of parts -> the middle of the type of a delta's event
(`response.output_text.delta`), the event's field with the index of the part.
"""


def fold(events: Sequence[Json]) -> Json:
    """Return the response object of the last event that has one; empty if none has one."""
    return next((event["response"] for event in reversed(events) if "response" in event), {})


def unfold(response: Json, cut: Callable[[str], list[str]]) -> Iterator[Json]:
    """Yield a response object as events of a stream. `cut` cuts a text into pieces, one a delta."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        yield {
            "type": "response.output_item.added",
            "output_index": index,
            "item": _empty_item(item),
        }
        for event in _deltas(item, cut):
            yield {**event, "output_index": index, "item_id": item.get("id")}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _empty_item(item: Json) -> Json:
    """Return an item as it begins in a stream, without its content."""
    empty: Json = {"content": [], "summary": [], "arguments": ""}
    return {name: copy.copy(empty.get(name, value)) for name, value in item.items()}


def _deltas(item: Json, cut: Callable[[str], list[str]]) -> Iterator[Json]:
    """Yield the events with an item's deltas. `cut` cuts a text into pieces, one a delta."""
    kind = item.get("type")
    if kind == "function_call":
        yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    for key in ("summary", "content"):
        event, number = _PARTS.get((str(kind), key), ("", ""))
        for index, part in enumerate(item.get(key) or []) if event else ():
            for piece in cut(part["text"]):
                yield {"type": f"response.{event}.delta", number: index, "delta": piece}
