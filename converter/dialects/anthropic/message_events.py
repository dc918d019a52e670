"""The events of a Messages reply, in order: `message_start`, then blocks, `message_delta`,
`message_stop`.

Strictly sequential: one block is open at a time, and which one is a single fact (`_open`).
"""

from collections.abc import Iterable, Iterator

from converter.dialects.anthropic.decoder import NAME
from converter.dialects.anthropic.ending import Ending
from converter.dialects.anthropic.errors import error_body
from converter.dialects.delayed import Blanks, InOrder
from converter.dialects.dialect import ReplyContext
from converter.dialects.left_out import left_out
from converter.dialects.tool_pieces import ToolPiece
from converter.model.events import (
    Block,
    End,
    Event,
    Failure,
    Fields,
    Finish,
    MappedField,
    Opaque,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    WordKind,
    own_fields,
)
from converter.parsing.thought import Thought


def reply_name(event: Start, context: ReplyContext) -> str:
    """Return the reply's own name, without what dialects put before it; else the exchange's, under
    which a thread keeps its replies, because servers repeat theirs.
    """
    return ("" if context.own else event.bare_id) or context.id


def message_start(event: Start, context: ReplyContext) -> dict[str, object]:
    """Return the event that begins a message."""
    counts = _counted((own_fields(event.own, NAME) or {}).get("usage"))
    message: dict[str, object] = {
        "id": f"msg_{reply_name(event, context)}",
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


def _counted(usage: object) -> dict[str, object]:
    """Return what a server's own message counts at its start."""
    counts = usage.items() if isinstance(usage, dict) else []
    return {
        name: count
        for name, count in counts
        if name.endswith("input_tokens") and type(count) is int
    }


type Message = dict[str, object]
type _Content = Text | Thinking | ThinkingEnd | MappedField | Block


class MessageEvents:
    """Events in, the stream's own events out, as values."""

    def __init__(self, context: ReplyContext) -> None:
        self._context = context
        self._started = False
        self._over = False
        self._open: str | None = None
        self._index = 0
        self._blanks = Blanks()
        self._thought = Thought()
        self._in_order: InOrder[_Content] = InOrder()
        self._called = self._cut = False
        self._ending = Ending()
        self.failure = ""

    @property
    def notes(self) -> list[str]:
        """The notes on what was mended, a line each."""
        return [*self._ending.notes, *self._in_order.calls.notes]

    def feed(self, event: Event) -> Iterator[Message]:
        """Return what can be said. Choices but the first have no place in a message: nobody can ask
        for them.
        """
        if self._over or getattr(event, "choice", 0) != 0:
            return
        if isinstance(event, (Text, Thinking, ThinkingEnd, ToolCall, MappedField, Block)):
            # llama.cpp's own endpoint may leave its head out
            if not self._started and not isinstance(event, ThinkingEnd):
                yield from self._course(Start("", ""))
            yield from self._contents(self._in_order.feed(event))
        else:
            yield from self._course(event)

    def _contents(self, contents: Iterable[_Content | ToolPiece]) -> Iterator[Message]:
        for content in contents:
            yield from self._content(content)

    def _content(self, event: _Content | ToolPiece) -> Iterator[Message]:
        match event:
            case Text():
                yield from self._text(event.text)
            case Thinking():
                yield from self._thinking(event.text)
            case ThinkingEnd():
                yield from self._leave(event.signature) if self._open == "thinking" else ()
            case ToolPiece():
                yield from self._tool_piece(event)
            case MappedField():
                yield from self._mapped_field(event)
            case Block():
                yield from self._block(event.event) if event.dialect == NAME else ()

    def _course(self, event: Event) -> Iterator[Message]:
        match event:
            case Start() if not self._started:
                self._started = True
                self._in_order.calls.reply = reply_name(event, self._context)
                yield message_start(event, self._context)
            case Finish():
                self._ending.finish = event
            case Usage():
                self._ending.usage = event
            case End() if self._started:
                yield from self._end()
            case Failure():
                yield from self._fail(event.message, event.kind, event.status)
            case Opaque():
                self._ending.leave_out(left_out(event))

    def spliced(self, kind: WordKind, text: str) -> Message:
        """Return the one event that says words which go on in an open block."""
        name = "thinking" if kind is Thinking else "text"
        return self._delta({"type": f"{name}_delta", name: text})

    def close(self) -> Iterator[Message]:
        """End the message. One that lacks its end has had its failure."""
        if self._started and not self._over:
            yield from self._end()

    def _text(self, text: str) -> Iterator[Message]:
        if self._open != "text":
            text = self._blanks.with_words(text)
            if not text:  # the API refuses a text block of blanks when it comes back
                return
            yield from self._enter("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})

    def _thinking(self, text: str) -> Iterator[Message]:
        for event in self._thought.feed(text):
            if not self._context.shown:
                self._ending.thought += len(event.text)
                continue
            yield from self._enter(
                "thinking", {"type": "thinking", "thinking": "", "signature": ""}
            )
            yield self._delta({"type": "thinking_delta", "thinking": event.text})

    def _block(self, event: Fields) -> Iterator[Message]:
        """Pass a block of a kind that is none of ours, at its place."""
        if event.get("type") == "content_block_start":
            yield from self._leave()
            yield from self._enter("other", {**_fields(event.get("content_block"))})
        elif self._open == "other" and event.get("type") == "content_block_stop":
            yield from self._leave()
        elif self._open == "other":
            yield {**event, "index": self._index}

    def _mapped_field(self, event: MappedField) -> Iterator[Message]:
        """Pass a field in the block that the user gave it: strings, which come in pieces, as
        deltas; any other value whole.
        """
        kind = f"{event.block}:{event.key}"
        if isinstance(event.value, str):
            yield from self._enter(kind, {"type": event.block, event.key: ""})
            yield self._delta({"type": f"{event.block}_delta", event.key: event.value})
        else:
            yield from self._leave()
            yield from self._enter(kind, {"type": event.block, event.key: event.value})
            yield from self._leave()

    def _tool_piece(self, piece: ToolPiece) -> Iterator[Message]:
        if piece.begins:
            self._called = True
            call: Message = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
            yield from self._leave()
            yield from self._enter("tool_use", call)
        elif piece.cut and self._ending.cuts_calls:
            self._cut = True  # its input stays open: a client must not run it
        else:
            yield self._delta({"type": "input_json_delta", "partial_json": piece.json})

    def _enter(self, kind: str, block: Message) -> Iterator[Message]:
        if self._open == kind:
            return
        yield from self._leave()
        self._open = kind
        self._blanks.clear()
        if kind != "thinking":
            self._thought.end()
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _leave(self, signature: str = "") -> Iterator[Message]:
        """Close the open block. What ends a thought's text ends its held blanks."""
        if self._open is None:
            return
        if self._open == "thinking":
            self._thought.end()
            said = signature or self._context.signature
            yield self._delta({"type": "signature_delta", "signature": said})
        yield {"type": "content_block_stop", "index": self._index}
        self._open = None
        self._index += 1

    def _end(self) -> Iterator[Message]:
        yield from self._contents(self._in_order.end())
        yield from self._leave()
        self._over = True
        yield self._ending.delta(self._called and not self._cut)
        yield {"type": "message_stop"}

    def _fail(self, message: str, kind: str = "", status: int = 0) -> Iterator[Message]:
        yield from self._contents(self._in_order.end())
        yield from self._leave()
        self._over = True
        self.failure = message
        yield error_body(message, kind, status)

    def _delta(self, delta: Message) -> Message:
        self._ending.count(delta)
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


def _fields(value: object) -> Fields:
    return value if isinstance(value, dict) else {}
