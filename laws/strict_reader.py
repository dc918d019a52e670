"""Read Messages streams strictly (`read_strictly`): a table (`ALLOWED_NEXT`) has the events that
may follow each event, and any other event raises AssertionError.

Like Claude Code, the reader refuses a delta of the wrong type or for an index that is not open.
"""

import json
import re
from typing import Any

from converter.core.wire.cut_json import complete_part, is_open

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # may stand before the first frame
ALLOWED_DELTAS = {
    "text": {"text_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
}
"""Type of a block -> the types of its deltas."""
FIELD_OF_DELTA = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
}
"""Type of a delta -> its field with the value."""
EMPTY: dict[str, dict[str, object]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
"""The type of a block that every client reads -> the block's fields when it begins. Of other types,
a server's or a user's own, only the order is checked.
"""
ALLOWED_NEXT = {
    "": {"message_start"},
    "message_start": {"content_block_start", "message_delta"},
    "content_block_start": {"content_block_delta", "content_block_stop"},
    "content_block_delta": {"content_block_delta", "content_block_stop"},
    "content_block_stop": {"content_block_start", "message_delta"},
    "message_delta": {"message_stop"},
    "message_stop": set(),
    "error": set(),
}
"""Type of an event -> the types that may follow; also a ping and, until the end, an error."""
_EMPTY_MESSAGE: dict[str, object] = {
    "type": "message",
    "role": "assistant",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}


class StrictReader:
    """Reads a stream's events. `message`: the message so far; `error`: the event of an error that
    ended the stream, else empty. Raises AssertionError for an event that some client could not
    read; its text says why.
    """

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.error: dict[str, Any] = {}
        self._last = ""  # the type of the last event that is no ping
        self._json = ""  # the JSON of the open call's input so far
        self._signed = False  # True if the open block got its signature
        self._cut = False  # True if a call's input was cut off

    def feed(self, event: dict[str, Any]) -> None:
        """Read one event."""
        kind = event["type"]
        if kind == "ping":
            return
        allowed = ALLOWED_NEXT[self._last] | ({"error"} if ALLOWED_NEXT[self._last] else set())
        must(kind in allowed, f"{kind} after {self._last or 'nothing'}")
        self._last = kind
        getattr(self, f"_{kind}")(event)

    def close(self) -> dict[str, Any]:
        """End the stream, and return the message. Raises AssertionError if the end is missing."""
        must(
            self._last in ("message_stop", "error"),
            f"the stream ends after {self._last or 'nothing'}",
        )
        return self.message

    @property
    def _blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = self.message["content"]
        return blocks

    def _message_start(self, event: dict[str, Any]) -> None:
        self.message = dict(event["message"])
        must(
            all(self.message.get(name, "") == value for name, value in _EMPTY_MESSAGE.items()),
            "not the head of an empty message",
        )
        must(
            isinstance(self.message.get("id"), str) and isinstance(self.message.get("model"), str),
            "no id or no model",
        )
        must({"input_tokens", "output_tokens"} <= set(self.message["usage"]), "no counts of tokens")
        self.message["content"] = []

    def _content_block_start(self, event: dict[str, Any]) -> None:
        self._check_index(event, len(self._blocks))
        block = dict(event["content_block"])
        empty = EMPTY.get(block["type"], {})
        must(
            all(block.get(name) == value for name, value in empty.items()),
            "a block that does not begin empty",
        )
        must(
            block["type"] != "tool_use" or bool(block["id"] and block["name"]),
            "a call without id or name",
        )
        self._blocks.append(block)
        self._json, self._signed = "", False

    def _content_block_delta(self, event: dict[str, Any]) -> None:
        self._check_index(event, len(self._blocks) - 1)
        block, delta = self._blocks[-1], event["delta"]
        if block["type"] not in EMPTY:
            block |= {
                name: block[name] + value
                for name, value in delta.items()
                if name != "type" and isinstance(block.get(name), str)
            }
            return
        must(delta["type"] in ALLOWED_DELTAS[block["type"]], f"{delta['type']} in {block['type']}")
        must(not self._signed, "a delta after the signature")
        name = FIELD_OF_DELTA[delta["type"]]
        must(set(delta) == {"type", name}, "fields that a delta does not have")
        must(bool(delta[name]) or name == "signature", "an empty delta")
        self._signed = name == "signature"
        if name == "partial_json":
            self._json += delta[name]
        else:
            block[name] += delta[name]

    def _content_block_stop(self, event: dict[str, Any]) -> None:
        self._check_index(event, len(self._blocks) - 1)
        block = self._blocks[-1]
        if block["type"] == "tool_use":
            block["input"] = _parsed_input(self._json)
            self._cut = self._cut or is_open(self._json)
        elif block["type"] in EMPTY:
            # if the client wants no thinking, a thought has only a signature
            omitted = self._signed and block.get("thinking") == ""
            must(omitted or bool(block[block["type"]].strip()), "a block of nothing but blanks")
            must(self._signed == (block["type"] == "thinking"), "a thought without signature")

    def _check_index(self, event: dict[str, Any], expected: int) -> None:
        must(event["index"] == expected, f"index {event['index']} where {expected} belongs")

    def _message_delta(self, event: dict[str, Any]) -> None:
        must(
            set(event["delta"]) == {"stop_reason", "stop_sequence"}, "not the two fields of an end"
        )
        must(isinstance(event["delta"]["stop_reason"], str), "no reason to stop")
        must(isinstance(event["usage"]["output_tokens"], int), "no count of tokens")
        self.message |= event["delta"] | {"usage": event["usage"]}
        must(
            not self._cut or event["delta"]["stop_reason"] != "tool_use",
            "the client is to run a call that was cut off",
        )

    def _message_stop(self, event: dict[str, Any]) -> None:
        must(event == {"type": "message_stop"}, "message_stop says more than that")

    def _error(self, event: dict[str, Any]) -> None:
        self.error = event
        must(set(event["error"]) == {"type", "message"}, "not the two fields of an error")


def read_strictly(body: bytes) -> StrictReader:
    """Read a whole stream, whose frames are an `event:` and a `data:` line, comments, or empty.
    Return the reader with the message. Raises AssertionError with number and text of the first
    wrong frame, or if the end is missing.
    """
    reader = StrictReader()
    for number, frame in enumerate(frames_of(body)):
        lines = frame.removeprefix(BYTE_ORDER_MARK).splitlines()
        if all(not line or line.startswith(b":") for line in lines):
            continue
        try:
            name, data = frame.split(b"\n")
            event: dict[str, Any] = json.loads(data.removeprefix(b"data: "))
            # a ping's `event:` line is not checked, because the addon sends pings on as they came
            named = name == b"event: " + event["type"].encode() or event["type"] == "ping"
            must(named, f"{name.decode(errors='replace')} above {event['type']}")
            reader.feed(event)
        except (AssertionError, KeyError, ValueError) as error:
            raise AssertionError(
                f"frame {number}: {error}\n  {frame.decode(errors='replace')}"
            ) from error
    reader.close()
    return reader


def frames_of(body: bytes) -> list[bytes]:
    """Return the frames without their blank lines. Raises AssertionError if the last has none."""
    frames = re.split(rb"\r?\n\r?\n", body)
    must(frames.pop() == b"", "the last frame has no end")
    return frames


def _parsed_input(written: str) -> dict[str, Any]:
    """Return the input of a call from its JSON; the complete members of JSON that was cut off."""
    try:
        value = json.loads(complete_part(written) if is_open(written) else written)
    except ValueError:
        raise AssertionError("a call whose input is no JSON") from None
    must(isinstance(value, dict), "a call whose input is no object")
    return dict(value)


def must(holds: bool, message: str) -> None:
    """Raise AssertionError with the message, unless `holds` is True. Unlike `assert`, this works
    under `python -O`, and its message is for people who do not know this file.
    """
    if not holds:
        raise AssertionError(message)
