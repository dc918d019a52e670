"""Turns a server's replies in the Responses API, streams or whole responses, into events
(`ResponsesDecoder`).

Text, thoughts and plain calls (of a function without a namespace) become events as they come. An
item of any other type becomes one `DialectBlock` when it is complete. Frames that only announce or
repeat content, such as `response.output_text.done`, give no event.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from converter.core.dialects.error_words import (
    NO_MESSAGE,
    DialectDecoder,
    MisshapenError,
    as_count,
    as_index,
    as_text,
    id_of,
    list_of,
    object_of,
    server_error,
    string_of,
)
from converter.core.dialects.finish_words import is_standard, meaning_of
from converter.core.dialects.reasoning_fields import ReasoningMerger, thinking_in
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.wire.bounds import MOST_PARTS
from converter.core.wire.json_text import as_object, objects
from converter.core.wire.sse import Frame

NAME = "responses"
"""Name of the dialect. Events have it in their `own`, with data that only its encoder can write."""
_START_FIELDS = ("id", "created_at")
"""Fields of a server's response that the event `Start` has in its `own`, so that a client of this
dialect gets the server's values.
"""
_FIELDS_APART = ("id", "object", "output", "usage", "status", "error", "incomplete_details")
"""Fields of a server's response whose meaning other events have. The event `End` has all other
fields of the response in its `own`.
"""


@dataclass(slots=True)
class _Item:
    """An item of the output, and how much of it has come."""

    output_index: int
    """The item's index in the output."""
    delta_length: int = 0
    """How many characters the item's deltas had so far."""
    has_call_event: bool = False
    """True if a `ToolCall` was emitted for the item."""
    merger: ReasoningMerger | None = None
    """Joins the raw text and the summary of a thought, so that text in both is emitted once. None
    before the first delta of a thought.
    """


