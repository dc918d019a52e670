"""`BlockWriter`, the base of the encoders for the Messages API, the Responses API and Ollama: it
divides a reply's events into blocks, one after another, and subclasses write each block's beginning
(`NewBlock`), text and end. `thinking_tokens` counts or estimates the tokens of the thinking.
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
"""The types of `Content`, for `isinstance`."""

type WireEvents = Iterable[dict[str, object]]
"""Events of the client's dialect, as JSON."""
type NewBlock = ToolCall | dict[str, object] | None
"""The block to begin: a call, or the JSON of a block that only one dialect has. `None`: text or a
thought.
"""

TEXT, THINKING, CALL, OTHER = "text", "thinking", "call", "other"
"""Kinds of blocks. `OTHER`: a block that only one dialect has. A subclass may add kinds."""


class BlockWriter(Encoder, ABC):
    """Takes events and returns frames, each with one event of the client's dialect as JSON.

    One block is open at a time. Blanks at the beginning of a text are held until other text
    follows; they are dropped if another block or the end comes first.

    A subclass writes the dialect's events: it implements the abstract methods.

    Arguments:
        shown: True if the client wants to see thinking.
        whole: True if the client wants one whole reply. It is put together from the events of the
            stream, so that stream and whole reply cannot disagree.

    Attributes:
        thinking_length: how many characters of thinking came, even if the client does not want to
            see them.
        text_length: how many characters were sent as text or as calls; blanks in calls do not
            count.
        cut: True if a call was left unfinished, because its end did not come and a client must not
            run it.
    """

    reply: str
    """Name for a reply of this dialect in log lines, behind the word *a*: `message`."""
    failure = ""
    """The message of an error with which the client's reply ended; else empty."""
    in_blocks = True
    """True if text stands in blocks (`Encoder.in_blocks`)."""
    tells_omitted = False
    """True if a client that does not want to see thinking gets each thought as a block without
    text; False if it gets no block.
    """

    def __init__(self, shown: bool, whole: bool) -> None:
        self._shown = shown
        self._whole = self._gathers = whole
        self._started = self._over = False
        self._choice: int | None = None
        self._ending = Finish("stop")
        self._usage: Usage | None = None
        self._open: str | None = None
        self._blanks = ""  # blanks at the beginning of a text, held until other text follows
        self._thinking = Thought()
        self._call = ToolCall(NO_INDEX, "", "", "")
        self._has_arguments = False  # True if arguments of the open call were sent
        self._waiting: list[Content] = []  # content held until the open call has ended
        self._waiting_length = 0
        self._left_out: set[str] = set()
        self._result: dict[str, object] = {}
        self.thinking_length = self.text_length = 0
        self.cut = False

    @abstractmethod
    def _start(self, event: Start) -> WireEvents:
        """Return the dialect's events that begin the reply, and set `_started` to True."""

    @abstractmethod
    def _stop(self, own: Own | None = None) -> WireEvents:
        """Return the dialect's events that end the reply, and set `_over` to True, after which no
        event is written. `own`: the fields of the server's `End` that only the server's dialect
        has; None if there are none.
        """

    @abstractmethod
    def _fail(self, event: Failure) -> WireEvents:
        """Return the dialect's events that end the reply with an error, and set `_over` to True,
        after which no event is written.
        """

    @abstractmethod
    def _begin_block(self, kind: str, block: NewBlock) -> WireEvents:
        """Return the dialect's events that begin a block. `kind`: the kind of the block, such as
        `TEXT`.
        """

    @abstractmethod
    def _add_to_block(self, text: str, frame_count: int = 1) -> WireEvents:
        """Return the dialect's events that add `text` to the open block. `frame_count`: the number
        of frames that have the text; more than 1 only if the fast path has written the frames.
        """

    @abstractmethod
    def _end_block(self, kind: str, signature: str) -> WireEvents:
        """Return the dialect's events that end the open block. `kind`: the kind of the block.
        `signature`: the server's signature of a thought; empty if there is none.
        """

    def _write_other(self, event: MappedField | DialectBlock) -> WireEvents:  # noqa: ARG002
        """Return the dialect's events for content that only some dialects have. Here there are
        none; a subclass whose dialect can hold such content writes it.
        """
        return ()

    @abstractmethod
    def _add_to_whole_reply(self, event: dict[str, object]) -> None:
        """Add an event of the dialect to `_result`, the JSON of the whole reply. It is called only
        if the whole reply is needed (`_gathers`).
        """

    def _whole_reply(self) -> dict[str, object]:
        """Return the JSON of the whole reply."""
        return self._result

    @property
    def notes(self) -> list[str]:
        """Lines for the user, in the log and in the flow's comment. Here one line at most, which
        names the fields that were left out; a subclass may add lines.
        """
        names = ", ".join(sorted(self._left_out))
        return [f"fields that a {self.reply} has no place for: {names}"] if names else []

    def note_left_out(self, names: set[str]) -> None:
        """Record the names of fields that were left out because this dialect lacks them: `notes`
        lists these names. Once `MOST_NAMES` names are recorded, further names are ignored.
        """
        if len(self._left_out) < MOST_NAMES:
            self._left_out |= names

    def feed(
        self,
        events: Sequence[Event],
        raw: bytes | None = None,  # noqa: ARG002
    ) -> list[bytes]:
        """Return the frames for these events. In a stream a server's comment is passed on
        (`comment_frames`), because servers use comments as pings. `raw`, the server's frame, is not
        used: each event is written anew, even if the server speaks the client's dialect.
        """
        out: list[bytes] = []
        for event in events:
            if isinstance(event, OpaqueFrame) and event.comment and not self._whole:
                out += self.comment_frames(event.own.raw)
            out += self._frames_of(self.wire_events(event))
        return out

    def _frames_of(self, events: Iterable[dict[str, object]]) -> list[bytes]:
        """Return the frames for events of the client's dialect; no frames if the client wants a
        whole reply. Add the events to the whole reply if one is put together.
        """
        out: list[bytes] = []
        for event in events:
            if self._gathers:
                self._add_to_whole_reply(event)
            if not self._whole:
                out.append(self.frame_of(event))
        return out

    def frame_of(self, event: dict[str, object]) -> bytes:
        """Return the frame that holds this event."""
        return write_frame(json_text.write(event), str(event["type"]))

    def comment_frames(self, raw: bytes) -> list[bytes]:
        """Return the frames that pass on `raw`, a server's comment such as `: keep-alive`."""
        return [raw.rstrip(b"\r\n") + b"\n\n"]

    def wire_events(self, event: Event) -> Iterator[dict[str, object]]:
        """Yield the dialect's events that can be sent now.

        Only one choice is written: the one whose event comes first, whatever its index. A request
        of these dialects cannot ask for several. Raises TooMuchError if more than `DELAYED_LIMIT`
        characters are held while a call is open.
        """
        choice: int | None = getattr(event, "choice", None)
        self._choice = choice if self._choice is None else self._choice
        if self._over or choice not in (None, self._choice):
            return
        if isinstance(event, _CONTENT):
            # llama.cpp's Messages endpoint may send content before its `message_start`. Then the
            # reply is begun here, without the server's id and model.
            if not self._started and not isinstance(event, ThinkingEnd):
                yield from self._start(Start("", ""))
            if self._open == CALL and not isinstance(event, ToolCall):
                # The event is held until the open call has ended, because only one block is open.
                self._waiting.append(event)
                self._waiting_length += max(_LEAST_LENGTH, len(model_text(event)))
                if self._waiting_length > DELAYED_LIMIT:
                    raise TooMuchError(DELAYED_LIMIT)
            else:
                yield from self._write_content(event)
        else:
            yield from self._write_bookkeeping(event)

    def _write_bookkeeping(self, event: Event) -> Iterator[dict[str, object]]:
        """Yield the dialect's events for an event that has no content of the reply: its head, end
        or failure. Keep a finish and counts for the end. Of fields that this dialect lacks, record
        the names for `notes`.
        """
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
                self.note_left_out(unwritable_fields(event))

    def close(self) -> list[bytes]:
        """Return the frames that end the reply, or the whole reply. If the server's reply broke
        off, its `Failure` must have been fed before.
        """
        out = self._frames_of(self._stop() if self._started and not self._over else ())
        return [json_text.write(self._whole_reply())] if self._whole else out

    def record_unparsed_text(self, kind: TextKind, text: str, frame_count: int) -> int:
        """Count text of the open block that did not come through `feed`, because the fast path
        rewrote its frames without parsing them. Add it to the whole reply if one is put together.
        `frame_count`: the number of these frames.

        Return 0, which says that frames have no numbers. A subclass that numbers its frames returns
        the number of the first one.
        """
        if kind is Thinking:
            self.thinking_length += len(text)
        else:
            self.text_length += _length_without_blanks(text) if kind is ToolCall else len(text)
        written = self._add_to_block(text, frame_count)
        for event in written if self._gathers else ():
            self._add_to_whole_reply(event)
        return 0

    def _write_waiting(self) -> Iterator[dict[str, object]]:
        """Yield the events for the content that was held while a call was open."""
        waiting, self._waiting, self._waiting_length = self._waiting, [], 0
        for event in waiting:
            yield from self._write_content(event)

    def end_content(self) -> Iterator[dict[str, object]]:
        """Yield the events that end the open block, and those for content that was held behind an
        open call. A call that is still open is left unfinished (`_cut_call`). Held blanks are
        dropped.
        """
        yield from self._cut_call()
        yield from self._close_block()

    def _write_content(self, event: Content) -> Iterable[dict[str, object]]:
        """Return the dialect's events for a piece of content."""
        match event:
            case Text():
                return self._write_text(event.text)
            case Thinking():
                return self._write_thought(event.text)
            case ThinkingEnd():
                return self._close_block(event.signature) if self._open == THINKING else ()
            case ToolCall():
                return self._write_call_piece(event)
            case _:
                return self._write_other(event)

    def _write_text(self, text: str) -> Iterator[dict[str, object]]:
        """Yield the events for a piece of text; the first piece begins a text block. Blanks begin
        none: as long as the text has only blanks, up to `BLANKS_LIMIT` characters, it is held, and
        nothing is yielded.
        """
        if self._open != TEXT:
            text, self._blanks = self._blanks + text, ""
            # Blanks alone are held and begin no block: a client would send the block back in its
            # next request, and the Messages API refuses a text block of nothing but blanks.
            if not text or (text.isspace() and len(text) <= BLANKS_LIMIT):
                self._blanks = text
                return
            yield from self._open_block(TEXT)
        self.text_length += len(text)
        yield from self._add_to_block(text)

    def _write_thought(self, text: str) -> Iterator[dict[str, object]]:
        """Yield the events for a piece of a thought. Begin a thinking block if none is open.

        If the client does not want to see thinking, it gets the block without text if
        `tells_omitted` is True; otherwise nothing is yielded.
        """
        write = self._add_to_block if self._shown else self._write_omitted
        for event in self._thinking.feed(text):
            self.thinking_length += len(event.text)
            if not (self._shown or self.tells_omitted):
                continue
            if self._open != THINKING:
                yield from self._open_block(THINKING)
            yield from write(event.text)

    def _write_omitted(self, text: str) -> Iterable[dict[str, object]]:  # noqa: ARG002
        """Return the events for a piece of a thought whose text the client does not want: none
        here, but a subclass may send a count in its place.
        """
        return ()

    def _write_call_piece(self, event: ToolCall) -> Iterator[dict[str, object]]:
        """Yield the events for a piece of a call. Pieces of two calls never interleave, because the
        assembler emits a call after the end of the one before. After a call's last piece yield the
        events for the content that was held. A piece of a call that is not open yields nothing.
        """
        if event.name:
            yield from self._cut_call()
            yield from self._open_block(CALL, event)
            self._call, self._has_arguments = event, False
        if self._open != CALL or event.index != self._call.index:
            return
        if event.arguments:
            self._has_arguments = True
            self.text_length += _length_without_blanks(event.arguments)
            yield from self._add_to_block(event.arguments)
        if event.ends:
            yield from self._close_block()
            yield from self._write_waiting()

    def _cut_call(self) -> Iterator[dict[str, object]]:
        """Leave a call that is still open unfinished: its arguments stay invalid JSON, so that no
        client runs it. Yield the events for this, and for the content that was held behind the
        call.

        A call without any arguments gets the text `{`, because clients take an empty input as `{}`.
        """
        if self._open == CALL:
            if not self._has_arguments:
                yield from self._add_to_block("{")
            self._abandon_call()
        yield from self._write_waiting()

    def _abandon_call(self) -> None:
        """Give up the open call, whose end did not come. Here it is only recorded as cut, and its
        block ends like any other; a subclass may send no end, or drop the call.
        """
        self.cut = True

    def _open_block(self, kind: str, block: NewBlock = None) -> Iterator[dict[str, object]]:
        """Yield the events that end the open block, if there is one, and begin a block
        of `kind`.
        """
        yield from self._close_block()
        self._open = kind
        self._blanks = ""
        if kind != THINKING:
            self._thinking.end()
        yield from self._begin_block(kind, block)

    def _close_block(self, signature: str = "") -> Iterator[dict[str, object]]:
        """Yield the events that end the open block, with `signature` if the block is a thought.
        Line ends that are held at the end of a thought are dropped.
        """
        if self._open is None:
            return
        if self._open == THINKING:
            self._thinking.end()
        yield from self._end_block(self._open, signature)
        self._open = None


