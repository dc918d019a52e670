"""The events of a Messages reply, in order: `message_start`, then blocks, `message_delta`,
`message_stop`; or one whole message, folded as the client's own SDK folds a stream.

Strictly sequential: one block is open at a time, and which one is a single fact (`_open`).
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
    "pause_turn": "pause_turn",  # only a server's Messages endpoint sends it
}
_CALLS = ("tool_calls", "function_call")
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
_NOTHING_TO_RUN: dict[str, object] = {"content": [], "stop_reason": None}
"""Fields of an error in place of a message with calls, for clients that read the content and not
the type.
"""


def stop(finish: Finish, called: bool) -> tuple[str, str | None]:
    """Return stop_reason and stop_sequence. Length wins, then a call, then a matched stop string,
    as on vLLM's own endpoint.
    """
    if finish.reason == "length":
        return "max_tokens", None
    if called or finish.reason in _CALLS:
        # a client that is told of a call waits for one
        return "tool_use" if called else "end_turn", None
    if finish.stop_sequence is not None:
        return "stop_sequence", finish.stop_sequence or None
    return STOP_REASONS.get(finish.reason, finish.reason), None


def counts(usage: Usage, thinking: int, text: int) -> dict[str, object]:
    """Return the tokens. `thinking` and `text`: characters that went out as thinking, and as
    anything else.

    The API counts cached and created tokens apart from the input, chat completions within it.
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
    """Return the event that begins a message. Its name is the server's, without the dialects'
    prefixes; else the exchange's, under which a thread keeps its replies, because servers repeat
    theirs.
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
        # Claude Code 2.1.197 drops thoughts of a model it did not ask for
        "model": context.model or event.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, **counts},
    }
    return {"type": "message_start", "message": message}


def _input(written: str) -> object:
    """Return a call's input; of a call that was cut off the complete values, as the SDKs read a
    stream. JSON that Python cannot hold (a number without end, a thousand nestings) stays a text.
    """
    try:
        return json.loads(
            complete_part(written) if is_open(written) else written,
            parse_float=lambda number: float(number) if math.isfinite(float(number)) else number,
        )
    except (ValueError, RecursionError):
        return {WRAPPED: written}


class AnthropicEncoder(BlockWriter):
    """Events in, frames out; or, for a whole reply, one message at `close`. A thread keeps the
    message; a stream that is larger than the thread's memory is not gathered to its end.
    """

    reply = "message"
    tells_omitted = True

    def __init__(self, context: ReplyContext, whole: bool = False) -> None:
        super().__init__(context.shown, whole)
        self._context = context
        self._thread = context.own if isinstance(context.own, Thread) else None
        self._room = self._thread.memory.bounds.size if self._thread else -1
        self._spend(0)
        self._called = False
        self._counts = not (context.shown or whole) and COUNTS_THINKING in context.features
        self._uncounted = 0  # characters of an omitted thought
        self._index = 0
        self._blocks: list[dict[str, object]] = []
        self._pieces: dict[str, list[str]] = {}  # of the block's deltas, by their keys

    def ping(self) -> list[bytes]:
        """Return a frame without content."""
        return [] if self._whole else [PING]

    def _spend(self, size: int) -> None:
        """Take so many characters of the thread's room; gather as long as some of it is left."""
        self._room -= size
        self._gathers = self._whole or self._room >= 0

    def _fold(self, event: dict[str, object]) -> None:
        delta = as_object(event.get("delta"))
        self._spend(sum(map(len, map(str, delta.values()))))
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
                # a block that has no such string at its start takes none
                block |= {name: "".join(pieces[name]) for name in pieces if block.get(name) == ""}
                written = pieces.get("partial_json")
                block |= {"input": _input("".join(written))} if written else {}
                pieces.clear()
            case "message_delta":
                self._result |= {**delta, "usage": event["usage"]}
            case "error":
                self._result = event | (_NOTHING_TO_RUN if self._called else {})

    def _start(self, event: Start) -> WireEvents:
        self._started = True
        yield message_start(event, self._context)

    def _stop(self, own: Own | None = None) -> WireEvents:  # noqa: ARG002
        yield from self.end()
        self._over = True
        reason, stop_sequence = stop(self._ending, self._called and not self.cut)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": stop_sequence},
            "usage": counts(self._usage or Usage(0, 0), self.thinking_length, self.text_length),
        }
        yield {"type": "message_stop"}
        if self._thread and self._gathers:
            self._thread.keep(self._result)

    def _fail(self, event: Failure) -> WireEvents:
        yield from self.end()
        self._over = True
        yield error_body(event.message, event.kind, event.status)

    def _begin(self, kind: str, block: NewBlock) -> WireEvents:
        if isinstance(block, ToolCall):
            self._called = True
            block = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        elif block is None:
            block = {"type": kind, kind: "", **({"signature": ""} if kind == THINKING else {})}
        return [{"type": "content_block_start", "index": self._index, "content_block": block}]

    def _omitted(self, text: str) -> Iterator[dict[str, object]]:
        """Write the thinking tokens since the last count, if the client wants counts."""
        self._uncounted += len(text)
        if self._counts and (quanta := self._uncounted // _CHARACTERS_PER_COUNT):
            self._uncounted %= _CHARACTERS_PER_COUNT
            tokens = quanta * TOKENS_PER_COUNT
            yield self._delta({"type": "thinking_delta", THINKING: "", "estimated_tokens": tokens})

    def _fill(self, text: str, pieces: int = 1) -> list[dict[str, object]]:  # noqa: ARG002
        kind, name = _DELTAS[self._open or TEXT]
        return [self._delta({"type": kind, name: text})]

    def _finish(self, kind: str, signature: str) -> Iterator[dict[str, object]]:
        if kind == THINKING:
            signed = signature or self._context.signature
            yield self._delta({"type": "signature_delta", "signature": signed})
        yield {"type": "content_block_stop", "index": self._index}
        self._index += 1

    def _other(self, event: MappedField | DialectBlock) -> Iterator[dict[str, object]]:
        if isinstance(event, MappedField):
            yield from self._mapped_field(event)
        elif event.dialect == NAME:
            yield from self._block(event.event)

    def _block(self, event: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """Pass a block of a single dialect on, at its position."""
        if event.get("type") == "content_block_start":
            block = event.get("content_block")
            yield from self._enter(OTHER, {**block} if isinstance(block, dict) else {})
        elif self._open == OTHER and event.get("type") == "content_block_stop":
            yield from self._leave()
        elif self._open == OTHER:
            yield {**event, "index": self._index}

    def _mapped_field(self, event: MappedField) -> Iterator[dict[str, object]]:
        """Pass a field in the block that the user gave it: strings, which come in pieces, as
        deltas; any other value whole.
        """
        kind = f"{event.block}:{event.key}"
        if isinstance(event.value, str):
            if self._open != kind:
                yield from self._enter(kind, {"type": event.block, event.key: ""})
            self.text_length += len(event.value) if event.key == "text" else 0
            yield self._delta({"type": f"{event.block}_delta", event.key: event.value})
        else:
            yield from self._enter(kind, {"type": event.block, event.key: event.value})
            yield from self._leave()

    def _delta(self, delta: dict[str, object]) -> dict[str, object]:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


COUNTS_THINKING = "thinking-token-count-2026-05-13"
"""Claude Code 2.1.332 asks so for a count of the thought that it wants omitted."""
TOKENS_PER_COUNT = 50
_CHARACTERS_PER_COUNT = 200
_DELTAS = {
    TEXT: ("text_delta", "text"),
    THINKING: ("thinking_delta", "thinking"),
    CALL: ("input_json_delta", "partial_json"),
}
"""The type of a block's deltas, and the field that holds their text."""
