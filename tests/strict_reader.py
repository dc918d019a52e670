"""A reader of Messages streams that forgives nothing: what may come next is one table, all else is an error.

As strict as Claude Code, which aborts its turn on a delta of the wrong type or for an index that is not open.
"""

import json
import re
from typing import Any

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELTAS = {"text": {"text_delta"}, "thinking": {"thinking_delta", "signature_delta"}, "tool_use": {"input_json_delta"}}
VALUES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json", "signature_delta": "signature"}
EMPTY: dict[str, dict[str, object]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
NEXT = {
    "": {"message_start"},
    "message_start": {"content_block_start", "message_delta"},
    "content_block_start": {"content_block_delta", "content_block_stop"},
    "content_block_delta": {"content_block_delta", "content_block_stop"},
    "content_block_stop": {"content_block_start", "message_delta"},
    "message_delta": {"message_stop"},
    "message_stop": set(),
    "error": set(),
}


class StrictReader:
    """Feed the stream's values; `message` is what they say, `error` the error that ended them instead."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.error: dict[str, Any] = {}
        self._last = ""
        self._json = ""
        self._signed = False

    def feed(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "ping":
            return
        assert kind in NEXT[self._last] or (kind == "error" and NEXT[self._last]), f"{kind} after {self._last or 'nothing'}"
        self._last = kind
        getattr(self, f"_{kind}")(event)

    def close(self) -> dict[str, Any]:
        assert self._last in ("message_stop", "error"), f"the stream ends after {self._last or 'nothing'}"
        return self.message

    @property
    def _blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = self.message["content"]
        return blocks

    def _message_start(self, event: dict[str, Any]) -> None:
        self.message = dict(event["message"])
        fixed: dict[str, object] = {
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        assert {name: self.message[name] for name in fixed} == fixed
        assert isinstance(self.message["id"], str)
        assert isinstance(self.message["model"], str)
        assert {"input_tokens", "output_tokens"} <= set(self.message["usage"])

    def _content_block_start(self, event: dict[str, Any]) -> None:
        assert event["index"] == len(self._blocks)
        block = dict(event["content_block"])
        kind = block["type"]
        assert {name: block[name] for name in EMPTY[kind]} == EMPTY[kind]
        assert kind != "tool_use" or (block["id"] and block["name"]), block
        self._blocks.append(block)
        self._json, self._signed = "", False

    def _content_block_delta(self, event: dict[str, Any]) -> None:
        assert event["index"] == len(self._blocks) - 1
        block, delta = self._blocks[-1], event["delta"]
        assert delta["type"] in DELTAS[block["type"]], f"{delta['type']} in {block['type']}"
        assert not self._signed, "a delta after the signature"
        name = VALUES[delta["type"]]
        assert set(delta) == {"type", name}
        assert delta[name] or name == "signature", "an empty delta"
        self._signed = name == "signature"
        if name == "partial_json":
            self._json += delta[name]
        else:
            block[name] += delta[name]

    def _content_block_stop(self, event: dict[str, Any]) -> None:
        assert event["index"] == len(self._blocks) - 1
        block = self._blocks[-1]
        if block["type"] == "tool_use":
            block["input"] = json.loads(self._json)
            assert isinstance(block["input"], dict)
        else:
            assert block[block["type"]].strip(), "a block of nothing but blanks"
            assert self._signed == (block["type"] == "thinking")

    def _message_delta(self, event: dict[str, Any]) -> None:
        assert set(event["delta"]) == {"stop_reason", "stop_sequence"}
        assert isinstance(event["delta"]["stop_reason"], str)
        assert isinstance(event["usage"]["output_tokens"], int)
        self.message |= event["delta"] | {"usage": event["usage"]}

    def _message_stop(self, event: dict[str, Any]) -> None:
        assert event == {"type": "message_stop"}

    def _error(self, event: dict[str, Any]) -> None:
        self.error = event
        assert set(event["error"]) == {"type", "message"}


def read_strictly(body: bytes) -> StrictReader:
    """Read a whole stream: each frame one `event:` and one `data:` line, a comment, or nothing at all."""
    reader = StrictReader()
    for frame in frames_of(body):
        lines = frame.removeprefix(BYTE_ORDER_MARK).splitlines()
        if all(not line or line.startswith(b":") for line in lines):
            continue
        name, data = frame.split(b"\n")
        event = json.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        reader.feed(event)
    reader.close()
    return reader


def frames_of(body: bytes) -> list[bytes]:
    """The frames without the blank lines that end them, which all must have."""
    frames = re.split(rb"\r?\n\r?\n", body)
    assert frames.pop() == b"", "the last frame has no end"
    return frames
