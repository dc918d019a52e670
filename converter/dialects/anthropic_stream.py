"""What a reply of the Messages API says, in order: `message_start`, then blocks, `message_delta`, `message_stop`.

Strictly sequential: one block is open at a time, and which one is a single fact (`_open`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from converter.dialects.anthropic_errors import error_body
from converter.dialects.anthropic_tools import ToolCalls, ToolPiece
from converter.events import End, Event, Failure, Finish, Opaque, OpaqueFrame, Start, Text, Thinking, ThinkingEnd, ToolCall, Usage
from converter.think import Thought

type Message = dict[str, object]
type _Content = Text | Thinking | ThinkingEnd | ToolCall

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_SILENT = {"role", "logprobs", "stop_reason", "matched_stop", "token_ids", "annotations"}
"""Fields of chat completions that a message says otherwise, or that nobody reads."""
_CALLS = ("tool_calls", "function_call")
CUT_SHORT = "the server's reply was cut short: it ended without a finish"
EMPTY = "the server's reply was empty"
UNREAD = "the server's reply is no chat completion: "


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply takes from its request: the model and an id, for a server that names none; whether thinking is to be shown."""

    model: str = ""
    id: str = "0"
    shown: bool = True


class MessageEvents:
    """Events in, the stream's own events out, as values."""

    def __init__(self, signature: str, asked: Asked) -> None:
        self._signature = signature
        self._asked = asked
        self._started = False
        self._over = False
        self._open: str | None = None
        self._index = 0
        self._blanks = ""
        self._thought = Thought()
        self._calls = ToolCalls()
        self._called = False
        self._delayed: list[_Content] = []
        self._left_out: set[str] = set()
        self._said = 0
        self._thought_out = 0
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)
        self._unread = b""
        self.failure = ""

    @property
    def notes(self) -> list[str]:
        """What was mended, a line each."""
        left = [f"fields that a message has no place for: {', '.join(sorted(self._left_out))}"] if self._left_out else []
        return [*left, *self._calls.notes]

    def feed(self, event: Event) -> Iterator[Message]:
        """Return what can be said. Choices but the first have no place in a message: nobody can ask for them."""
        if self._over or getattr(event, "choice", 0) != 0:
            return
        if isinstance(event, Text | Thinking | ThinkingEnd | ToolCall):
            yield from self._content(event)
        else:
            yield from self._course(event)

    def _content(self, event: _Content) -> Iterator[Message]:
        match event:
            case Text() | Thinking() | ThinkingEnd() if self._calls.open:
                self._delayed.append(event)  # its block would tear the call apart
            case Text():
                yield from self._text(event.text)
            case Thinking():
                yield from self._thinking(event.text)
            case ThinkingEnd():
                yield from self._leave(event.signature) if self._open == "thinking" else ()
            case ToolCall():
                yield from self._tool_pieces(self._calls.feed(event))
                yield from self._undelayed()

    def _course(self, event: Event) -> Iterator[Message]:
        match event:
            case Start() if not self._started:
                self._started = True
                yield self._start(event)
            case Finish():
                self._finish = event
            case Usage():
                self._usage = event
            case End() if self._started:
                yield from self._end(self._finish or Finish("stop"))
            case Failure():
                yield from self._fail(event.message, event.kind, event.status)
            case OpaqueFrame(comment=False) if not self._unread:
                self._unread = event.raw[:200]
            case Opaque():
                self._left_out |= _unsaid(event)

    def close(self) -> Iterator[Message]:
        """End the message, or say why it has no end."""
        if self._over:
            return
        if self._finish and self._started:
            yield from self._end(self._finish)
        elif self._started:
            yield from self._fail(CUT_SHORT)
        else:
            yield from self._fail(UNREAD + self._unread.decode(errors="replace").strip() if self._unread.strip() else EMPTY)

    def _start(self, event: Start) -> Message:
        message: Message = {
            "id": "msg_" + (event.id.removeprefix("chatcmpl-").removeprefix("msg_") or self._asked.id),
            "type": "message",
            "role": "assistant",
            "model": event.model or self._asked.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return {"type": "message_start", "message": message}

    def _text(self, text: str) -> Iterator[Message]:
        if self._open != "text":
            self._blanks += text
            if self._blanks.isspace():  # the API refuses a text block of blanks when it comes back
                return
            text, self._blanks = self._blanks, ""
            yield from self._enter("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})

    def _thinking(self, text: str) -> Iterator[Message]:
        for event in self._thought.feed(text):
            if not self._asked.shown:
                self._thought_out += len(event.text)
                continue
            yield from self._enter("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": event.text})

    def _undelayed(self) -> Iterator[Message]:
        if not self._calls.open:
            delayed, self._delayed = self._delayed, []
            for event in delayed:
                yield from self._content(event)

    def _tool_pieces(self, pieces: Iterable[ToolPiece]) -> Iterator[Message]:
        for piece in pieces:
            if piece.begins:
                self._called = True
                yield from self._leave()
                yield from self._enter("tool_use", {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}})
            else:
                yield self._delta({"type": "input_json_delta", "partial_json": piece.json})

    def _enter(self, kind: str, block: Message) -> Iterator[Message]:
        if self._open == kind:
            return
        yield from self._leave()
        self._open, self._blanks = kind, ""
        if kind != "thinking":
            self._thought.end()
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _leave(self, signature: str = "") -> Iterator[Message]:
        """Close the open block. What ends a thought's text ends its held blanks."""
        if self._open is None:
            return
        if self._open == "thinking":
            self._thought.end()
            yield self._delta({"type": "signature_delta", "signature": signature or self._signature})
        yield {"type": "content_block_stop", "index": self._index}
        self._open = None
        self._index += 1

    def _end(self, finish: Finish) -> Iterator[Message]:
        yield from self._tool_pieces(self._calls.end())
        yield from self._undelayed()
        yield from self._leave()
        self._over = True
        reason, stop_sequence = _stop(finish, self._called)
        delta = {"stop_reason": reason, "stop_sequence": stop_sequence}
        yield {"type": "message_delta", "delta": delta, "usage": self._counts(self._usage)}
        yield {"type": "message_stop"}

    def _counts(self, usage: Usage) -> Message:
        """Return the counts. The API counts cached and created tokens apart from the input, chat completions within it."""
        apart = {"cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.created}
        said = {name: count for name, count in apart.items() if count is not None}
        counts: Message = {"input_tokens": max(0, usage.input - sum(said.values())), **said, "output_tokens": usage.output}
        if self._thought_out:
            counts["output_tokens_details"] = {"thinking_tokens": self._thinking_tokens(usage)}
        return counts

    def _thinking_tokens(self, usage: Usage) -> int:
        """The server's count, else the share of the characters: no server here counts them without a reasoning parser."""
        if usage.thinking:
            return min(usage.thinking, usage.output)
        return round(usage.output * self._thought_out / (self._thought_out + self._said))

    def _fail(self, message: str, kind: str = "", status: int = 0) -> Iterator[Message]:
        yield from self._tool_pieces(self._calls.end())
        yield from self._undelayed()
        self._over = True
        self.failure = message
        yield error_body(message, kind, status)

    def _delta(self, delta: Message) -> Message:
        self._said += len(str(delta.get("text") or delta.get("partial_json") or ""))
        self._thought_out += len(str(delta.get("thinking") or ""))
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


def _unsaid(event: Opaque) -> set[str]:
    """Return the names of fields that say something and have no place in a message."""
    fields = {name: value for name, value in {**event.outer, **event.inner}.items() if name not in _SILENT and value}
    if isinstance(parts := fields.get("content"), list) and all(part.get("type") in ("text", "thinking") for part in parts):
        del fields["content"]
    return set(fields)


def _stop(finish: Finish, called: bool) -> tuple[str, str | None]:
    """Return stop_reason and stop_sequence. Length wins, then a call, then a matched stop string, as on vLLM's own endpoint."""
    if finish.reason == "length":
        return "max_tokens", None
    if called or finish.reason in _CALLS:
        return ("tool_use" if called else "end_turn"), None  # a client that is told of a call waits for one
    if finish.stop_sequence is not None:
        return "stop_sequence", finish.stop_sequence
    return STOP_REASONS.get(finish.reason, "end_turn"), None
