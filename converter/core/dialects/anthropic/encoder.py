"""`AnthropicEncoder`, on the base `BlockWriter`: it writes a reply as a stream of `message_start`,
then blocks, `message_delta` and `message_stop`; or as one whole message, joined from the events of
that stream as Anthropic's SDKs do.

At most one block is open at a time, and `_open` is its kind: text, thinking, call or other, and
`BLOCK:KEY` for a block of the option `think_map`.
"""

import json
import math
from collections.abc import Iterator, Mapping

from converter.core.dialects.anthropic.decoder import NAME
from converter.core.dialects.anthropic.errors import error_body
from converter.core.dialects.anthropic.threads import Thread
from converter.core.dialects.block_writer import (
    CALL,
    OTHER,
    TEXT,
    THINKING,
    BlockWriter,
    NewBlock,
    WireEvents,
    thinking_tokens,
)
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    DialectBlock,
    Failure,
    Finish,
    MappedField,
    Own,
    Start,
    ToolCall,
    Usage,
    own_fields,
)
from converter.core.wire.cut_json import complete_part, is_open
from converter.core.wire.json_text import as_object
from converter.core.wire.partial_json import WRAPPED

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause_turn": "pause_turn",  # a reason that only servers of the Messages API send
}
"""Finish reason of a reply that has no call and ended at no stop string -> `stop_reason` of the
message. A finish reason without a row is written as it is.
"""
_CALL_REASONS = ("tool_calls", "function_call")
"""Finish reasons of a reply that ends with calls."""
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
"""The frame of a `ping` event."""
_NOTHING_TO_RUN: dict[str, object] = {"content": [], "stop_reason": None}
"""Fields that are added to an error, if the client gets the error in place of a whole message that
already has calls. A client that reads `content` before `type` then finds no call to run.
"""


def stop_fields(finish: Finish, has_call: bool) -> tuple[str, str | None]:
    """Return the `stop_reason` and the `stop_sequence` of a message. `has_call`: True if the
    message has a tool call.

    If a reply ended for several reasons, the first of these counts, as on vLLM's Messages endpoint:
    the length, a call, a stop string.
    """
    if finish.reason == "length":
        return "max_tokens", None
    if has_call or finish.reason in _CALL_REASONS:
        # A client expects a call if it reads `tool_use`. So a message without a call gets
        # `end_turn`, even if the server's finish reason names calls.
        return "tool_use" if has_call else "end_turn", None
    if finish.stop_sequence is not None:
        return "stop_sequence", finish.stop_sequence or None
    return STOP_REASONS.get(finish.reason, finish.reason), None


def usage_json(usage: Usage, thinking: int, text: int) -> dict[str, object]:
    """Return the `usage` of a message. `thinking` and `text`: how many characters of the reply are
    thinking, sent or omitted, and how many are anything else. If the server did not count the
    thinking tokens, their number is estimated from these lengths; it is left out if `thinking` is
    0.

    `Usage.input` includes the tokens that were read from or written to the prompt cache; the
    Messages API counts them apart from `input_tokens`.
    """
    apart = {"cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.created}
    cached = {name: count for name, count in apart.items() if count is not None}
    tokens: dict[str, object] = {
        "input_tokens": max(0, usage.input - sum(cached.values())),
        **cached,
        "output_tokens": usage.output,
    }
    if thinking:
        tokens["output_tokens_details"] = {
            "thinking_tokens": thinking_tokens(usage, thinking, text)
        }
    return tokens


def message_start(event: Start, context: ReplyContext) -> dict[str, object]:
    """Return the `message_start` event.

    The message gets the server's id with another prefix: `chatcmpl-12` -> `msg_12`. If the server
    sent no id, the message gets the id of the exchange. So does each message of a message thread
    (`threads.py`), because a server may use an id twice, and a thread is found by this id.
    """
    usage = (own_fields(event.own, NAME) or {}).get("usage")
    counts = {
        name: count
        for name, count in (usage.items() if isinstance(usage, dict) else ())
        if name.endswith("input_tokens") and type(count) is int
    }
    name = event.id.removeprefix("chatcmpl-").removeprefix("msg_")
    message: dict[str, object] = {
        "id": f"msg_{('' if context.own else name) or context.id}",
        "type": "message",
        "role": "assistant",
        # The name that the client requested, not the server's: Claude Code 2.1.197 drops a thought
        # if the reply names another model.
        "model": context.model or event.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, **counts},
    }
    return {"type": "message_start", "message": message}