_LEAST_LENGTH = 64
"""An event that is held while a call is open is counted as at least this number of characters,
because even an event without text needs memory. If more than `DELAYED_LIMIT` characters are held,
TooMuchError is raised.
"""


def _length_without_blanks(arguments: str) -> int:
    """Return how many characters of a call's arguments are not blanks, for `text_length`. A
    streamed call has blanks between its JSON tokens, and the same call in a whole reply has none:
    without blanks the two have the same length.
    """
    return len("".join(arguments.split()))


_UNNOTED_FIELDS = {
    *("role", "logprobs", "stop_reason", "matched_stop"),
    *("token_ids", "annotations", "native_finish_reason"),
}
"""Fields of chat completions that other dialects have under another name, or that no client reads.
`BlockWriter.notes` does not list them as left out.
"""


def unwritable_fields(event: Opaque) -> set[str]:
    """Return the names of the fields in a chat completion's choice that no other dialect can hold,
    so that `BlockWriter.notes` lists them for the user. Not among them are fields without a value,
    fields in `_UNNOTED_FIELDS`, and fields that the user's field map (`think_map`) turned into
    blocks.

    Nor are fields beside the choices (`timings`, `provider`): an `Opaque` does not have them,
    because they describe the reply and are no content of it.
    """
    return {
        name
        for fields in (event.outer, event.inner)
        for name, value in fields.items()
        if value and name not in _UNNOTED_FIELDS and name not in event.covered
    }


def thinking_tokens(usage: Usage, thinking_length: int, text_length: int) -> int:
    """Return how many tokens of the output are thinking: the server's count if it is above 0, but
    never more than all tokens of the output.

    A server that sends thinking within the text does not count it. Then the number is an estimate:
    the thinking's share of all characters, times the tokens of the output. `thinking_length` and
    `text_length`: how many characters the thinking has, and the rest of the reply.
    """
    if usage.thinking or not thinking_length:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thinking_length / (thinking_length + text_length))
