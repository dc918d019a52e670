"""Events to replies of Ollama's API: lines of a stream, or one object, folded from the same."""

import datetime
import time
from collections.abc import Iterator, Sequence
from typing import Any

from converter.dialects.block_writer import Blanks, left_out
from converter.dialects.dialect import Encoder, ReplyContext
from converter.dialects.ollama.decoder import GENERATED, NAME
from converter.dialects.ollama.errors import error_body
from converter.dialects.tool_pieces import ToolCalls, ToolPiece
from converter.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    own_fields,
)
from converter.parsing.thought import Thought
from converter.wire import json_text
from converter.wire.ndjson import NDJSON

type Line = dict[str, Any]

CHAT, GENERATE = "chat", "generate"
"""What the reader of a request leaves for its reply; an Ollama's reply tells it by itself."""
_JOINT = "\n\n"
_DURATIONS = {"prompt_eval_duration": "prompt_ms", "eval_duration": "predicted_ms"}
"""Durations by llama.cpp's names of them, in milliseconds; ours are in nanoseconds."""


class _Lines:
    """Events in, lines out, as values. The last one waits for the counts, which come behind the
    finish.
    """

    def __init__(self, context: ReplyContext) -> None:
        self._context = context
        self._model = context.model
        # what another dialect's reader has left, in a replay, names none
        self._form = context.own if context.own in (CHAT, GENERATE) else None
        self._at = _moment(context.created_at)
        self._over = False
        self._calls = ToolCalls()
        self._thinking, self._blanks = Thought(), Blanks()
        self._answering = self._thought_over = False
        self._call: tuple[ToolPiece, list[str]] | None = None
        self._count = self._cut = 0
        self._finish = "stop"
        self._measured: Line = {}
        self._left_out: set[str] = set()
        self.failure = ""

    @property
    def notes(self) -> list[str]:
        """The notes on omissions, a line each."""
        names = ", ".join(sorted(self._left_out))
        notes = [f"fields that a reply of Ollama's has no place for: {names}"] if names else []
        cut = [f"{self._cut} call(s) left out: their arguments were cut"] if self._cut else []
        return [*notes, *cut]

    def feed(self, event: Event) -> Iterator[Line]:
        """Return the lines that can be written. Nobody can ask for choices but the first."""
        if self._over or getattr(event, "choice", 0) != 0:
            return
        match event:
            case Text():
                yield from self._text(event.text)
            case Thinking() if self._context.shown:
                yield from self._thought(event.text)
            case ThinkingEnd():
                self._leave()
            case ToolCall():
                self._leave()
                yield from self._pieces(self._calls.feed(event))
                if not self._calls.open:
                    yield from self._called()
            case _:
                yield from self._course(event)

    def _course(self, event: Event) -> Iterator[Line]:
        match event:
            case Failure():
                self._over, self.failure = True, event.message
                yield {"error": event.message}
            case End():
                yield from self.close()
            case _:
                self._note(event)

    def _text(self, text: str) -> Iterator[Line]:
        """Write words. An answer of nothing but blanks is none."""
        said = text if self._answering else self._blanks.with_words(text)
        if said:
            self._leave()
            self._answering = True
            yield self._line(content=said)

    def _thought(self, text: str) -> Iterator[Line]:
        """Write a thought; all thoughts share a field, so a blank line parts them."""
        for event in self._thinking.feed(text):
            joint = _JOINT if self._thought_over else ""
            self._answering = self._thought_over = False
            self._blanks.clear()
            yield self._line(thinking=joint + event.text)

    def _leave(self) -> None:
        """End the thought, if one is open."""
        self._thought_over = bool(self._thinking.end()) or self._thought_over

    def _note(self, event: Event) -> None:
        match event:
            case Start():
                self._model = self._model or event.model
                generates = GENERATED in (own_fields(event.own, NAME) or {})
                self._form = self._form or (GENERATE if generates else CHAT)
                self._measured |= _durations(event.own.fields.get("timings") if event.own else None)
            case Finish():
                self._finish = "length" if event.reason == "length" else "stop"
            case Usage():
                counts = {"prompt_eval_count": event.input, "eval_count": event.output}
                self._measured |= {name: count for name, count in counts.items() if count}
                self._measured |= own_fields(event.own, NAME) or {}
            case Opaque():
                self._left_out |= left_out(event)

    def silence(self) -> list[Line]:
        """Return a line that says nothing, while there is something to come."""
        return [] if self._over else [self._line()]

    @property
    def waits(self) -> bool:
        """Tell whether words that came are not told yet."""
        return self._call is not None or self._blanks.wait

    def passed(self) -> None:
        """Take note that the last events went out as the server wrote them."""
        self._blanks.clear()

    def close(self) -> Iterator[Line]:
        """Return the rest. A reply that lacks its end has had its failure."""
        if self._over:
            return
        yield from self._pieces(self._calls.end())
        yield from self._called()
        self._over = True
        yield self._line() | {"done": True, "done_reason": self._finish} | self._measured

    def _pieces(self, pieces: list[ToolPiece]) -> Iterator[Line]:
        for piece in pieces:
            if piece.begins:
                yield from self._called()
                self._call = (piece, [])
            elif piece.cut:  # a client would run it
                self._call = None
                self._cut += 1
            elif self._call:
                self._call[1].append(piece.json)

    def _called(self) -> Iterator[Line]:
        """Return the call that is whole now."""
        if self._call is None:
            return
        (head, pieces), self._call = self._call, None
        arguments = json_text.read_or_none("".join(pieces).encode() or b"{}")
        if not isinstance(arguments, dict):  # nested without end: to call with less is another call
            self._cut += 1
            return
        function = {"index": self._count, "name": head.name, "arguments": arguments}
        self._count += 1
        named = {"id": head.id} if head.id else {}
        yield self._line(tool_calls=[{**named, "function": function}])

    def _line(self, content: str = "", **said: object) -> Line:
        """Return a line of words. Before the first one of an Ollama's reply it fits both forms."""
        head = {"model": self._model, "created_at": self._at}
        generated: Line = {GENERATED: content, **said}
        chatted: Line = {"message": {"role": "assistant", "content": content, **said}}
        forms = {GENERATE: generated, CHAT: chatted}
        return {**head, **forms.get(str(self._form), generated | chatted), "done": False}


