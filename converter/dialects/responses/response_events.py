"""The events of a response, in order: `response.created`, `response.in_progress`, then items, and
`response.completed`, `incomplete` or `failed`.

One item is open at a time, because Codex 0.169 gives every delta to the item opened last. A call is
finished only when it is whole: Codex runs it at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from converter.dialects.responses.context import ResponseContext, begun
from converter.dialects.responses.ending import counts, outcome
from converter.dialects.responses.errors import failure
from converter.dialects.responses.growing_items import (
    COMPLETED,
    INCOMPLETE,
    FunctionCall,
    GrowingItem,
    Json,
    Message,
    OtherCall,
    Reasoning,
    done,
)
from converter.dialects.tool_pieces import ToolCalls, ToolPiece
from converter.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.parsing.think_parser import Thought

CUT_SHORT = "the server's reply was cut short: it ended without a finish"
CUT_CALL = "the server's reply ended inside a tool call: the call is not to be run"
EMPTY = "the server's reply was empty"
UNREAD = "the server's reply is no chat completion: "
_SAMPLE = 200
"""Bytes of an unreadable reply that are worth showing."""
type _Content = Text | Thinking | ThinkingEnd | ToolCall


class ResponseEvents:
    """Neutral events in, events of the stream out, as values."""

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._response: Json | None = None
        self._over = False
        self._sequence = 0
        self._items: list[Json] = []
        self._index = 0
        self._open: GrowingItem | None = None
        self._cut = False
        self._blanks: list[str] = []
        self._thought = Thought()
        self._calls = ToolCalls()
        self._calls.reply = context.id
        self._delayed: list[_Content] = []
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._thought_length = self._said_length = 0
        self._unread = b""
        self.failure = ""

    @property
    def notes(self) -> list[str]:
        """What was mended, a line each."""
        return self._calls.notes

    @property
    def started(self) -> bool:
        """Tell whether `response.created` is out and the last event is not."""
        return self._response is not None and not self._over

    def feed(self, event: Event) -> Iterator[Json]:
        """Return the events that can go out. A response has one choice: nobody can ask for more."""
        if self._over or getattr(event, "choice", 0) != 0:
            return
        if isinstance(event, Text | Thinking | ThinkingEnd | ToolCall):
            yield from self.start()
            yield from self._numbered(self._content(event))
        else:
            yield from self._course(event)

    def _course(self, event: Event) -> Iterator[Json]:
        match event:
            case Start():
                yield from self.start(event.model)
            case Finish():
                self._finish = event
            case Usage():
                self._usage = event
            case End() if self._response is not None:
                yield from self._end(self._finish or Finish("stop"))
            case Failure():
                yield from self._fail(event.message, event.kind, event.status)
            case OpaqueFrame(comment=False) if not self._unread:
                self._unread = event.raw[:_SAMPLE]

    def close(self) -> Iterator[Json]:
        """End the response, or say why it has no end."""
        if self._over:
            return
        if self._response is not None and self._finish:
            yield from self._end(self._finish)
        elif self._response is not None:
            yield from self._fail(CUT_SHORT)
        elif unread := self._unread.decode(errors="replace").strip():
            yield from self._fail(UNREAD + unread)
        else:
            yield from self._fail(EMPTY)

    def abort(self, reason: str) -> Iterator[Json]:
        """Send what is held, and say why the response is not whole."""
        if not self._over:
            yield from self._fail(reason)

    def start(self, model: str = "") -> Iterator[Json]:
        """Begin the response, once: a client that waits long wants a sign before the first word."""
        if self._response is not None:
            return
        self._response = begun(self._context, model)
        for kind in ("created", "in_progress"):
            yield self._numbered_one({"type": f"response.{kind}", "response": self._response})

    def keepalive(self) -> Json:
        """Return an event that says nothing: Codex drops a stream after 300 s without one, and
        comments do not count.
        """
        return self._numbered_one({"type": "keepalive"})

    # Items.

    def _content(self, event: _Content) -> Iterator[Json]:
        match event:
            case Text() | Thinking() | ThinkingEnd() if self._calls.open:
                self._delayed.append(event)  # its item would tear the call apart
            case Text():
                yield from self._text(event.text)
            case Thinking():
                yield from self._thinking(event.text)
            case ThinkingEnd():
                yield from self._leave() if isinstance(self._open, Reasoning) else ()
            case ToolCall():
                yield from self._tool_pieces(self._calls.feed(event))
                yield from self._undelayed()

    def _text(self, text: str) -> Iterator[Json]:
        if not isinstance(self._open, Message):
            self._blanks.append(text)
            if text.isspace():  # an answer of nothing but blanks is none
                return
            text = "".join(self._blanks)
            yield from self._enter(Message)
        self._said_length += len(text)
        yield from self._fill(text)

    def _thinking(self, text: str) -> Iterator[Json]:
        for event in self._thought.feed(text):
            self._thought_length += len(event.text)
            if not self._context.shown:
                continue
            if not isinstance(self._open, Reasoning):
                yield from self._enter(partial(Reasoning, encrypted=self._context.encrypted))
            yield from self._fill(event.text)

    def _tool_pieces(self, pieces: Iterable[ToolPiece]) -> Iterator[Json]:
        for piece in pieces:
            if piece.begins:
                yield from self._leave()
                tool = self._context.toolbox.find(piece.name)
                kind = FunctionCall if tool.kind == "function" else OtherCall
                yield from self._enter(partial(kind, call_id=piece.id, tool=tool))
            elif piece.cut:
                self._cut = True
                self._open = None  # never finished: a client would run it
            else:
                self._said_length += len("".join(piece.json.split()))
                yield from self._fill(piece.json)

    def _undelayed(self) -> Iterator[Json]:
        if not self._calls.open:
            delayed, self._delayed = self._delayed, []
            for event in delayed:
                yield from self._content(event)

    def _fill(self, text: str) -> list[Json]:
        return self._open.feed(text) if self._open else []

    def _enter(self, make: Callable[[str, int], GrowingItem]) -> Iterator[Json]:
        """Begin another item; its name is like no other item's of any response."""
        yield from self._leave()
        self._open = item = make(f"{self._context.id}_{self._index}", self._index)
        self._blanks = []
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
        yield done(item, self._index)
        self._items.append(item)
        self._index += 1

    # The end.

    def _end(self, finish: Finish) -> Iterator[Json]:
        ending = outcome(finish)
        whole = ending["status"] == COMPLETED
        yield from self._numbered(self._rest(whole, COMPLETED if whole else INCOMPLETE))
        if whole and self._cut:
            self.failure = CUT_CALL
            yield from self._last({"status": "failed", "error": failure(CUT_CALL)})
        else:
            yield from self._last(ending)

    def _fail(self, message: str, kind: str = "", status: int = 0) -> Iterator[Json]:
        yield from self.start()
        yield from self._numbered(self._rest(False, INCOMPLETE))
        self.failure = message
        yield from self._last({"status": "failed", "error": failure(message, kind, status)})

    def _rest(self, whole: bool, status: str) -> Iterator[Json]:
        """Return the rest of the items; only the last one may be incomplete."""
        yield from self._tool_pieces(self._calls.end(whole))
        yield from self._undelayed()
        call = isinstance(self._open, FunctionCall | OtherCall)
        yield from self._leave(COMPLETED if call else status)

    def _last(self, ending: Mapping[str, object]) -> Iterator[Json]:
        self._over = True
        usage = counts(self._usage, self._thought_length, self._said_length)
        response: Json = {
            **(self._response or {}),
            **self._context.echo,
            **ending,
            "output": self._items,
            "usage": usage,
        }
        self._context.keep(response)
        yield self._numbered_one({"type": f"response.{ending['status']}", "response": response})

    def _numbered(self, events: Iterable[Json]) -> Iterator[Json]:
        yield from map(self._numbered_one, events)

    def _numbered_one(self, event: Json) -> Json:
        number, self._sequence = self._sequence, self._sequence + 1
        return {"type": event["type"], "sequence_number": number, **event}
