"""The events of a response, in order: `response.created`, `response.in_progress`, then its items,
and `response.completed`, `incomplete` or `failed`.
"""

from collections.abc import Iterable, Iterator, Mapping

from converter.dialects.block_writer import left_out
from converter.dialects.responses.compaction import NONE, summaries
from converter.dialects.responses.context import ResponseContext, begun
from converter.dialects.responses.decoder import NAME
from converter.dialects.responses.errors import FINAL_CODE, failure
from converter.dialects.responses.item_events import ItemEvents
from converter.dialects.responses.output_items import COMPLETED, INCOMPLETE, Json
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

FILTERED = "the server's content filter stopped the reply"
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Finish reason -> why a response is incomplete; any other reason completes it."""


def outcome(finish: Finish, repeats: bool = False) -> dict[str, object]:
    """Return the status, and the reason when the response is not complete. `repeats`: of the
    request's client, as in `ResponseContext`.
    """
    reason = REASONS.get(finish.reason)
    if reason == "content_filter" and repeats:
        return {"status": "failed", "error": {"code": FINAL_CODE, "message": FILTERED}}
    if reason:
        return {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"status": "completed"}


def counts(usage: Usage | None, thought: int, text: int) -> Mapping[str, object] | None:
    """Return the tokens; None when the server did not count. `thought` and `text`: characters that
    went out as thinking, and as anything else.

    Codex 0.169 fails the turn when `total_tokens` is missing, and compacts by it.
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
        "output_tokens_details": {"reasoning_tokens": _thinking(usage, thought, text)},
        "total_tokens": usage.input + usage.output,
    }


def _thinking(usage: Usage, thought: int, text: int) -> int:
    """Return the server's count, else the share of the characters, because a server that does not
    take the thinking out itself does not count it.
    """
    if usage.thinking or not thought:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thought / (thought + text))


CUT_CALL = "the server's reply ended inside a tool call: the call is not to be run"
COUNTER = "sequence_number"
"""Numbers all events of a stream."""


class ResponseEvents:
    """Neutral events in, events of the stream out, as values."""

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._items = ItemEvents(context)
        self._response: Json | None = None
        self._over = False
        self._sequence = 0
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._own: Fields = {}
        self.failure = ""

    @property
    def notes(self) -> list[str]:
        """The notes on mends and omissions, a line each."""
        return self._items.notes

    @property
    def started(self) -> bool:
        """Tell whether `response.created` is out and the last event is not."""
        return self._response is not None and not self._over

    def feed(self, event: Event) -> Iterator[Json]:
        """Return the events that can go out. A response has one choice, because nobody can ask for
        more.
        """
        if self._over or getattr(event, "choice", 0) != 0:
            return
        if isinstance(event, (Text, Thinking, ThinkingEnd, ToolCall, Block)):
            yield from self.start()
            yield from self._numbered(self._items.write(event))
        else:
            yield from self._course(event)

    def _course(self, event: Event) -> Iterator[Json]:
        match event:
            case Start():
                yield from self.start(event.model, own_fields(event.own, NAME))
            case End() if self._response is not None:
                self._own = own_fields(event.own, NAME) or {}
                yield from self._end(self._finish or Finish("stop"))
            case Failure():
                yield from self._fail(event.message, event.kind, event.status)
            case _:
                self._note(event)

    def _note(self, event: Event) -> None:
        """Keep the facts that only the end can tell."""
        match event:
            case Finish():
                self._finish = event
            case Usage():
                self._usage = event
            case MappedField():
                self._items.leave_out({event.key})
            case Opaque():
                self._items.leave_out(left_out(event))

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:
        """Take words that go on in the open item, in so many events; return the first's number."""
        self._items.spliced(kind, text, frames)
        first, self._sequence = self._sequence, self._sequence + frames
        return first

    def close(self) -> Iterator[Json]:
        """End the response. One that lacks its end has had its failure."""
        if self.started:
            yield from self._end(self._finish or Finish("stop"))

    def start(self, model: str = "", own: Fields | None = None) -> Iterator[Json]:
        """Begin the response, once: a client that waits long wants a sign before the first word.
        `own`: the fields of a server of this dialect.
        """
        if self._response is not None:
            return
        self._response = {**begun(self._context, model), **(own or {})}
        for kind in ("created", "in_progress"):
            yield self._number({"type": f"response.{kind}", "response": self._response})

    def keepalive(self) -> Json:
        """Return an event that says nothing: Codex drops a stream after 300 s without one, and
        comments do not count.
        """
        return self._number({"type": "keepalive"})

    def _end(self, finish: Finish) -> Iterator[Json]:
        ending = outcome(finish, self._context.repeats)
        whole = ending["status"] == COMPLETED
        yield from self._numbered(self._items.finish(whole, COMPLETED if whole else INCOMPLETE))
        if whole and self._items.cut:
            self.failure = CUT_CALL
            ending = {"status": "failed", "error": failure(CUT_CALL)}
        elif ending["status"] == "failed":
            self.failure = FILTERED
        elif self._context.repeated is not None and not summaries(self._items.output):
            self.failure = NONE
            ending = {"status": "failed", "error": failure(NONE)}
        yield self._last(ending)

    def _fail(self, message: str, kind: str = "", status: int = 0) -> Iterator[Json]:
        yield from self.start()
        yield from self._numbered(self._items.finish(False, INCOMPLETE))
        self.failure = message
        yield self._last({"status": "failed", "error": failure(message, kind, status)})

    def _last(self, ending: Mapping[str, object]) -> Json:
        self._over = True
        response: Json = {
            **(self._response or {}),
            **self._context.echo,
            **self._own,
            **ending,
            "output": self._items.output,
            "usage": counts(self._usage, self._items.thought, self._items.said),
        }
        self._context.keep(response)
        return self._number({"type": f"response.{ending['status']}", "response": response})

    def _numbered(self, events: Iterable[Json]) -> Iterator[Json]:
        yield from map(self._number, events)

    def _number(self, event: Json) -> Json:
        number, self._sequence = self._sequence, self._sequence + 1
        return {"type": event["type"], COUNTER: number, **event}
