"""Read streams of the Responses API strictly (`read_response`), and write a response object as a
message object of the Messages API (`as_message`).

The reader refuses what any of the clients would refuse. A delta belongs to the item that was added
last (Codex), an item is added before its deltas (Python SDK), the last event has exactly the
finished items, and a finished call's arguments are JSON.
"""

import json
from typing import Any

from laws.strict_reader import frames_of, must

type Json = dict[str, Any]
LAST = ("completed", "incomplete", "failed")  # last events, which hold the response object
_STARTED = ("created", "in_progress")  # the first two events of a stream
_EMPTY_AT_BEGINNING = {"message": "content", "reasoning": "summary", "function_call": "arguments"}
"""Type of an item -> its field that is empty when the item begins."""
_IN_PIECES = (*_EMPTY_AT_BEGINNING, "custom_tool_call")  # types of items whose text comes in deltas
_STOPS = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
"""The reason for which a response is incomplete -> the `stop_reason` of the Messages API."""


class StrictResponseReader:
    """Reads a stream's events. `response`: the response object of the last event; empty before it.
    Raises AssertionError for an event that some client could not read; its text says why.
    """

    def __init__(self) -> None:
        self.response: Json = {}
        self._kinds: list[str] = []  # the types of those events of `_STARTED` that came
        self._count = 0  # how many events came
        self._open: Json | None = None  # the item that is not finished yet
        self._done: list[Json] = []  # the finished items
        self._pieces: list[str] = []  # the deltas of the open item

    def feed(self, event: Json) -> None:
        """Check the next event."""
        kind = event["type"].removeprefix("response.")
        must(not self.response, f"{kind} behind the last event")
        must(event["sequence_number"] == self._count, f"{kind} has another number")
        self._count += 1
        if kind in (*_STARTED, *LAST):
            self._check_begin_or_end(kind, event["response"])
        elif kind != "keepalive":
            must(self._kinds == [*_STARTED], f"{kind} before the response began")
            must(event["output_index"] == len(self._done), f"{kind} of another item")
            self._check_item(kind, event)

    def close(self) -> Json:
        """Return the response object. Raises AssertionError if the stream had no last event."""
        must(bool(self.response), "the stream ends without its last event")
        return self.response

    def _check_begin_or_end(self, kind: str, response: Json) -> None:
        """Check one of the first two events, or the last one."""
        if kind in _STARTED:
            self._kinds.append(kind)
            must(response["output"] == [], f"{kind} has items")
        else:
            must(self._open is None or kind != "completed", "an item is open at the end")
            must(response["output"] == self._done, "the last event has other items")
            must(response["status"] == kind, "the last event has another status")
            self.response = response

    def _check_item(self, kind: str, event: Json) -> None:
        if kind == "output_item.added":
            must(self._open is None, "two items are open")
            self._open, self._pieces = event["item"], []
            empty = _EMPTY_AT_BEGINNING.get(event["item"]["type"])
            must(not empty or event["item"][empty] in ("", []), "an item is full at its start")
        elif kind == "output_item.done":
            self._check_finished_item(event["item"])
        else:
            must((self._open or {}).get("id") == event["item_id"], f"{kind} of another item")
            self._pieces += [event["delta"]] if kind.endswith(".delta") else []

    def _check_finished_item(self, item: Json) -> None:
        """Check that a finished item is the open one, and has the text of its deltas."""
        must(self._open is not None and self._open["id"] == item["id"], "another item is done")
        pieces = "".join(self._pieces)
        # items of other types have no deltas
        text = text_of_item(item) if item["type"] in _IN_PIECES else ""
        must(pieces == text, f"the pieces say {pieces!r}, the item {text!r}")
        if item["type"] == "function_call":
            json.loads(item["arguments"])
        self._done.append(item)
        self._open = None


def read_response(body: bytes) -> Json:
    """Read a stream of the Responses API strictly; return the response object of its last event."""
    reader = StrictResponseReader()
    for frame in frames_of(body):
        name, _, data = frame.partition(b"\n")
        event = json.loads(data.removeprefix(b"data: "))
        must(name == b"event: " + event["type"].encode(), f"{name!r} of {event['type']}")
        reader.feed(event)
    return reader.close()


def text_of_item(item: Json) -> str:
    """Return the joined text of an item's content or summary; else its arguments or input."""
    parts = item.get("content") or item.get("summary") or ()
    return "".join(part["text"] for part in parts) or item.get("arguments") or item.get("input", "")


def as_message(response: Json) -> Json:
    """Return a response object as a message of the Messages API, so that laws check both alike."""
    message = {
        "type": "message",
        "id": response.get("id"),
        "model": response.get("model"),
        "content": [_block_of_item(item) for item in response.get("output", ())],
        "stop_reason": _stop_reason(response),
        "stop_sequence": None,
        "usage": response.get("usage"),
    }
    if not response.get("error"):
        return message
    kept = message if "output" in response else {}
    return {**kept, "error": {"type": response["error"]["code"], **response["error"]}}


def _block_of_item(item: Json) -> Json:
    """Return a call, thought or message as a block of the Messages API; any other item as it is."""
    if item["type"] == "function_call":
        name, arguments = item["name"], json.loads(item["arguments"])
        return {"type": "tool_use", "id": item["call_id"], "name": name, "input": arguments}
    kind = {"reasoning": "thinking", "message": "text"}.get(item["type"])
    return {"type": kind, kind: text_of_item(item)} if kind else dict(item)


def _stop_reason(response: Json) -> str:
    """Return the `stop_reason` of the Messages API for a response object."""
    if details := response.get("incomplete_details"):
        return _STOPS[details["reason"]]
    called = any(item["type"] == "function_call" for item in response.get("output", ()))
    return "tool_use" if called else "end_turn"
