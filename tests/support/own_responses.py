"""Streams of servers' own Responses endpoints, built event for event as their sources build them:
vLLM's (November 2026: `reasoning_part` events, raw thinking, counts per turn, tools that it runs
itself) and that of `transformers serve` 5.23 where it parses thinking and calls.

A step is a kind and its words: `thought`, `text`, `call`, `mcp_call`, `code_interpreter_call`.
"""

from collections.abc import Iterator
from typing import Any

type Json = dict[str, Any]
type Step = tuple[str, str]

MODEL, ID = "own", "resp_own"
NAME, CALL_ID = "get_weather", "call_own"
HEAD: Json = {"id": ID, "object": "response", "created_at": 5, "model": MODEL, "output": []}
PIECE = 7
"""Characters in a delta."""
RAN: dict[str, Json] = {
    "mcp_call": {"name": "look", "server_label": "files", "arguments": "{}"},
    "code_interpreter_call": {"container_id": "auto", "code": "1 + 1", "outputs": []},
    "web_search_call": {"action": {"type": "search", "query": "q"}},
}
"""Tools that vLLM runs itself, and their items."""


def pieces(text: str) -> list[str]:
    """The text in deltas."""
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _about(kind: str, index: int, name: str, /, **fields: object) -> Json:
    return {"type": f"response.{kind}", "output_index": index, "item_id": name, **fields}


def _item(kind: str, index: int, item: Json) -> Json:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


def _thought(index: int, name: str, text: str, part: bool) -> Iterator[Json]:
    """`part`: vLLM announces a part of raw thinking by an event that the API does not have."""
    item: Json = {"type": "reasoning", "id": name, "summary": [], "status": "in_progress"}
    content = {"type": "reasoning_text", "text": text}
    yield _item("added", index, item)
    if part:
        yield _about(
            "reasoning_part.added", index, name, content_index=0, part={**content, "text": ""}
        )
    for piece in pieces(text):
        yield _about("reasoning_text.delta", index, name, content_index=0, delta=piece)
    yield _about("reasoning_text.done", index, name, content_index=0, text=text)
    if part:
        yield _about("reasoning_part.done", index, name, content_index=0, part=content)
    yield _item("done", index, {**item, "content": [content], "status": "completed"})


def _message(index: int, name: str, text: str) -> Iterator[Json]:
    item: Json = {"type": "message", "id": name, "role": "assistant", "content": []}
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    yield _item("added", index, {**item, "status": "in_progress"})
    yield _about("content_part.added", index, name, content_index=0, part={**part, "text": ""})
    for piece in pieces(text):
        yield _about("output_text.delta", index, name, content_index=0, delta=piece, logprobs=[])
    yield _about("output_text.done", index, name, content_index=0, text=text, logprobs=[])
    yield _about("content_part.done", index, name, content_index=0, part=part)
    yield _item("done", index, {**item, "content": [part], "status": "completed"})


def _call(index: int, name: str, arguments: str) -> Json:
    call_id = f"{CALL_ID}_{index}"
    return {"type": "function_call", "id": name, "call_id": call_id, "name": NAME, "arguments": arguments}  # fmt: skip


def _vllm_call(index: int, name: str, arguments: str, early: bool) -> Iterator[Json]:
    """`early`: the added item has the arguments of the first delta (versions of early 2026)."""
    first = pieces(arguments)[0] if early else ""
    yield _item("added", index, {**_call(index, name, first), "status": "in_progress"})
    for piece in pieces(arguments):
        yield _about("function_call_arguments.delta", index, name, delta=piece)
    done = {"arguments": arguments, "name": NAME}
    yield _about("function_call_arguments.done", index, name, **done)
    yield _item("done", index, {**_call(index, name, arguments), "status": "completed"})


def _ran(kind: str, index: int, name: str) -> Iterator[Json]:
    item = {"type": kind, "id": name, **RAN[kind]}
    yield _item("added", index, {**item, "status": "in_progress"})
    yield _about(f"{kind}.in_progress", index, name)
    if kind == "mcp_call":
        yield _about("mcp_call_arguments.delta", index, name, delta="{}")
        yield _about("mcp_call_arguments.done", index, name, arguments="{}", name="look")
    yield _about(f"{kind}.completed", index, name)
    yield _item("done", index, {**item, "status": "completed"})


def vllm(*steps: Step, early: bool = False, **end: object) -> list[Json]:
    """vLLM's stream. `end`: fields of its last response, whose event is always `completed`."""
    events: list[Json] = []
    for index, (kind, text) in enumerate(steps):
        name = f"msg_{index}"
        if kind == "thought":
            events += _thought(index, name, text, part=True)
        elif kind == "text":
            events += _message(index, name, text)
        elif kind == "call":
            events += _vllm_call(index, name, text, early)
        else:
            events += _ran(kind, index, name)
    return _whole_stream(events, {"status": "completed", "usage": VLLM_USAGE, **end})


VLLM_USAGE: Json = {
    "input_tokens": 20,
    "output_tokens": 9,
    "total_tokens": 29,
    "input_tokens_details": {"cached_tokens": 16, "input_tokens_per_turn": [20], "cached_tokens_per_turn": [16]},
    "output_tokens_details": {"reasoning_tokens": 4, "tool_output_tokens": 0, "output_tokens_per_turn": [9], "tool_output_tokens_per_turn": []},
}  # fmt: skip


def transformers(*steps: Step) -> list[Json]:
    """The stream of `transformers serve`: after calls an empty message under the last one's number;
    a call is whole when it is added.
    """
    events: list[Json] = []
    index = 0
    for kind, text in steps:
        if kind == "thought":
            events += _thought(index, "rs_own", text, part=False)
            index += 1
        elif kind == "text":
            events += _message(index, "msg_own", text)
        else:
            index += 1
            item = {**_call(index, f"own_{index}", text), "status": "completed"}
            done = {"arguments": text, "name": NAME}
            events.append(_item("added", index, item))
            events.append(_about("function_call_arguments.done", index, item["id"], **done))
            events.append(_item("done", index, item))
    if steps[-1][0] != "text":
        events += _message(index, "msg_own", "")
    return _whole_stream(events, {"status": "completed", "usage": TRANSFORMERS_USAGE})


TRANSFORMERS_USAGE: Json = {
    "input_tokens": 20,
    "output_tokens": 9,
    "total_tokens": 29,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def _whole_stream(events: list[Json], end: Json) -> list[Json]:
    begun = {**HEAD, "status": "in_progress"}
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    stream = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *events,
        {"type": "response.completed", "response": {**HEAD, "output": items, **end}},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(stream)]