class ResponsesDecoder(DialectDecoder):
    """Takes the server's frames and returns events. A whole response counts as one frame."""

    name = NAME
    """Name of the dialect, in the `own` of its events."""

    def __init__(self) -> None:
        self._items: dict[object, _Item] = {}  # index or id of an item -> item
        self._started = self._called = False
        self._readers: dict[str, Callable[[dict[str, object], _Item], Iterator[Event]]] = {
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._text,
            "response.reasoning_text.delta": self._thought,
            "response.reasoning_summary_text.delta": self._thought,
            "response.function_call_arguments.delta": self._arguments,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
        }

    def _failure(self, error: Failure, parsed: object, _: Frame) -> Failure | None:
        """Return the event for an error in a frame. None if the frame holds a response: then `_end`
        reads the response's error.
        """
        fields = as_object(parsed)
        if fields.get("object") == "response" or isinstance(fields.get("response"), dict):
            return None
        return _kind_from_code(error)

    def _read(self, parsed: object, _: Frame) -> Iterator[Event]:
        """Yield the events for the JSON of a frame, or of a whole response."""
        event = object_of(parsed)
        kind = str(event.get("type") or "")
        if event.get("object") == "response":
            yield from self._start(event)
            for index, item in enumerate(list_of(event.get("output"))):
                done: dict[str, object] = {"item": item, "output_index": index}
                yield from self._item_done(done, self._item(done))
            yield from self._end(event)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            yield from self._end(object_of(event["response"]))
        elif isinstance(event.get("response"), dict):
            yield from self._start(object_of(event["response"]))
        elif kind in self._readers:
            yield from self._readers[kind](event, self._item(event))

    def _start(self, response: dict[str, object]) -> Iterator[Event]:
        """Yield the `Start`, if this is the first frame that has the response; else nothing."""
        if not self._started:
            self._started = True
            own = {name: response[name] for name in _START_FIELDS if name in response}
            yield Start(
                string_of(response.get("id")), string_of(response.get("model")), Own(NAME, own)
            )

    def _end(self, response: dict[str, object]) -> Iterator[Event]:
        """Yield the events for the end of a response: its error if it failed; else its finish, its
        counts and the `End`.
        """
        if response.get("status") == "failed":
            yield _kind_from_code(server_error(response) or Failure(NO_MESSAGE))
            return
        word = string_of(as_object(response.get("incomplete_details")).get("reason"))
        ended = "tool_calls" if self._called else "stop"
        if response.get("status") == "incomplete":
            # An incomplete response counts as cut, unless the server gives another known reason.
            ended = "length"
        meaning = meaning_of(word)
        yield Finish(meaning if is_standard(meaning) else ended, server_word=word)
        if isinstance(usage := response.get("usage"), dict):
            prompt, output = usage.get("input_tokens_details"), usage.get("output_tokens_details")
            yield Usage(
                as_count(usage, "input_tokens") or 0,
                as_count(usage, "output_tokens") or 0,
                cached=as_count(prompt, "cached_tokens"),
                created=as_count(prompt, "cache_write_tokens"),
                thinking=as_count(output, "reasoning_tokens"),
            )
        own = {name: value for name, value in response.items() if name not in _FIELDS_APART}
        yield End(Own(NAME, own))

    def _item(self, event: dict[str, object]) -> _Item:
        """Return the state of the item to which a frame belongs.

        The item is found by the frame's `output_index`, because some servers send another id in
        every frame. llama.cpp (November 2026) sends no index: then the item is found by its id.
        """
        index, fields = as_index(event.get("output_index")), event.get("item")
        name = fields.get("id") if isinstance(fields, dict) else event.get("item_id")
        number = index if type(index) is int else len(self._items)
        item = self._items.setdefault(str(name) if index is None else number, _Item(number))
        if len(self._items) > MOST_PARTS:
            del self._items[next(iter(self._items))]
        return item

    def _text(self, event: dict[str, object], item: _Item) -> Iterator[Event]:
        """Yield the event for a delta of the answer's text, or of a refusal."""
        delta = as_text(event["delta"])
        item.delta_length += len(delta)
        yield Text(delta, refusal="refusal" in str(event["type"]))

    def _thought(self, event: dict[str, object], item: _Item) -> Iterator[Event]:
        """Yield the event for a delta of a thought. A server may send a thought's raw text, its
        summary, or the same text as raw text and as summary. Text that came before under the other
        name gives no event.
        """
        item.merger = item.merger or ReasoningMerger()
        new = item.merger.feed(str(event["type"]), as_text(event["delta"]))
        item.delta_length += len(new)
        if new:
            yield Thinking(new)

    def _arguments(self, event: dict[str, object], item: _Item) -> Iterator[Event]:
        """Yield the event for a delta of a call's arguments.

        Yield nothing if no `ToolCall` has begun the call, because it has a namespace or its item
        was not announced. Such a call is emitted as a whole when its item is complete.
        """
        if item.has_call_event:
            delta = as_text(event["delta"])
            item.delta_length += len(delta)
            yield ToolCall(item.output_index, "", "", delta)

    def _item_added(self, event: dict[str, object], item: _Item) -> Iterator[Event]:
        """Yield the event that begins a call, if the announced item is a plain call
        (`_is_plain_call`); nothing for any other item.

        Arguments in this frame are not read, because they come again: in the first delta (vLLM,
        early 2026) or in the complete item (`transformers serve` 5.23).
        """
        fields = object_of(event["item"])
        if _is_plain_call(fields):
            yield self._call(fields, item, "")

    def _call(self, fields: dict[str, object], item: _Item, arguments: str) -> ToolCall:
        """Return the event that begins a plain call (`_is_plain_call`), and record that the item
        has it. `fields`: the fields of the item. `arguments`: those that have come already.
        """
        self._called = item.has_call_event = True
        name = string_of(fields.get("name"))
        return ToolCall(item.output_index, id_of(fields.get("call_id")), name, arguments)

    def _item_done(self, event: dict[str, object], item: _Item) -> Iterator[Event]:
        """Yield the events for a complete item: for a message or a thought its text, if no delta
        has sent any, and for a thought its end; for a plain call (`_is_plain_call`) the arguments
        that no delta has sent; for any other item a `DialectBlock` with the whole item.
        """
        fields = object_of(event["item"])
        kind = fields["type"]
        if kind == "message":
            for part in [] if item.delta_length else objects(fields.get("content")):
                if text := part.get("text") or part.get("refusal"):
                    yield Text(string_of(text), refusal="refusal" in part)
        elif kind == "reasoning":
            thought = thinking_in(fields.get("content")) or thinking_in(fields.get("summary"))
            if thought and not item.delta_length:
                yield Thinking(thought)
            yield ThinkingEnd()
        elif _is_plain_call(fields):
            rest = string_of(fields.get("arguments"))[item.delta_length :]
            if not item.has_call_event:
                yield self._call(fields, item, rest)
            elif rest:
                yield ToolCall(item.output_index, "", "", rest)
        elif kind and isinstance(kind, str):
            self._called = self._called or kind.endswith("_call")
            yield DialectBlock(NAME, fields)
        else:
            raise MisshapenError


def _is_plain_call(item: dict[str, object]) -> bool:
    """Return True if an item is a plain call: a call of a function without a namespace. A call with
    a namespace is no plain call, because a `ToolCall` has no field for a namespace.
    """
    return item.get("type") == "function_call" and not item.get("namespace")


def _kind_from_code(error: Failure) -> Failure:
    """Return the failure with its `code` as its `kind`, if it has a code: in a stream an error of
    this API has a code (`rate_limit_exceeded`) and no type.
    """
    return replace(error, kind=error.code or error.kind)
