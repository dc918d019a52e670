"""A reply of the Responses API in the other form: a stream as its one response, a response as the
stream of its server.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

type Json = dict[str, Any]

TEXT_DELTAS = (
    "response.output_text.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
)
"""Types of events that hold some text or thinking, and nothing else."""
_PARTS = {
    ("message", "content"): ("output_text", "content_index"),
    ("reasoning", "content"): ("reasoning_text", "content_index"),
    ("reasoning", "summary"): ("reasoning_summary_text", "summary_index"),
}
"""Item type and key of its parts -> the event with a delta of a part, and the key of the part's
index.
"""


def fold(events: Sequence[Json]) -> Json:
    """Return the response that the last event holds."""
    return next((event["response"] for event in reversed(events) if "response" in event), {})


def unfold(response: Json, cut: Callable[[str], list[str]]) -> Iterator[Json]:
    """Yield the events of a stream, with the text in the pieces that `cut` makes."""
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
    empty: Json = {"content": [], "summary": [], "arguments": ""}
    return {name: copy.copy(empty.get(name, value)) for name, value in item.items()}


def _deltas(item: Json, cut: Callable[[str], list[str]]) -> Iterator[Json]:
    kind = item.get("type")
    if kind == "function_call":
        yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    for key in ("summary", "content"):
        event, number = _PARTS.get((str(kind), key), ("", ""))
        for index, part in enumerate(item.get(key) or []) if event else ():
            for piece in cut(part["text"]):
                yield {"type": f"response.{event}.delta", number: index, "delta": piece}
