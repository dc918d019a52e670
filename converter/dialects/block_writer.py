"""One writer of blocks for dialects whose replies are blocks, one open at a time: calls that wait
for a call's end, blanks that wait for words, and the block that is open.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from converter.dialects.tool_pieces import ToolCalls, ToolPiece
from converter.model.events import (
    Block,
    Event,
    MappedField,
    Opaque,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    WordKind,
)
from converter.parsing.thought import Thought
from converter.wire.bounds import BLANKS_LIMIT, DELAYED_LIMIT, MOST_NAMES, TooMuchError

_LEAST = 64
"""Characters that an event counts as, because it costs memory whatever it says."""


class InOrder[Content: Event]:
    """Content and pieces of tool calls in, the same out in the order in which blocks can be
    written: content that comes within a call would tear it apart, so it waits for the call's end.
    """

    def __init__(self) -> None:
        self.calls = ToolCalls()
        self._waiting: list[Content] = []
        self._length = 0

    def feed(self, event: Content | ToolCall) -> Iterator[Content | ToolPiece]:
        """Yield the content that can be written by now. Raises TooMuchError."""
        if isinstance(event, ToolCall):
            yield from self.calls.feed(event)
            yield from self._released()
        elif self.calls.open:
            self._hold(event)
        else:
            yield event

    def end(self) -> Iterator[Content | ToolPiece]:
        """Yield the rest of every call, and the content that waited for it."""
        yield from self.calls.end()
        yield from self._released()

    def _hold(self, event: Content) -> None:
        words = event.text if isinstance(event, (Text, Thinking)) else ""
        self._length += max(_LEAST, len(words))
        if self._length > DELAYED_LIMIT:
            raise TooMuchError(DELAYED_LIMIT)
        self._waiting.append(event)

    def _released(self) -> list[Content]:
        if self.calls.open:
            return []
        released, self._waiting, self._length = self._waiting, [], 0
        return released


class Blanks:
    """Blanks before an answer, in one text."""

    def __init__(self) -> None:
        self._held = ""

    def with_words(self, text: str) -> str:
        """Return the text with the blanks before it, once it says something; until then nothing."""
        held = self._held + text
        waits = not held or (held.isspace() and len(held) <= BLANKS_LIMIT)
        self._held = held if waits else ""
        return "" if waits else held

    @property
    def wait(self) -> bool:
        """Tell whether there are any that nobody has got."""
        return bool(self._held)

    def clear(self) -> None:
        """Forget them: something else begins."""
        self._held = ""


_SILENT = {
    "role",
    "logprobs",
    "stop_reason",
    "matched_stop",
    "token_ids",
    "annotations",
    "native_finish_reason",
}
"""Fields of chat completions that other dialects say otherwise, or that nobody reads."""


def left_out(event: Opaque) -> set[str]:
    """Return the names of fields that say something and have no place in another dialect.

    The frame's own fields beside its choices (timings, provider, ...) are not among them, because
    they are about the reply, not of it.
    """
    silent = {*_SILENT, *event.told}
    return {
        name
        for name, value in {**event.outer, **event.inner}.items()
        if name not in silent and value
    }


type Content = Text | Thinking | ThinkingEnd | MappedField | Block

TEXT, THINKING, CALL, OTHER = "text", "thinking", "call", "other"
"""Kinds of open blocks."""


class BlockWriter[New, Made](ABC):
    """Content in, the dialect's own events out. `New`: the source of a block.

    `thought` and `said`: characters that went out as thinking, and as anything else. `cut`: a call
    stays open, because a client must not run it.

    A dialect gives the source of a block (`_new`), the events that begin, fill and finish it,
    and the way of content that only some dialects have (`_other`).
    """

    reply: str
    """A reply of the dialect, for the log."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._open: str | None = None
        self._blanks = Blanks()
        self._thinking = Thought()
        self._in_order: InOrder[Content] = InOrder()
        self._left_out: set[str] = set()
        self.thought = self.said = 0
        self.cut = False

    @abstractmethod
    def _new(self, kind: str, call: ToolPiece | None = None) -> New: ...
    @abstractmethod
    def _begin(self, block: New) -> Iterable[Made]: ...
    @abstractmethod
    def _fill(self, text: str, pieces: int = 1) -> Iterable[Made]: ...
    @abstractmethod
    def _finish(self, kind: str, signature: str) -> Iterable[Made]: ...
    @abstractmethod
    def _other(self, event: MappedField | Block) -> Iterable[Made]: ...

    @property
    def notes(self) -> list[str]:
        """The notes on mends and omissions, a line each."""
        names = ", ".join(sorted(self._left_out))
        return [f"fields that a {self.reply} has no place for: {names}"] if names else []

    def leave_out(self, names: set[str]) -> None:
        """Note fields without a place, as far as they are to be told."""
        if len(self._left_out) < MOST_NAMES:
            self._left_out |= names

    def write(self, event: Content | ToolCall) -> Iterator[Made]:
        """Return the events that can go out."""
        yield from self._contents(self._in_order.feed(event))

    def spliced(self, kind: WordKind, text: str, pieces: int = 1) -> Iterable[Made]:
        """Take words that go on in the open block, in so many pieces."""
        if kind is Thinking:
            self.thought += len(text)
        else:
            self.said += len(text)
        return self._fill(text, pieces)

    def end(self) -> Iterator[Made]:
        """Return the rest."""
        yield from self._contents(self._in_order.end())
        yield from self._leave()

    def _contents(self, contents: Iterable[Content | ToolPiece]) -> Iterator[Made]:
        for content in contents:
            yield from self._content(content)

    def _content(self, event: Content | ToolPiece) -> Iterable[Made]:
        match event:
            case Text():
                return self._text(event.text)
            case Thinking():
                return self._thought(event.text)
            case ThinkingEnd():
                return self._leave(event.signature) if self._open == THINKING else ()
            case ToolPiece():
                return self._tool_piece(event)
            case _:
                return self._other(event)

    def _text(self, text: str) -> Iterator[Made]:
        if self._open != TEXT:
            text = self._blanks.with_words(text)
            if not text:  # an answer of nothing but blanks is none, and the Messages API refuses it
                return
            yield from self._enter(TEXT, self._new(TEXT))
        self.said += len(text)
        yield from self._fill(text)

    def _thought(self, text: str) -> Iterator[Made]:
        for event in self._thinking.feed(text):
            self.thought += len(event.text)
            if not self._shown:
                continue
            if self._open != THINKING:
                yield from self._enter(THINKING, self._new(THINKING))
            yield from self._fill(event.text)

    def _tool_piece(self, piece: ToolPiece) -> Iterator[Made]:
        """Write a piece of a call. Its blanks do not count, because a stream has some where a whole
        reply, being JSON itself, has none.
        """
        if piece.begins:
            yield from self._enter(CALL, self._new(CALL, piece))
        elif piece.cut:
            self._drop()
        else:
            self.said += len("".join(piece.json.split())) if self._open else 0
            yield from self._fill(piece.json)

    def _drop(self) -> None:
        """Take note that the open block's call was cut."""
        self.cut = True

    def _enter(self, kind: str, block: New) -> Iterator[Made]:
        yield from self._leave()
        self._open = kind
        self._blanks.clear()
        if kind != THINKING:
            self._thinking.end()
        yield from self._begin(block)

    def _leave(self, signature: str = "") -> Iterator[Made]:
        """Close the open block. What ends a thought's text ends its held blanks."""
        if self._open is None:
            return
        kind = self._open
        if kind == THINKING:
            self._thinking.end()
        yield from self._finish(kind, signature)
        self._open = None