def now() -> str:
    """Return this moment as Ollama writes it."""
    return _moment(int(time.time()))


def _moment(seconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000000Z")


def _durations(timings: object) -> Line:
    told = timings if isinstance(timings, dict) else {}
    found = {
        name: int(told[theirs] * 1_000_000)
        for name, theirs in _DURATIONS.items()
        if isinstance(told.get(theirs), int | float) and 0 < told[theirs] < 1e12
    }
    return {"total_duration": sum(found.values()), **found} if found else {}


class _OllamaEncoder(Encoder):
    def __init__(self, context: ReplyContext) -> None:
        self._lines = _Lines(context)

    @property
    def notes(self) -> list[str]:
        """The notes on omissions, a line each."""
        return self._lines.notes

    @property
    def failure(self) -> str:
        """The reason of an error in the message's place, or empty."""
        return self._lines.failure

    def ping(self) -> list[bytes]:
        """Return nothing, because a body has no place for it."""
        return []


class OllamaStreamEncoder(_OllamaEncoder):
    """Events in, lines out."""

    def ping(self) -> list[bytes]:
        """Return a line without words, as Ollama itself sends one now and then."""
        return [_written(line) for line in self._lines.silence()]

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the lines; the server's own where it says just that, and nothing waits. A blank
        one goes nowhere, because clients read each as JSON.
        """
        waits = self._lines.waits
        lines = [_written(line) for event in events for line in self._lines.feed(event)]
        if raw is None or waits or not raw.strip():
            return lines
        self._lines.passed()
        return [raw]

    def close(self) -> list[bytes]:
        """End the stream."""
        return list(map(_written, self._lines.close()))


def _written(line: Line) -> bytes:
    return NDJSON.write(json_text.write(line), "")


class OllamaWholeEncoder(_OllamaEncoder):
    """Events in, one object out, at `close`: the lines of a stream, folded."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._words: dict[str, list[str]] = {}
        self._called: list[object] = []
        self._last: Line = {}
        self._raw: list[bytes] = []

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return nothing yet."""
        self._raw.append(raw or b"")
        for event in events:
            for line in self._lines.feed(event):
                self._fold(line)
        return []

    def close(self) -> list[bytes]:
        """Return the reply, or the error in its place; as it came where that says just it."""
        for line in self._lines.close():
            self._fold(line)
            self._raw.append(b"")
        if self.failure:
            return [error_body(self.failure)]
        if all(self._raw):
            return self._raw
        said = self._last.get("message", self._last)
        said |= {name: "".join(pieces) for name, pieces in self._words.items()}
        if self._called:
            said["tool_calls"] = self._called
        return [json_text.write(self._last)]

    def _fold(self, line: Line) -> None:
        self._last = line
        said = line.get("message", line)
        for name in ("content", GENERATED, "thinking"):
            if words := said.get(name):
                self._words.setdefault(name, []).append(words)
        self._called += said.get("tool_calls", ())
