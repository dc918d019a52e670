"""The items of a response, one after another: neutral content in, the events of its items out.

One item is open at a time, because Codex 0.169 gives every delta to the item opened last. A call is
finished only when it is whole: Codex runs it at once.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from converter.dialects.delayed import Blanks, InOrder
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
from converter.model.events import Block, Text, Thinking, ThinkingEnd, ToolCall, WordKind
from converter.parsing.thought import Thought
from converter.wire.limits import TooMuchError

type _Content = Text | Thinking | ThinkingEnd | Block

OUTPUT_LIMIT = 32 * 1024 * 1024
"""Characters of a response, which its last event holds once more, and what they cost in pieces of
some letters: of the longest replies some megabytes.
"""
_PIECE_COST, _ITEM_COST = 16, 512


class ItemEvents:
    """Content in, events out. `output`: the items that are finished. `cut`: a call was not whole.
    `thought` and `said`: characters that went out as thinking, and as anything else.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._open: OutputItem | None = None
        self._blanks = Blanks()
        self._thought = Thought()
        self._in_order: InOrder[_Content] = InOrder()
        self._in_order.calls.reply = context.id
        self._summary: list[str] = []
        self.output: list[Json] = []
        self.cut = False
        self.thought = self.said = self._length = 0

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended, a line each."""
        return self._in_order.calls.notes

    def feed(self, event: _Content | ToolCall) -> Iterator[Json]:
        """Return the events that can go out."""
        yield from self._contents(self._in_order.feed(event))

    def _contents(self, contents: Iterable[_Content | ToolPiece]) -> Iterator[Json]:
        for content in contents:
            yield from self._content(content)

    def _content(self, event: _Content | ToolPiece) -> Iterator[Json]:
        match event:
            case Text():
                yield from self._text(event.text)
            case Thinking():
                yield from self._thinking(event.text)
            case ThinkingEnd():
                yield from self._leave() if isinstance(self._open, Reasoning) else ()
            case ToolPiece():
                yield from self._tool_piece(event)
            case Block() if event.dialect == NAME:
                yield from self._enter(partial(Finished, item=dict(event.event)))
                yield from self._leave()

    def spliced(self, kind: WordKind, text: str, pieces: int) -> None:
        """Take words that go on in the open item, in so many pieces. Raises TooMuchError."""
        if kind is Thinking:
            self.thought += len(text)
        else:
            self.said += len(text)
        self._fill(text, pieces)

    def end(self, whole: bool, status: str) -> Iterator[Json]:
        """Return the rest. `whole`: the reply was not cut short; `status`: of an item that is open
        still.
        """
        yield from self._contents(self._in_order.end(whole))
        call = isinstance(self._open, (FunctionCall, OtherCall))
        yield from self._leave(COMPLETED if call else status)
        if whole and (summary := "".join(self._summary).strip()):
            yield from self._enter(Compaction)
            yield from self._fill(summary)
            yield from self._leave()

    def _text(self, text: str) -> Iterator[Json]:
        if self._context.compacts:
            self._summary.append(text)
            return
        if not isinstance(self._open, Message):
            text = self._blanks.with_words(text)
            if not text:  # an answer of nothing but blanks is none
                return
            yield from self._enter(Message)
        self.said += len(text)
        yield from self._fill(text)

    def _thinking(self, text: str) -> Iterator[Json]:
        for event in self._thought.feed(text):
            self.thought += len(event.text)
            if not self._context.shown:
                continue
            if not isinstance(self._open, Reasoning):
                yield from self._enter(partial(Reasoning, encrypted=self._context.encrypted))
            yield from self._fill(event.text)

    def _tool_piece(self, piece: ToolPiece) -> Iterator[Json]:
        if piece.begins:
            tool = self._context.toolbox.find(piece.name)
            kind = FunctionCall if tool.kind == "function" else OtherCall
            yield from self._enter(partial(kind, call_id=piece.id, tool=tool))
        elif piece.cut:
            self.cut = True
            self._open = None  # never finished: a client would run it
        else:
            self.said += 0 if self.cut else len("".join(piece.json.split()))
            yield from self._fill(piece.json)

    def _fill(self, text: str, pieces: int = 1) -> list[Json]:
        self._hold(len(text) + pieces * _PIECE_COST)
        return self._open.feed(text) if self._open else []

    def _hold(self, length: int) -> None:
        """Count what the last event will repeat. Raises TooMuchError."""
        self._length += length
        if self._length > OUTPUT_LIMIT:
            raise TooMuchError("output", OUTPUT_LIMIT)

    def _enter(self, make: Callable[[str, int], OutputItem]) -> Iterator[Json]:
        """Begin another item; its name is like no other item's of any response.

        Behind a call that was cut nothing begins: its item stays open, and one at a time may be.
        """
        if self.cut:
            return
        yield from self._leave()
        index = len(self.output)
        self._hold(_ITEM_COST)
        self._open = item = make(f"{self._context.id}_{index}", index)
        self._blanks.clear()
        if not isinstance(item, Reasoning):
            self._thought.end()
        yield from item.start()

    def _leave(self, status: str = COMPLETED) -> Iterator[Json]:
        """Finish the open item. What ends a thought's text ends its held blanks."""
        if self._open is None:
            return
        if isinstance(self._open, Reasoning):
            self._thought.end()
        item, events = self._open.finish(status)
        self._open = None
        yield from events
        yield done(item, len(self.output))
        self.output.append(item)
