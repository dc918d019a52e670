"""Replies of servers with a Messages endpoint of their own, each named after what is to be mended
in it.
"""

import json
from typing import Any

type Block = dict[str, Any]
type Event = dict[str, Any]
HEX = "0123456789abcdef0123456789abcdef"
THOUGHT: Block = {"type": "thinking", "thinking": "deep", "signature": HEX}
CALL: Block = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "sky"}}
USAGE = {"input_tokens": 7, "output_tokens": 5}


def said(text: str) -> Block:
    return {"type": "text", "text": text}


def start(**message: object) -> Event:
    head: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": [],
        "stop_reason": None,
    }
    return {
        "type": "message_start",
        "message": {**head, "stop_sequence": None, "usage": USAGE, **message},
    }


def begin(index: int, block: Block) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, value: str) -> Event:
    name = {"input_json": "partial_json"}.get(kind, kind)
    return {
        "type": "content_block_delta",
        "index": index,
        "delta": {"type": f"{kind}_delta", name: value},
    }


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **usage: int) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def frames(events: list[Event]) -> list[bytes]:
    """The events as a server writes them."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


EMPTY_THOUGHT = {"type": "thinking", "thinking": ""}
EMPTY_CALL = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
STREAMS: dict[str, tuple[list[Event], list[Block]]] = {
    "all as it should be": (
        [start(), begin(0, said("")), piece(0, "text", "Hello"), stop(0), *end()],
        [said("Hello")],
    ),
    "tags left in the text": (
        [
            start(),
            begin(0, said("")),
            *(piece(0, "text", each) for each in ("<thi", "nk>de", "ep</think>", "Hel", "lo")),
            stop(0),
            *end(),
        ],
        [THOUGHT, said("Hello")],
    ),
    "vllm: a text block of blanks before a call": (
        [
            start(),
            begin(0, said("")),
            piece(0, "text", "\n\n"),
            stop(0),
            begin(1, EMPTY_CALL),
            piece(1, "input_json", '{"at": "sky"}'),
            stop(1),
            *end("tool_use"),
        ],
        [CALL],
    ),
    "vllm: a signature of its own": (
        [
            start(),
            begin(0, EMPTY_THOUGHT | {"signature": ""}),
            piece(0, "thinking", "deep"),
            piece(0, "signature", HEX),
            stop(0),
            begin(1, said("")),
            piece(1, "text", "Hello"),
            stop(1),
            *end(),
        ],
        [THOUGHT, said("Hello")],
    ),
    "sglang: no signature": (
        [
            start(),
            begin(0, EMPTY_THOUGHT),
            piece(0, "thinking", "deep"),
            stop(0),
            begin(1, said("")),
            piece(1, "text", "Hello"),
            stop(1),
            *end(),
        ],
        [THOUGHT, said("Hello")],
    ),
    "llama.cpp: a block starts before the one before it stops": (
        [
            start(),
            begin(0, EMPTY_THOUGHT | {"signature": ""}),
            piece(0, "thinking", "deep"),
            begin(1, said("")),
            piece(1, "text", "Hello"),
            piece(0, "signature", ""),
            stop(0),
            stop(1),
            *end(),
        ],
        [THOUGHT, said("Hello")],
    ),
    "llama.cpp: a call without input": (
        [
            start(),
            begin(0, {"type": "tool_use", "id": "call_1", "name": "look"}),
            piece(0, "input_json", '{"at": "sky"}'),
            stop(0),
            *end("tool_use"),
        ],
        [CALL],
    ),
    "two calls whose pieces mix": (
        [
            start(),
            begin(0, EMPTY_CALL),
            begin(1, EMPTY_CALL | {"id": "call_2"}),
            piece(0, "input_json", '{"at": '),
            piece(1, "input_json", '{"at": "sea"'),
            piece(0, "input_json", '"sky"}'),
            piece(1, "input_json", "}"),
            stop(0),
            stop(1),
            *end("tool_use"),
        ],
        [CALL, CALL | {"input": {"at": "sea"}}],
    ),
    "a call with all its input at the start": (
        [start(), begin(0, CALL), stop(0), *end("tool_use")],
        [CALL],
    ),
    "a call without arguments": (
        [start(), begin(0, EMPTY_CALL), stop(0), *end("tool_use")],
        [CALL | {"input": {}}],
    ),
    "llama.cpp: an id of chat completions": (
        [start(id="chatcmpl-1"), begin(0, said("")), piece(0, "text", "Hello"), stop(0), *end()],
        [said("Hello")],
    ),
    "pings": (
        [
            start(),
            {"type": "ping"},
            begin(0, said("")),
            {"type": "ping"},
            piece(0, "text", "Hello"),
            stop(0),
            *end(),
        ],
        [said("Hello")],
    ),
    "an empty text block": (
        [
            start(),
            begin(0, said("")),
            stop(0),
            begin(1, said("")),
            piece(1, "text", "Hello"),
            stop(1),
            *end(),
        ],
        [said("Hello")],
    ),
    "two thoughts in a row": (
        [
            start(),
            begin(0, EMPTY_THOUGHT),
            piece(0, "thinking", "deep"),
            stop(0),
            begin(1, EMPTY_THOUGHT),
            piece(1, "thinking", "deeper"),
            stop(1),
            begin(2, said("")),
            piece(2, "text", "Hello"),
            stop(2),
            *end(),
        ],
        [THOUGHT, THOUGHT | {"thinking": "deeper"}, said("Hello")],
    ),
    "text between two calls": (
        [
            start(),
            begin(0, EMPTY_CALL),
            piece(0, "input_json", '{"at": "sky"}'),
            stop(0),
            begin(1, said("")),
            piece(1, "text", "and"),
            stop(1),
            begin(2, EMPTY_CALL | {"id": "call_2"}),
            piece(2, "input_json", "{}"),
            stop(2),
            *end("tool_use"),
        ],
        [CALL, said("and"), CALL | {"input": {}}],
    ),
}
