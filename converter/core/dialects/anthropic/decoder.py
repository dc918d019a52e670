"""Turns a server's replies in the Messages API, streams or whole messages, into events
(`AnthropicDecoder`).

Some servers break the format: llama.cpp 11549 starts block 1 before block 0 stops and leaves
`input` out of a `tool_use` block; vLLM 0.32 sends text blocks that hold only blanks. The decoder
returns the meaning of each block as events. The client's encoder writes these events anew in the
right format, so that the client sees none of these faults.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from converter.core.dialects.error_words import (
    DialectDecoder,
    MisshapenError,
    as_count,
    as_index,
    as_text,
    id_of,
    list_of,
    object_of,
)
from converter.core.dialects.finish_words import meaning_of
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Finish,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.wire import json_text
from converter.core.wire.bounds import MOST_PARTS
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import Frame

NAME = "anthropic"
"""Name of the dialect. Events have it in their `own`, with data that only its encoder can write."""


class AnthropicDecoder(DialectDecoder):
    """Takes the server's frames and returns events. A whole message counts as one frame."""

    name = NAME
    """Name of the dialect, in the `own` of its events."""

    def __init__(self) -> None:
        self._kinds: dict[int, str] = {}  # index of a block -> its type
        self._last = 0  # the highest index of a block so far
        self._with_input: set[int] = set()  # indexes of the call blocks whose input has begun
        self._usage: dict[str, object] = {}
        self._readers: dict[str, Callable[[dict[str, object]], Iterator[Event]]] = {
            "message": self._whole_message,
            "message_start": lambda event: self._start(as_object(event.get("message"))),
            "content_block_start": lambda event: self._begin_block(
                _index(event), as_object(event.get("content_block"))
            ),
            "content_block_delta": lambda event: self._delta(
                _index(event), as_object(event.get("delta"))
            ),
            "content_block_stop": lambda event: self._end_block(_index(event)),
            "message_delta": lambda event: self._finish(
                as_object(event.get("delta")), as_object(event.get("usage"))
            ),
        }

    def _read(self, parsed: object, frame: Frame) -> Iterator[Event]:
        """Yield the events for a frame's JSON: an event of the stream, or a whole message."""
        event = object_of(parsed)
        kind = str(event.get("type") or "")
        if read := self._readers.get(kind):
            yield from read(event)
        elif kind == "message_stop":
            yield End(self._own(frame))
        else:
            yield OpaqueFrame(self._own(frame), comment=kind == "ping")

    def _start(self, message: dict[str, object]) -> Iterator[Event]:
        """Yield the event for a message's head, and record the token counts in its `usage`."""
        yield Start(
            str(message.get("id") or ""), str(message.get("model") or ""), Own(NAME, message)
        )
        self._record_counts(as_object(message.get("usage")))

    def _whole_message(self, message: dict[str, object]) -> Iterator[Event]:
        """Yield the events for a whole message."""
        yield from self._start(message)
        content = message.get("content")
        if isinstance(content, str):  # read as one text block, as the API does in requests
            content = [{"type": "text", "text": content}]
        for index, block in enumerate(map(as_object, list_of(content))):
            yield from self._begin_block(index, block)
            yield from self._end_block(index, str(block.get("signature") or ""))
        yield from self._finish(message, self._usage)
        yield End()

    def _record_counts(self, usage: dict[str, object]) -> None:
        """Record the token counts that the server has sent. Each replaces the count of the same
        name that was recorded before.
        """
        self._usage |= {name: count for name, count in usage.items() if count is not None}

    def _begin_block(self, index: int, block: dict[str, object]) -> Iterator[Event]:
        """Yield the events for the start of the block `index`, and record the block's type. Only
        the types of the last `MOST_PARTS` blocks are kept, so that no stream fills the memory.
        """
        self._kinds[index] = kind = _kind(block)
        if len(self._kinds) > MOST_PARTS:
            oldest = next(iter(self._kinds))
            del self._kinds[oldest]
            self._with_input.discard(oldest)
        self._last = max(self._last, index)
        if kind == "tool_use":
            arguments = block.get("input")
            yield ToolCall(index, id_of(block.get("id")), str(block.get("name") or ""), "")
            if arguments:
                yield self._arguments(index, json_text.write(arguments).decode())
        elif kind in ("text", "thinking"):
            yield from _text_event(kind, block.get(kind))
        elif kind:
            yield DialectBlock(
                NAME, {"type": "content_block_start", "index": index, "content_block": block}
            )

    def _end_block(self, index: int, signature: str = "") -> Iterator[Event]:
        """Yield the events for the end of the block `index`; for a thought, with its signature.

        A thought gets no `ThinkingEnd` if a later block has started already, because that start has
        ended the thought. A call without any input gets the input `{}`.
        """
        kind = self._kinds.get(index, "")
        if kind == "thinking" and index >= self._last:
            yield ThinkingEnd(signature=signature)
        if kind not in ("", "text", "thinking", "tool_use"):
            yield DialectBlock(NAME, {"type": "content_block_stop", "index": index})
        if kind == "tool_use" and index not in self._with_input:
            yield replace(self._arguments(index, "{}"), ends=True)

    def _arguments(self, index: int, text: str) -> ToolCall:
        """Return the event for a piece of the arguments of the call in block `index`, and record
        that this call has input.
        """
        self._with_input.add(index)
        return ToolCall(index, "", "", text)

    def _delta(self, index: int, delta: dict[str, object]) -> Iterator[Event]:
        """Yield the events for a delta of the block `index`. A delta with a signature ends the
        thought, because it is a thought's last delta.
        """
        kind = _kind(delta)
        if kind == "input_json_delta":
            if text := str(delta.get("partial_json") or ""):
                yield self._arguments(index, text)
        elif kind == "signature_delta":
            yield from self._end_block(index, str(delta.get("signature") or ""))
        elif kind in ("text_delta", "thinking_delta"):
            name = kind.removesuffix("_delta")
            yield from _text_event(name, delta.get(name))
        else:
            yield DialectBlock(
                NAME, {"type": "content_block_delta", "index": index, "delta": delta}
            )

    def _finish(self, delta: dict[str, object], usage: dict[str, object]) -> Iterator[Event]:
        """Yield the finish, if `delta` has a `stop_reason`, and all token counts so far. `delta`:
        the changes in a `message_delta`, or a whole message. `usage`: the counts that it has.
        """
        if reason := delta.get("stop_reason"):
            stop, word = delta.get("stop_sequence"), str(reason)
            # Ollama's Messages endpoint sends `stop_reason: "stop_sequence"` without the stop
            # string: the event then has an empty string.
            unnamed = "" if word == "stop_sequence" else None
            named = stop if isinstance(stop, str) else unnamed
            yield Finish(meaning_of(word), named, server_word=word)
        self._record_counts(usage)
        counts = self._usage
        cached, created = (
            as_count(counts, f"cache_{name}_input_tokens") for name in ("read", "creation")
        )
        # `Usage.input` includes the tokens that were read from or written to the prompt cache; the
        # Messages API has them apart from `input_tokens`.
        prompt = (as_count(counts, "input_tokens") or 0) + (cached or 0) + (created or 0)
        output = as_count(counts, "output_tokens") or 0
        thinking = as_count(as_object(counts.get("output_tokens_details")), "thinking_tokens")
        yield Usage(prompt, output, cached, created, thinking, Own(NAME, counts))


def _text_event(kind: str, value: object) -> Iterator[Event]:
    """Yield the event for a piece of a text block or a thinking block; nothing for an empty piece.
    `kind`: the type of the block, `text` or `thinking`.
    """
    if text := as_text(value):
        yield Text(text) if kind == "text" else Thinking(text)


def _kind(fields: dict[str, object]) -> str:
    """Return the `type` of a block or a delta; empty if it has none. Raises MisshapenError for a
    type that is no string, because clients may fail on such a frame.
    """
    kind = fields.get("type")
    if not isinstance(kind, str | None):
        raise MisshapenError
    return kind or ""


def _index(event: dict[str, object]) -> int:
    """Return the index of the block that an event of the stream is about; 0 if it has none."""
    index = as_index(event.get("index"), 0)
    return index if type(index) is int else 0
