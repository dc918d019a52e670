"""One writer of blocks for dialects whose replies are blocks, one open at a time: calls that wait
for a call's end, blanks that wait for words, and the block that is open.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from converter.model.events import (
    Block,
    End,
    Event,
    Failure,
    Finish,
    MappedField,
    Opaque,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    WordKind,
)
from converter.parsing.thought import Thought
from converter.wire.bounds import (
    BLANKS_LIMIT,
    DELAYED_LIMIT,
    MOST_CALLS,
    MOST_NAMES,
    WAITING_LIMIT,
    TooMuchError,
)


@dataclass(frozen=True, slots=True)
class ToolPiece:
    """A piece to write: `begins` opens a block of this id and name; `json` is a piece of its input.
    `cut`: the call has no end, so its input stays open.
    """

    begins: bool
    id: str = ""
    name: str = ""
    json: str = ""
    cut: bool = False


@dataclass(slots=True)
class _ToolCall:
    id: str = ""
    name: str = ""
    begun: bool = False
    ended: bool = False
    said: bool = False
    ready: list[str] = field(default_factory=list)

    def add(self, event: ToolCall) -> None:
        self.id, self.name = self.id or event.id, self.name or event.name
        self.ended = self.ended or event.ends
        if event.arguments:
            self.said = True
            self.ready.append(event.arguments)

    def pieces(self) -> Iterator[ToolPiece]:
        if not self.name:
            return
        if not self.begun:
            self.begun = True
            yield ToolPiece(True, self.id, self.name)
        if self.ready:
            yield ToolPiece(False, json="".join(self.ready))
            self.ready.clear()

    def rest(self) -> Iterator[ToolPiece]:
        """Yield the rest at the reply's end. A call of which nothing was said is open as well:
        clients take no input for an empty one.
        """
        self.name = self.name or "unnamed"
        if not (self.said or self.ended):
            self.ready.append("{")
        yield from self.pieces()
        if not self.ended:
            yield ToolPiece(False, cut=True)


_LEAST = 64
"""Characters that an event counts as, because it costs memory whatever it says."""


class InOrder[Content: Event]:
    """Content and pieces of tool calls in, as their stage leaves them; the same out in the order in
    which blocks can be written, one after another.

    The first call goes out as it comes. Behind it all else waits, other calls and content, which
    would tear it apart, until the call is complete or the reply ends.
    """

    def __init__(self) -> None:
        self._calls: dict[int, _ToolCall] = {}
        self._waiting: deque[Content | _ToolCall] = deque()
        self._held = self._length = 0

    @property
    def open(self) -> bool:
        """Tell whether a call still waits for some of its arguments."""
        return bool(self._waiting)

    def feed(self, event: Content | ToolCall) -> Iterator[Content | ToolPiece]:
        """Yield the content that can be written by now. Raises TooMuchError."""
        if isinstance(event, ToolCall):
            self._add(event)
        else:
            self._hold(event)
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _ToolCall):
                yield from first.pieces()
                if not (first.begun and first.ended):
                    return
            else:
                yield first
            self._waiting.popleft()
        self._length = 0

    def end(self) -> Iterator[Content | ToolPiece]:
        """Yield the rest of every call, and the content that waited for it."""
        for each in self._waiting:
            yield from each.rest() if isinstance(each, _ToolCall) else (each,)
        self._waiting.clear()

    def _add(self, event: ToolCall) -> None:
        if event.index not in self._calls:
            if len(self._calls) == MOST_CALLS:
                raise TooMuchError(MOST_CALLS)
            self._calls[event.index] = _ToolCall()
            self._waiting.append(self._calls[event.index])
        call = self._calls[event.index]
        call.add(event)
        if call is not next(iter(self._waiting), call) or not call.name:
            self._held += len(event.arguments)
        if self._held > WAITING_LIMIT:
            raise TooMuchError(WAITING_LIMIT)

    def _hold(self, event: Content) -> None:
        words = event.text if isinstance(event, (Text, Thinking)) else ""
        self._length += max(_LEAST, len(words))
        if self._waiting and self._length > DELAYED_LIMIT:
            raise TooMuchError(DELAYED_LIMIT)
        self._waiting.append(event)


type Content = Text | Thinking | ThinkingEnd | MappedField | Block
_CONTENT = (Text, Thinking, ThinkingEnd, ToolCall, MappedField, Block)

TEXT, THINKING, CALL, OTHER = "text", "thinking", "call", "other"
"""Kinds of open blocks."""


type Message = dict[str, object]


class BlockWriter(ABC):
    """Neutral events in, the dialect's own events out, as values.

    `thought` and `said`: characters that went out as thinking, and as anything else. `cut`: a call
    stays open, because a client must not run it. `failure`: the reason of an error that the client
    got instead of a whole reply.

    A dialect begins and ends a reply (`_start`, `_stop`, `_fail`), and takes note in `_started` and
    `_over`; it gives the events that begin, fill and finish a block, and the way of content that
    only some dialects have (`_other`).
    """

    reply: str
    """A reply of the dialect, for the log."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._started = self._over = False
        self._ending = Finish("stop")
        self._usage: Usage | None = None
        self._open: str | None = None
        self._blanks = ""  # before an answer that says nothing yet
        self._thinking = Thought()
        self._in_order: InOrder[Content] = InOrder()
        self._left_out: set[str] = set()
        self.thought = self.said = 0
        self.cut = False
        self.failure = ""

    @abstractmethod
    def _start(self, event: Start) -> Iterator[Message]: ...
    @abstractmethod
    def _stop(self, own: Own | None = None) -> Iterator[Message]: ...
    @abstractmethod
    def _fail(self, event: Failure) -> Iterator[Message]: ...
    @abstractmethod
    def _begin(self, kind: str, block: ToolPiece | Message | None) -> Iterable[Message]: ...
    @abstractmethod
    def _fill(self, text: str, pieces: int = 1) -> Iterable[Message]: ...
    @abstractmethod
    def _finish(self, kind: str, signature: str) -> Iterable[Message]: ...
    @abstractmethod
    def _other(self, event: MappedField | Block) -> Iterable[Message]: ...

    @property
    def notes(self) -> list[str]:
        """The notes on mends and omissions, a line each."""
        names = ", ".join(sorted(self._left_out))
        return [f"fields that a {self.reply} has no place for: {names}"] if names else []

    def leave_out(self, names: set[str]) -> None:
        """Note fields without a place, as far as they are to be told."""
        if len(self._left_out) < MOST_NAMES:
            self._left_out |= names

    def feed(self, event: Event) -> Iterator[Message]:
        """Yield the events that can go out. A reply has one choice, because nobody can ask for
        more.
        """
        if self._over or getattr(event, "choice", 0) != 0:
            return
        if isinstance(event, _CONTENT):
            # llama.cpp's own endpoint may leave its head out
            if not self._started and not isinstance(event, ThinkingEnd):
                yield from self._start(Start("", ""))
            if isinstance(event, ToolCall) or self._in_order.open:
                yield from self._contents(self._in_order.feed(event))
                if self._open == CALL and not self._in_order.open:
                    yield from self._leave()
            else:
                yield from self._content(event)
        else:
            yield from self._course(event)

    def _course(self, event: Event) -> Iterator[Message]:
        match event:
            case Start() if not self._started:
                yield from self._start(event)
            case Finish():
                self._ending = event
            case Usage():
                self._usage = event
            case End() if self._started:
                yield from self._stop(event.own)
            case Failure():
                yield from self._fail(event)
                self.failure = event.message
            case Opaque():
                self.leave_out(left_out(event))

    def close(self) -> Iterator[Message]:
        """End the reply. One that lacks its end has had its failure."""
        if self._started and not self._over:
            yield from self._stop()

    def spliced(self, kind: WordKind, text: str, pieces: int = 1) -> Iterable[Message]:
        """Take words that go on in the open block, in so many pieces."""
        if kind is Thinking:
            self.thought += len(text)
        else:
            self.said += len(text)
        return self._fill(text, pieces)

    def end(self) -> Iterator[Message]:
        """Return the rest."""
        yield from self._contents(self._in_order.end())
        yield from self._leave()

    def _contents(self, contents: Iterable[Content | ToolPiece]) -> Iterator[Message]:
        for content in contents:
            yield from self._content(content)

    def _content(self, event: Content | ToolPiece) -> Iterable[Message]:
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

    def _text(self, text: str) -> Iterator[Message]:
        if self._open != TEXT:
            text, self._blanks = self._blanks + text, ""
            # an answer of nothing but blanks is none, and the Messages API refuses it
            if not text or (text.isspace() and len(text) <= BLANKS_LIMIT):
                self._blanks = text
                return
            yield from self._enter(TEXT)
        self.said += len(text)
        yield from self._fill(text)

    def _thought(self, text: str) -> Iterator[Message]:
        for event in self._thinking.feed(text):
            self.thought += len(event.text)
            if not self._shown:
                continue
            if self._open != THINKING:
                yield from self._enter(THINKING)
            yield from self._fill(event.text)

    def _tool_piece(self, piece: ToolPiece) -> Iterator[Message]:
        """Write a piece of a call. Its blanks do not count, because a stream has some where a whole
        reply, being JSON itself, has none.
        """
        if piece.begins:
            yield from self._enter(CALL, piece)
        elif piece.cut:
            self._drop()
        else:
            self.said += len("".join(piece.json.split())) if self._open else 0
            yield from self._fill(piece.json)

    def _drop(self) -> None:
        """Take note that the open block's call was cut."""
        self.cut = True

    def _enter(self, kind: str, block: ToolPiece | Message | None = None) -> Iterator[Message]:
        yield from self._leave()
        self._open = kind
        self._blanks = ""
        if kind != THINKING:
            self._thinking.end()
        yield from self._begin(kind, block)

    def _leave(self, signature: str = "") -> Iterator[Message]:
        """Close the open block. What ends a thought's text ends its held blanks."""
        if self._open is None:
            return
        kind = self._open
        if kind == THINKING:
            self._thinking.end()
        yield from self._finish(kind, signature)
        self._open = None


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


def thinking_tokens(usage: Usage, thought: int, said: int) -> int:
    """Return the server's count, else the share of the characters, because a server that does not
    take the thinking out itself does not count it.
    """
    if usage.thinking or not thought:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thought / (thought + said))
