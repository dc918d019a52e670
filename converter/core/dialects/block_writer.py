"""One encoder for the dialects whose replies are blocks and whose streams are events.

It holds blanks until text follows, keeps one block open at a time, and collects the whole reply.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from converter.core.dialects.wire_form import Encoder
from converter.core.model.events import (
    NO_INDEX,
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    MappedField,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    model_text,
)
from converter.core.reading.thought import Thought
from converter.core.wire import json_text
from converter.core.wire.bounds import BLANKS_LIMIT, DELAYED_LIMIT, MOST_NAMES, TooMuchError
from converter.core.wire.sse import write_frame

type Content = Text | Thinking | ThinkingEnd | ToolCall | MappedField | DialectBlock
_CONTENT = (Text, Thinking, ThinkingEnd, ToolCall, MappedField, DialectBlock)

type WireEvents = Iterable[dict[str, object]]
"""Events of a dialect, as JSON."""
type NewBlock = ToolCall | dict[str, object] | None
"""The block that begins: a call, one of a single dialect, or text or a thought."""

TEXT, THINKING, CALL, OTHER = "text", "thinking", "call", "other"
"""Kinds of open blocks."""


class BlockWriter(Encoder, ABC):
    """Neutral events in, the dialect's own events out, as frames.

    A dialect begins and ends a reply (`_start`, `_stop`, `_fail`), and sets `_started` and `_over`;
    it returns the events that begin, fill and finish a block, and those for content that only some
    dialects have (`_other`). `_fold` takes the events into the whole reply (`_result`), if that is
    wanted (`_gathers`).

    Arguments:
        shown: the client wants to see thinking.
        whole: one reply is wanted, which is the stream, folded, so that the two cannot disagree.

    Attributes:
        thinking_length, text_length: characters that went out as thinking, and as anything else.
        cut: a call stays open, because a client must not run it.
        failure: the reason of an error that the client got instead of a whole reply.
    """

    reply: str
    """A reply of the dialect, for the log."""
    failure = ""
    in_blocks = True
    tells_omitted = False
    """True if a thought that the client wants omitted is a block without text."""

    def __init__(self, shown: bool, whole: bool) -> None:
        self._shown = shown
        self._whole = self._gathers = whole
        self._started = self._over = False
        self._choice: int | None = None
        self._ending = Finish("stop")
        self._usage: Usage | None = None
        self._open: str | None = None
        self._blanks = ""  # before an answer that says nothing yet
        self._thinking = Thought()
        self._call = ToolCall(NO_INDEX, "", "", "")
        self._argued = False  # the open call has arguments
        self._waiting: list[Content] = []  # content that came within the open call
        self._waiting_length = 0
        self._left_out: set[str] = set()
        self._result: dict[str, object] = {}
        self.thinking_length = self.text_length = 0
        self.cut = False

    @abstractmethod
    def _start(self, event: Start) -> WireEvents: ...
    @abstractmethod
    def _stop(self, own: Own | None = None) -> WireEvents: ...
    @abstractmethod
    def _fail(self, event: Failure) -> WireEvents: ...
    @abstractmethod
    def _begin(self, kind: str, block: NewBlock) -> WireEvents: ...
    @abstractmethod
    def _fill(self, text: str, pieces: int = 1) -> WireEvents: ...
    @abstractmethod
    def _finish(self, kind: str, signature: str) -> WireEvents: ...
    @abstractmethod
    def _other(self, event: MappedField | DialectBlock) -> WireEvents: ...
    @abstractmethod
    def _fold(self, event: dict[str, object]) -> None: ...

    def _folded(self) -> dict[str, object]:
        return self._result

    @property
    def notes(self) -> list[str]:
        """The notes on mends and omissions, a line each."""
        names = ", ".join(sorted(self._left_out))
        return [f"fields that a {self.reply} has no place for: {names}"] if names else []

    def leave_out(self, names: set[str]) -> None:
        """Note the names of fields that the dialect lacks, up to a bound."""
        if len(self._left_out) < MOST_NAMES:
            self._left_out |= names

    def feed(
        self,
        events: Sequence[Event],
        raw: bytes | None = None,  # noqa: ARG002
    ) -> list[bytes]:
        """Return the frames; `raw` is not of this dialect. A comment is a server's ping."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, OpaqueFrame) and event.comment and not self._whole:
                out += self.commented(event.own.raw)
            out += self._sent(self.wire_events(event))
        return out

    def _sent(self, events: Iterable[dict[str, object]]) -> list[bytes]:
        out: list[bytes] = []
        for event in events:
            if self._gathers:
                self._fold(event)
            if not self._whole:
                out.append(self.framed(event))
        return out

    def framed(self, event: dict[str, object]) -> bytes:
        """Return the frame of one event."""
        return write_frame(json_text.write(event), str(event["type"]))

    def commented(self, raw: bytes) -> list[bytes]:
        """Return a comment's frames."""
        return [raw.rstrip(b"\r\n") + b"\n\n"]

    def wire_events(self, event: Event) -> Iterator[dict[str, object]]:
        """Yield the events that can go out. A reply has one choice, because no client can request
        more: the first that comes, whatever its index.
        """
        choice: int | None = getattr(event, "choice", None)
        self._choice = choice if self._choice is None else self._choice
        if self._over or choice not in (None, self._choice):
            return
        if isinstance(event, _CONTENT):
            # llama.cpp's own endpoint may leave its head out
            if not self._started and not isinstance(event, ThinkingEnd):
                yield from self._start(Start("", ""))
            if self._open == CALL and not isinstance(event, ToolCall):
                self._wait(event)
            else:
                yield from self._content(event)
        else:
            yield from self._course(event)

    def _course(self, event: Event) -> Iterator[dict[str, object]]:
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

    def close(self) -> list[bytes]:
        """End the reply. One that lacks its end has had its failure."""
        out = self._sent(self._stop() if self._started and not self._over else ())
        return [json_text.write(self._folded())] if self._whole else out

    def spliced(self, kind: TextKind, text: str, frames: int) -> int:
        """Note text that goes on in the open block, in this many pieces."""
        if kind is Thinking:
            self.thinking_length += len(text)
        else:
            self.text_length += _length(text) if kind is ToolCall else len(text)
        written = self._fill(text, frames)
        for event in written if self._gathers else ():
            self._fold(event)
        return 0

    def _wait(self, event: Content) -> None:
        """Keep content that would tear the open call apart. Raises TooMuchError."""
        self._waiting.append(event)
        self._waiting_length += max(_LEAST, len(model_text(event)))
        if self._waiting_length > DELAYED_LIMIT:
            raise TooMuchError(DELAYED_LIMIT)

    def _behind_call(self) -> Iterator[dict[str, object]]:
        """Write the content that waited for the end of the call."""
        waiting, self._waiting, self._waiting_length = self._waiting, [], 0
        for event in waiting:
            yield from self._content(event)

    def end(self) -> Iterator[dict[str, object]]:
        """Return the rest."""
        yield from self._cut()
        yield from self._leave()

    def _content(self, event: Content) -> Iterable[dict[str, object]]:
        match event:
            case Text():
                return self._text(event.text)
            case Thinking():
                return self._thought(event.text)
            case ThinkingEnd():
                return self._leave(event.signature) if self._open == THINKING else ()
            case ToolCall():
                return self._call_piece(event)
            case _:
                return self._other(event)

    def _text(self, text: str) -> Iterator[dict[str, object]]:
        if self._open != TEXT:
            text, self._blanks = self._blanks + text, ""
            # an answer of nothing but blanks is none, and the Messages API refuses it
            if not text or (text.isspace() and len(text) <= BLANKS_LIMIT):
                self._blanks = text
                return
            yield from self._enter(TEXT)
        self.text_length += len(text)
        yield from self._fill(text)

    def _thought(self, text: str) -> Iterator[dict[str, object]]:
        for event in self._thinking.feed(text):
            self.thinking_length += len(event.text)
            if not (self._shown or self.tells_omitted):
                continue
            if self._open != THINKING:
                yield from self._enter(THINKING)
            yield from self._fill(event.text) if self._shown else self._omitted(event.text)

    def _omitted(self, text: str) -> Iterable[dict[str, object]]:  # noqa: ARG002
        """Write the client's events for text of a thought that it wants omitted."""
        return ()

    def _call_piece(self, event: ToolCall) -> Iterator[dict[str, object]]:
        """Write a piece of a call. The assembler sends the next call behind the end of this one."""
        if event.name:
            yield from self._cut()
            yield from self._enter(CALL, event)
            self._call, self._argued = event, False
        if self._open != CALL or event.index != self._call.index:
            return
        if event.arguments:
            self._argued = True
            self.text_length += _length(event.arguments)
            yield from self._fill(event.arguments)
        if event.ends:
            yield from self._leave()
            yield from self._behind_call()

    def _cut(self) -> Iterator[dict[str, object]]:
        """Give the open call up, because its end did not come: its input stays open. Of one without
        any arguments as well, because clients take no input for an empty one.
        """
        if self._open == CALL:
            if not self._argued:
                yield from self._fill("{")
            self._drop()
        yield from self._behind_call()

    def _drop(self) -> None:
        """Take note that the open block's call was cut."""
        self.cut = True

    def _enter(self, kind: str, block: NewBlock = None) -> Iterator[dict[str, object]]:
        yield from self._leave()
        self._open = kind
        self._blanks = ""
        if kind != THINKING:
            self._thinking.end()
        yield from self._begin(kind, block)

    def _leave(self, signature: str = "") -> Iterator[dict[str, object]]:
        """Close the open block. The end of a thought's text ends its held blanks."""
        if self._open is None:
            return
        kind = self._open
        if kind == THINKING:
            self._thinking.end()
        yield from self._finish(kind, signature)
        self._open = None


_LEAST = 64
"""Characters that an event counts at least, because any event costs memory."""


def _length(written: str) -> int:
    """Return the characters of a call's arguments that count: a stream has blanks where a whole
    reply, being JSON itself, has none.
    """
    return len("".join(written.split()))


_SILENT = {
    *("role", "logprobs", "stop_reason", "matched_stop"),
    *("token_ids", "annotations", "native_finish_reason"),
}
"""Fields of chat completions that other dialects have under another name, or that no client reads.
"""


def left_out(event: Opaque) -> set[str]:
    """Return the names of fields with a value that another dialect lacks.

    The frame's own fields beside its choices (timings, provider, ...) are not among them, because
    they are about the reply, not of it.
    """
    return {
        name
        for fields in (event.outer, event.inner)
        for name, value in fields.items()
        if value and name not in _SILENT and name not in event.covered
    }


def thinking_tokens(usage: Usage, thinking_length: int, text_length: int) -> int:
    """Return the server's count, else the share of the characters, because a server that does not
    take the thinking out itself does not count it.
    """
    if usage.thinking or not thinking_length:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thinking_length / (thinking_length + text_length))
