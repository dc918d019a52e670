"""`ResponsesEncoder`, on the base `BlockWriter`: it writes a reply as a stream of
`response.created`, `response.in_progress`, the events of the items (`output_items`), and
`response.completed`, `response.incomplete` or `response.failed`; or as one whole response.
"""

from collections.abc import Iterator, Mapping

from converter.core.dialects.block_writer import (
    CALL,
    OTHER,
    THINKING,
    BlockWriter,
    NewBlock,
    thinking_tokens,
)
from converter.core.dialects.responses import compaction
from converter.core.dialects.responses.compaction import NO_SUMMARY, compaction_items
from converter.core.dialects.responses.decoder import NAME
from converter.core.dialects.responses.errors import FINAL_CODE, SERVER_ERROR, error_body, failure
from converter.core.dialects.responses.output_items import (
    COMPLETED,
    INCOMPLETE,
    MESSAGE,
    THOUGHT,
    FunctionCall,
    OtherCall,
    OutputItem,
    TextItem,
    added_event,
    done_event,
)
from converter.core.dialects.responses.request_reader import ResponseContext
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import (
    DialectBlock,
    Event,
    Failure,
    MappedField,
    Own,
    Start,
    TextKind,
    Usage,
    own_fields,
)
from converter.core.wire.bounds import OUTPUT_LIMIT, TooMuchError

FILTERED = "the server's content filter stopped the reply"
"""The error's message for Codex if a content filter ended the reply."""
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Reason of a finish -> `reason` in the `incomplete_details` of a response. After any other finish
the response is complete.
"""


def usage_json(usage: Usage | None, thinking: int, text: int) -> Mapping[str, object] | None:
    """Return the `usage` of a response; None if the server did not count. `thinking` and `text`:
    how many characters of the reply are thinking, and how many are anything else. If the server did
    not count the thinking tokens, their number is estimated from these lengths.

    Codex 0.169 needs `total_tokens`: without it the turn fails, and by it Codex decides when to
    compact the conversation.
    """
    if usage is None:
        return None
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cached or 0,
            "cache_write_tokens": usage.created or 0,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": thinking_tokens(usage, thinking, text)},
        "total_tokens": usage.input + usage.output,
    }


_PIECE_COST, _ITEM_COST = 16, 512
"""Against `OUTPUT_LIMIT` a piece of text counts `_PIECE_COST` characters more than its text, and an
item `_ITEM_COST`, because even an empty piece or item needs memory.
"""
CUT_CALL = "the server's reply ended inside a tool call: the call is not to be run"
"""The error's message for a reply that ended inside a call, although its finish names no cut."""
COUNTER = "sequence_number"
"""The field that numbers the events of a stream: 0, 1, 2."""


