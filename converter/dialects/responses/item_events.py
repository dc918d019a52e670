"""The items of a response, one after another: neutral content in, the events of its items out.

One item is open at a time, because Codex 0.169 gives every delta to the item opened last. A call is
finished only when it is whole: Codex runs it at once.
"""

from collections.abc import Callable, Iterator
from functools import partial

from converter.dialects.block_writer import CALL, OTHER, THINKING, BlockWriter
from converter.dialects.responses.compaction import Compaction
from converter.dialects.responses.context import ResponseContext
from converter.dialects.responses.decoder import NAME
from converter.dialects.responses.output_items import (
    COMPLETED,
    Finished,
    FunctionCall,
    Json,
    Message,
    OtherCall,
    OutputItem,
    Reasoning,
    done,
)
from converter.dialects.tool_pieces import ToolPiece
from converter.model.events import Block, MappedField
from converter.wire.bounds import OUTPUT_LIMIT, TooMuchError

type _Item = Callable[[str, int], OutputItem]

_PIECE_COST, _ITEM_COST = 16, 512


class ItemEvents(BlockWriter[_Item, Json]):
    """Content in, events out. `output`: the items that are finished."""

    reply = "response"

    def __init__(self, context: ResponseContext) -> None:
        super().__init__(context.shown)
        self._context = context
        self._item: OutputItem | None = None
        self._status = COMPLETED
        self._summary: list[str] = []
        self._length = 0
        self.output: list[Json] = []

    def finish(self, whole: bool, status: str) -> Iterator[Json]:
        """Return the rest. `whole`: the reply was not cut short; `status`: of an item that is open
        still.
        """
        yield from self._contents(self._in_order.end())
        self._status = COMPLETED if self._open == CALL else status
        yield from self._leave()
        self._status = COMPLETED
        if whole and (summary := "".join(self._summary).strip()):
            yield from self._enter(OTHER, Compaction)
            yield from self._fill(summary)
            yield from self._leave()

    def _text(self, text: str) -> Iterator[Json]:
        if self._context.compacts:
            self._summary.append(text)
        else:
            yield from super()._text(text)

    def _new(self, kind: str, call: ToolPiece | None = None) -> _Item:
        if call:
            tool = self._context.toolbox.find(call.name)
            made = FunctionCall if tool.kind == "function" else OtherCall
            return partial(made, call_id=call.id, tool=tool)
        thought = partial(Reasoning, encrypted=self._context.encrypted)
        return thought if kind == THINKING else Message

    def _enter(self, kind: str, block: _Item) -> Iterator[Json]:
        """Begin another item; behind a call that was cut none: its item stays open, and one at a
        time may be.
        """
        if not self.cut:
            yield from super()._enter(kind, block)

    def _begin(self, block: _Item) -> list[Json]:
        """Announce an item; its name is like no other item's of any response."""
        index = len(self.output)
        self._hold(_ITEM_COST)
        self._item = block(f"{self._context.id}_{index}", index)
        return self._item.start()

    def _fill(self, text: str, pieces: int = 1) -> list[Json]:
        self._hold(len(text) + pieces * _PIECE_COST)
        return self._item.feed(text) if self._item else []

    def _finish(self, kind: str, signature: str) -> Iterator[Json]:  # noqa: ARG002
        if self._item is None:
            return
        item, events = self._item.finish(self._status)
        self._item = None
        yield from events
        yield done(item, len(self.output))
        self.output.append(item)

    def _drop(self) -> None:
        super()._drop()
        self._open = self._item = None  # never finished, because a client would run it

    def _other(self, event: MappedField | Block) -> Iterator[Json]:
        if isinstance(event, Block) and event.dialect == NAME:
            yield from self._enter(OTHER, partial(Finished, item=dict(event.event)))
            yield from self._leave()

    def _hold(self, length: int) -> None:
        """Count the words that the last event will repeat. Raises TooMuchError."""
        self._length += length
        if self._length > OUTPUT_LIMIT:
            raise TooMuchError(OUTPUT_LIMIT)
