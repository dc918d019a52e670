"""Replies of servers with a Messages endpoint of their own, each named after what is to be mended
in it.
"""

import json
from typing import Any

from tests.support.rows import rows_of

type Block = dict[str, Any]
type Event = dict[str, Any]
HEX = "0123456789abcdef0123456789abcdef"
THOUGHT: Block = {"type": "thinking", "thinking": "deep", "signature": HEX}
CALL: Block = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "sky"}}
USAGE = {"input_tokens": 7, "output_tokens": 5}


def text_block(text: str) -> Block:
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
STREAMS: dict[str, tuple[list[Event], list[Block]]] = rows_of(__file__)
"""The events of each, and the blocks that a client makes of them."""