class ResponsesEncoder(BlockWriter):
    """Takes events and returns frames; for a whole reply, `close` returns one response.

    One item is open at a time, because Codex 0.169 adds every delta to the item that was announced
    last. A call whose arguments were cut off is never sent as complete, because Codex runs a
    complete call at once.

    Attributes:
        output: the complete items so far.
    """

    reply = "response"
    """Name for a reply of this dialect in log lines, behind the word *a*."""

    def __init__(self, context: ReplyContext, whole: bool = False) -> None:
        super().__init__(context.shown, whole)
        self._context = context
        # `context.own` comes from the reader of the request. If a recording is replayed for another
        # dialect's client, that reader may be of another dialect.
        own = context.own
        self._requested = own if isinstance(own, ResponseContext) else ResponseContext()
        self._item: OutputItem | None = None
        self._status = COMPLETED
        self._summary: list[str] = []
        self._length = 0
        self._sequence = 0
        self.output: list[dict[str, object]] = []

    def frame_of(self, event: dict[str, object]) -> bytes:
        """Return the frame for this event, with the event's `sequence_number`."""
        number = self._reserve_numbers(1)
        return super().frame_of({"type": event["type"], COUNTER: number, **event})

    def _reserve_numbers(self, count: int) -> int:
        """Reserve the sequence numbers of the next `count` events, and return the first one."""
        first, self._sequence = self._sequence, self._sequence + count
        return first

    def record_unparsed_text(self, kind: TextKind, text: str, frame_count: int) -> int:
        """Add text that the fast path has written, in `frame_count` frames, to the open item.
        Return the sequence number of the first of these frames.
        """
        super().record_unparsed_text(kind, text, frame_count)
        return self._reserve_numbers(frame_count)

    def comment_frames(self, raw: bytes) -> list[bytes]:  # noqa: ARG002
        """Return a ping in place of a server's comment (`: keep-alive`): clients do not take a
        comment for a sign of life.
        """
        return self.ping()

    def ping(self) -> list[bytes]:
        """Return an event without content, for a silent stream: after 300 seconds without an event
        Codex gives up, and comments do not count.

        If the response has not begun, the events that begin it come first. For a whole reply, and
        after the last event, nothing is returned.
        """
        if self._whole or self._over:
            return []
        head = [] if self._started else self._start(Start("", ""))
        return self._frames_of([*head, {"type": "keepalive"}])

    def _add_to_whole_reply(self, event: dict[str, object]) -> None:
        """Do nothing: the whole reply need not be joined from events, because the last event of the
        stream has it.
        """

    def _whole_reply(self) -> dict[str, object]:
        """Return the body for a client that wants no stream: the response; if it failed, an error;
        for a request to `/responses/compact` that endpoint's answer.
        """
        error, repeated = self._result.get("error"), self._requested.repeated_messages
        if isinstance(error, dict):
            status = 500 if error["code"] == SERVER_ERROR else 400
            return error_body(str(error["message"]), status, code=str(error["code"]))
        if repeated is None:
            return self._result
        # The answer of `/responses/compact` must have a `usage`, even if the server did not count.
        usage = self._result["usage"] or usage_json(Usage(0, 0), 0, 0)
        return compaction.compact_body({**self._result, "usage": usage}, repeated, self._context.id)

    def _start(self, event: Start) -> Iterator[dict[str, object]]:
        """Yield the events that begin the response. If the server speaks this dialect, too, the id
        and the time of its response (`event.own`) replace the addon's.

        The request's long fields are left out, because Codex's tools alone have 39 kB: only the
        last event repeats them.
        """
        self._started = True
        context, echo = self._context, self._requested.echoed_fields
        self._result = {
            "id": f"resp_{context.id}",
            "object": "response",
            "created_at": context.created_at,
            "status": "in_progress",
            "background": False,
            "error": None,
            "incomplete_details": None,
            "model": context.model or event.model,
            "output": [],
            "parallel_tool_calls": echo.get("parallel_tool_calls", True),
            "tool_choice": echo.get("tool_choice", "auto"),
            "tools": [],
            "usage": None,
            **(own_fields(event.own, NAME) or {}),
        }
        for kind in ("created", "in_progress"):
            yield {"type": f"response.{kind}", "response": self._result}

    def _write_bookkeeping(self, event: Event) -> Iterator[dict[str, object]]:
        """Yield the events for an event without content. If a ping has begun the response, a later
        `Start` gives the response the model's name, if it has none yet.
        """
        if isinstance(event, Start) and self._started and not self._result["model"]:
            # mlx-lm 0.32 sends comments before the frame with the model's name. They become pings,
            # and the first of these has begun the response without a name.
            own = own_fields(event.own, NAME) or {}
            self._result = {**self._result, "model": event.model, **own}
        yield from super()._write_bookkeeping(event)

    def _stop(self, own: Own | None = None) -> Iterator[dict[str, object]]:
        """Yield the events that end the open item and the response. The last one is
        `response.failed` if the reply ended inside a call although its finish names no cut; if
        Codex gets a reply that a content filter ended; or if a request to `/responses/compact` got
        no summary. `own`: the `own` of the server's `End`, with fields of the server's response if
        the server speaks this dialect.
        """
        reason = REASONS.get(self._ending.reason)
        yield from self.finish(whole=not reason)
        error: dict[str, object] = {}
        if not reason and self.cut:
            error = failure(CUT_CALL)
        elif reason == "content_filter" and self._requested.is_codex:
            error = {"code": FINAL_CODE, "message": FILTERED}
        elif self._requested.repeated_messages is not None and not compaction_items(self.output):
            error = failure(NO_SUMMARY)
        ending: dict[str, object] = {"status": INCOMPLETE if reason else COMPLETED}
        if error:
            self.failure = str(error["message"])
            ending = {"status": "failed", "error": error}
        elif reason:
            ending["incomplete_details"] = {"reason": reason}
        yield self._last_event({**(own_fields(own, NAME) or {}), **ending})

    def _fail(self, event: Failure) -> Iterator[dict[str, object]]:
        """Yield the events that end the open item, then the event `response.failed`. If the
        response has not begun, the events that begin it come first.
        """
        if not self._started:
            yield from self._start(Start("", ""))
        yield from self.finish(whole=False)
        error = failure(event.message, event.kind, event.status)
        yield self._last_event({"status": "failed", "error": error})

    def _last_event(self, ending: dict[str, object]) -> dict[str, object]:
        """Return the last event of the stream, with the whole response, which `keep_response` gets
        for later requests. `ending`: the response's `status`, and further fields about its end.
        """
        self._over = True
        self._result = {
            **self._result,
            **self._requested.echoed_fields,
            **ending,
            "output": self.output,
            "usage": usage_json(self._usage, self.thinking_length, self.text_length),
        }
        self._requested.keep_response(self._result)
        return {"type": f"response.{ending['status']}", "response": self._result}

    def finish(self, whole: bool) -> Iterator[dict[str, object]]:
        """Yield the events that end the open item. If the client requested a compaction, yield also
        the events of the item with the summary. `whole`: True if the reply was neither cut nor
        aborted. If False, the last item is marked as incomplete, and no summary is sent.
        """
        yield from self._cut_call()
        self._status = COMPLETED if whole or self._open == CALL else INCOMPLETE
        yield from self._close_block()
        self._status = COMPLETED
        if whole and (summary := "".join(self._summary).strip()):
            self._count_length(len(summary))
            name = f"{self._context.id}_{len(self.output)}"
            yield from self._complete_item(compaction.compaction_item(name, summary))

    def _complete_item(self, item: dict[str, object]) -> Iterator[dict[str, object]]:
        """Yield the events of an item that is sent complete, without pieces."""
        yield from self._open_block(OTHER, item)
        yield from self._close_block()

    def _write_text(self, text: str) -> Iterator[dict[str, object]]:
        """Yield the events for a text. The text of a compaction gives none: it is the summary,
        which is sent in one item at the end.
        """
        if self._requested.is_compaction:
            self._summary.append(text)
        else:
            yield from super()._write_text(text)

    def _open_block(self, kind: str, block: NewBlock = None) -> Iterator[dict[str, object]]:
        """Yield the events that begin an item of this kind. If a call was cut before, yield
        nothing: for the client the item of that call is still open, and only one may be open.
        """
        if not self.cut:
            yield from super()._open_block(kind, block)

    def _begin_block(self, kind: str, block: NewBlock) -> list[dict[str, object]]:
        """Return the events that announce an item of this kind. If `block` is the JSON of a
        complete item, the event that ends the item is among them.

        The item's id contains the id of the exchange, so that no other response has an item with
        the same id.
        """
        index = len(self.output)
        name = f"{self._context.id}_{index}"
        self._count_length(_ITEM_COST)
        if isinstance(block, dict):
            item = {"id": name, **block}
            self.output.append(item)
            return [added_event(item, index), done_event(item, index)]
        if block:
            tool = self._requested.toolbox.find(block.name)
            call = FunctionCall if tool.kind == "function" else OtherCall
            self._item = call(name, index, block.id, tool)
        elif kind == THINKING:
            self._item = TextItem(name, index, THOUGHT, self._requested.wants_encrypted)
        else:
            self._item = TextItem(name, index, MESSAGE)
        return self._item.start()

    def _add_to_block(self, text: str, frame_count: int = 1) -> list[dict[str, object]]:
        """Add text to the open item, and return the events for it; none if a cut call has left no
        item open. `frame_count`: the number of frames that have the text.
        """
        self._count_length(len(text) + frame_count * _PIECE_COST)
        return self._item.feed(text) if self._item else []

    def _end_block(self, kind: str, signature: str) -> Iterator[dict[str, object]]:  # noqa: ARG002
        """Yield the events that end the open item, and add the item to `output`. Yield nothing for
        an item that `_begin_block` has sent complete.
        """
        if self._item is None:
            return
        item, events = self._item.finish(self._status)
        self._item = None
        yield from events
        yield done_event(item, len(self.output))
        self.output.append(item)

    def _abandon_call(self) -> None:
        """Give up the open call, whose end did not come. Its item gets no `output_item.done`,
        because Codex runs a call when it gets this event.
        """
        self.cut = True
        self._open = self._item = None

    def _write_other(self, event: MappedField | DialectBlock) -> Iterator[dict[str, object]]:
        """Yield the events for an item that only servers of this dialect send; nothing for a block
        of another dialect. This dialect cannot hold a block that the user's field map (`think_map`)
        made of a field: record the key of the block's value for `notes`.
        """
        if isinstance(event, MappedField):
            self.note_left_out({event.key})
        elif event.dialect == NAME:
            yield from self._complete_item(dict(event.event))

    def _count_length(self, length: int) -> None:
        """Add `length` to the number of characters that stay in memory until the last event repeats
        them. Raises TooMuchError above `OUTPUT_LIMIT`.
        """
        self._length += length
        if self._length > OUTPUT_LIMIT:
            raise TooMuchError(OUTPUT_LIMIT)