def _parsed_input(arguments: str) -> object:
    """Return the input of a call, parsed from `arguments`, its JSON text.

    If the call was cut off, only the complete values are returned, as Anthropic's SDKs do. A text
    that Python cannot parse (a thousand nested lists) is returned as `{"arguments": TEXT}`.
    """
    try:
        return json.loads(
            complete_part(arguments) if is_open(arguments) else arguments,
            parse_float=lambda number: float(number) if math.isfinite(float(number)) else number,
        )
    except (ValueError, RecursionError):
        return {WRAPPED: arguments}


class AnthropicEncoder(BlockWriter):
    """Takes events and returns frames; for a whole reply, `close` returns one message.

    If the request belongs to a message thread (`threads.py`), the thread keeps the whole message.
    So a stream is joined to a message, too, unless it is larger than the thread's memory.
    """

    reply = "message"
    """Name for a reply of this dialect in log lines, behind the word *a*."""
    tells_omitted = True
    """True, because in this API an omitted thought is a thinking block without text."""

    def __init__(self, context: ReplyContext, whole: bool = False) -> None:
        super().__init__(context.shown, whole)
        self._context = context
        self._thread = context.own if isinstance(context.own, Thread) else None
        self._room = self._thread.memory.bounds.size if self._thread else -1
        self._use_thread_memory(0)
        self._called = False
        self._counts = not (context.shown or whole) and COUNTS_THINKING in context.features
        # How many characters of omitted thinking have come since the last count of its tokens.
        self._uncounted = 0
        self._index = 0
        self._blocks: list[dict[str, object]] = []
        # Field of the open block's deltas -> the texts that came in this field.
        self._pieces: dict[str, list[str]] = {}

    def ping(self) -> list[bytes]:
        """Return a `ping` event; nothing for a whole message."""
        return [] if self._whole else [PING]

    def _use_thread_memory(self, size: int) -> None:
        """Subtract `size` characters from the memory that is left for the thread's message. If none
        is left, the stream is not joined to a message any more, and the thread keeps nothing.
        """
        self._room -= size
        self._gathers = self._whole or self._room >= 0

    def _add_to_whole_reply(self, event: dict[str, object]) -> None:
        """Add an event of the stream to the message that is joined from the stream's events."""
        delta = as_object(event.get("delta"))
        self._use_thread_memory(sum(map(len, map(str, delta.values()))))
        match event["type"]:
            case "message_start":
                self._result = as_object(event["message"]) | {"content": self._blocks}
            case "content_block_start":
                self._blocks.append({**as_object(event["content_block"])})
            case "content_block_delta":
                for name, piece in delta.items():
                    self._pieces.setdefault(name, []).append(str(piece))
            case "content_block_stop":
                block, pieces = self._blocks[-1], self._pieces
                # The SDKs join the deltas of a field only if the block began with the field empty
                # (`""`). The whole message has to be the one that an SDK joins.
                block |= {name: "".join(pieces[name]) for name in pieces if block.get(name) == ""}
                written = pieces.get("partial_json")
                block |= {"input": _parsed_input("".join(written))} if written else {}
                pieces.clear()
            case "message_delta":
                self._result |= {**delta, "usage": event["usage"]}
            case "error":
                self._result = event | (_NOTHING_TO_RUN if self._called else {})

    def _start(self, event: Start) -> WireEvents:
        """Yield the `message_start` event."""
        self._started = True
        yield message_start(event, self._context)

    def _stop(self, own: Own | None = None) -> WireEvents:  # noqa: ARG002
        """Yield the events that end the message: the events of held content, then `message_delta`
        and `message_stop`. Then have the message thread, if there is one, keep the message.
        """
        yield from self.end_content()
        self._over = True
        reason, stop_sequence = stop_fields(self._ending, self._called and not self.cut)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": stop_sequence},
            "usage": usage_json(self._usage or Usage(0, 0), self.thinking_length, self.text_length),
        }
        yield {"type": "message_stop"}
        if self._thread and self._gathers:
            self._thread.keep(self._result)

    def _fail(self, event: Failure) -> WireEvents:
        """Yield the events of held content, then an `error` event, which ends the stream."""
        yield from self.end_content()
        self._over = True
        yield error_body(event.message, event.kind, event.status)

    def _begin_block(self, kind: str, block: NewBlock) -> WireEvents:
        """Return the `content_block_start` event of a new block, whose text or input is still
        empty. If `block` is the JSON of a block, it is sent as it is.
        """
        if isinstance(block, ToolCall):
            self._called = True
            block = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        elif block is None:
            block = {"type": kind, kind: "", **({"signature": ""} if kind == THINKING else {})}
        return [{"type": "content_block_start", "index": self._index, "content_block": block}]

    def _write_omitted(self, text: str) -> Iterator[dict[str, object]]:
        """Yield, for a piece of a thought whose text the client wants omitted, a delta with the
        estimated number of tokens since the last such delta. Yield nothing if the client did not
        ask for these counts, or if fewer than `TOKENS_PER_COUNT` tokens have come since then.
        """
        self._uncounted += len(text)
        if self._counts and (quanta := self._uncounted // _CHARACTERS_PER_COUNT):
            self._uncounted %= _CHARACTERS_PER_COUNT
            tokens = quanta * TOKENS_PER_COUNT
            yield self._delta({"type": "thinking_delta", THINKING: "", "estimated_tokens": tokens})

    def _add_to_block(self, text: str, _: int = 1) -> list[dict[str, object]]:
        """Return the `content_block_delta` event with `text`, a piece of the open block."""
        kind, name = _DELTAS[self._open or TEXT]
        return [self._delta({"type": kind, name: text})]

    def _end_block(self, kind: str, signature: str) -> Iterator[dict[str, object]]:
        """Yield the `content_block_stop` event. Before it, for a thought, yield a delta with the
        server's signature; if the server sent none, with the signature in `ReplyContext`.
        """
        if kind == THINKING:
            signed = signature or self._context.signature
            yield self._delta({"type": "signature_delta", "signature": signed})
        yield {"type": "content_block_stop", "index": self._index}
        self._index += 1

    def _write_other(self, event: MappedField | DialectBlock) -> Iterator[dict[str, object]]:
        """Yield the events for a field of the user's field map, or for a block that only this
        dialect has. Yield nothing for a block of another dialect.
        """
        if isinstance(event, MappedField):
            yield from self._write_mapped_field(event)
        elif event.dialect == NAME:
            yield from self._write_dialect_block(event.event)

    def _write_dialect_block(self, event: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """Yield the events for `event`, a server's event that begins, fills or ends a block that
        only this dialect has. They get the block's index in the client's stream.
        """
        if event.get("type") == "content_block_start":
            block = event.get("content_block")
            yield from self._open_block(OTHER, {**block} if isinstance(block, dict) else {})
        elif self._open == OTHER and event.get("type") == "content_block_stop":
            yield from self._close_block()
        elif self._open == OTHER:
            yield {**event, "index": self._index}

    def _write_mapped_field(self, event: MappedField) -> Iterator[dict[str, object]]:
        """Yield the events for a server's field that the option `think_map` turns into a block. A
        string becomes a delta, because more of it may follow; any other value is a whole block.
        """
        kind = f"{event.block}:{event.key}"
        if isinstance(event.value, str):
            if self._open != kind:
                yield from self._open_block(kind, {"type": event.block, event.key: ""})
            self.text_length += len(event.value) if event.key == "text" else 0
            yield self._delta({"type": f"{event.block}_delta", event.key: event.value})
        else:
            yield from self._open_block(kind, {"type": event.block, event.key: event.value})
            yield from self._close_block()

    def _delta(self, delta: dict[str, object]) -> dict[str, object]:
        """Return a `content_block_delta` event with `delta`, for the open block."""
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


COUNTS_THINKING = "thinking-token-count-2026-05-13"
"""Value of `anthropic-beta` by which Claude Code 2.1.332, which omits the text of thoughts, asks to
be sent the number of thinking tokens during a thought.
"""
TOKENS_PER_COUNT = 50
"""How many tokens of omitted thinking must have come since the last count before another count is
sent. A count is a multiple of this number.
"""
_CHARACTERS_PER_COUNT = 200
"""How many characters of thinking are estimated to be `TOKENS_PER_COUNT` tokens."""
_DELTAS = {
    TEXT: ("text_delta", "text"),
    THINKING: ("thinking_delta", "thinking"),
    CALL: ("input_json_delta", "partial_json"),
}
"""Kind of block -> the type of its deltas, and the field of a delta that holds the text."""
