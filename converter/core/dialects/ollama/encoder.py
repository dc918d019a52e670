"""`OllamaEncoder`, on the base `BlockWriter`: it writes a reply as the lines of a stream, or as one
object that is joined from them.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from converter.core.dialects.block_writer import CALL, TEXT, THINKING, BlockWriter, NewBlock
from converter.core.dialects.ollama.decoder import GENERATED, NAME
from converter.core.dialects.wire_form import ReplyContext
from converter.core.dialects.words_apart import JOINT, TextApart
from converter.core.model.events import (
    Event,
    Failure,
    Own,
    Start,
    TextKind,
    own_fields,
)
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import NDJSON

CHAT, GENERATE = "chat", "generate"
"""Names of the endpoints `/api/chat` and `/api/generate`, whose lines have different fields. The
request reader puts the name of the endpoint into `Conversation.own`. A request to an Ollama server
is not read; then the server's first line shows the endpoint.
"""
_DURATIONS = {"prompt_eval_duration": "prompt_ms", "eval_duration": "predicted_ms"}
"""Ollama's name for a duration, in nanoseconds -> llama.cpp's name, in milliseconds."""


class OllamaEncoder(BlockWriter):
    """Takes events and returns lines; for a whole reply, `close` returns one object. The last line
    is written at the end of the reply and not at its finish, because it has the counts, which come
    after the finish.
    """

    reply = "reply of Ollama's"
    """Name for a reply in log lines: *a reply of Ollama's*."""

    def __init__(self, context: ReplyContext, whole: bool = False) -> None:
        super().__init__(context.shown, whole)
        self._model = context.model
        # `context.own` comes from the reader of the request. If a recording is replayed for another
        # dialect's client, that reader may be of another dialect.
        self._endpoint = context.own if context.own in (CHAT, GENERATE) else None
        self._at = timestamp(context.created_at)
        self._thought_over = False
        self._apart = TextApart()
        self._arguments: list[str] = []
        self._sent_call_count = self._cut_call_count = 0
        self._measured: dict[str, Any] = {}
        self._raw: list[bytes] = []
        self._texts: dict[str, list[str]] = {}
        self._calls: list[object] = []

    @property
    def notes(self) -> list[str]:
        """Lines for the user, in the log and in the flow's comment: fields and calls that were left
        out.
        """
        note = f"{self._cut_call_count} call(s) left out: their arguments were cut"
        return [*super().notes, *([note] if self._cut_call_count else [])]

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the lines for these events; none if the client wants a whole reply.

        `raw`: the server's line, if the server is an Ollama and nothing in the line has changed;
        else None. It goes on as it is, unless something is held that has to be sent first, or the
        next text needs a blank line before it (`TextApart`). An empty line is dropped, because
        clients parse each line as JSON.
        """
        waits = self._open == CALL or bool(self._blanks) or self._apart.separates_next_text
        lines = super().feed(events)
        if self._whole:
            self._raw.append(raw or b"")
        elif raw and raw.strip() and not waits:
            self._blanks = ""
            return [raw]
        return lines

    def wire_events(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the lines that can be sent now, each as a JSON object."""
        return super().wire_events(self._apart.feed(event))

    def record_unparsed_text(self, kind: TextKind, text: str, frame_count: int) -> int:
        """Count text that did not come through `feed`, because the fast path rewrote its lines
        without parsing them. Return 0, because lines have no numbers.
        """
        self._apart.record_unparsed_text(kind, text)
        return super().record_unparsed_text(kind, text, frame_count)

    def frame_of(self, event: dict[str, Any]) -> bytes:
        """Return a JSON object as one line of bytes."""
        return NDJSON.write(json_text.write(event), "")

    def comment_frames(self, raw: bytes) -> list[bytes]:  # noqa: ARG002
        """Return nothing, because lines of JSON have no comments."""
        return []

    def ping(self) -> list[bytes]:
        """Return a line without text, such as Ollama itself sends; no line for a whole reply, or
        after the last line.
        """
        return [] if self._whole or self._over else [self.frame_of(self._line())]

    def close(self) -> list[bytes]:
        """Return the last lines, or the whole reply. A whole reply in which nothing was changed is
        returned as the server's own bytes.
        """
        came = self._whole and self._over and not self.failure and all(self._raw)
        return self._raw if came else super().close()

    def _add_to_whole_reply(self, event: dict[str, Any]) -> None:
        """Add a line to the whole reply. The whole reply is the last line, with the text and the
        calls of all lines.
        """
        self._result = event
        fields = event.get("message", event)
        for name in ("content", GENERATED, "thinking"):
            if text := fields.get(name):
                self._texts.setdefault(name, []).append(text)
        self._calls += fields.get("tool_calls", ())
        if event.get("done"):
            fields |= {name: "".join(pieces) for name, pieces in self._texts.items()}
            fields |= {"tool_calls": self._calls} if self._calls else {}

    def _start(self, event: Start) -> Iterator[dict[str, Any]]:
        """Record the model, which each line names, and the endpoint, which decides the fields of
        the lines. Return no line, because Ollama's replies have no line for the head alone.
        """
        self._started = True
        self._model = self._model or event.model
        generates = GENERATED in (own_fields(event.own, NAME) or {})
        self._endpoint = self._endpoint or (GENERATE if generates else CHAT)
        return iter(())

    def _write_bookkeeping(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the lines for an event without content, such as a finish or the counts. If the
        event is a `Start` with llama.cpp's field `timings`, keep the durations in it for the last
        line.
        """
        if isinstance(event, Start) and event.own:
            timings = as_object(event.own.fields.get("timings"))
            durations = {
                name: int(milliseconds * 1_000_000)
                for name, theirs in _DURATIONS.items()
                if isinstance(milliseconds := timings.get(theirs), int | float)
                and 0 < milliseconds < 1e12
            }
            if durations:
                self._measured |= {"total_duration": sum(durations.values()), **durations}
        return super()._write_bookkeeping(event)

    def _stop(self, own: Own | None = None) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the lines of held content, then the last line, which has the finish reason, the
        counts and the durations.
        """
        yield from self.end_content()
        self._over = True
        reason = "length" if self._ending.reason == "length" else "stop"
        last = self._line() | {"done": True, "done_reason": reason} | self._measured
        if usage := self._usage:
            counts = {"prompt_eval_count": usage.input, "eval_count": usage.output}
            last |= {name: count for name, count in counts.items() if count}
            last |= own_fields(usage.own, NAME) or {}
        yield last

    def _fail(self, event: Failure) -> Iterator[dict[str, Any]]:
        """Yield the lines of held content, then a line with the error."""
        yield from self.end_content()
        self._over = True
        yield {"error": event.message}

    def _begin_block(self, _: str, block: NewBlock) -> list[dict[str, Any]]:  # noqa: ARG002
        """Begin a block. Return no line, because lines have no mark for the beginning
        of a block.
        """
        self._arguments = []
        return []

    def _add_to_block(self, text: str, _: int = 1) -> list[dict[str, Any]]:
        """Return the line that sends `text` as a part of the open block; no line for the arguments
        of a call, which are kept until it ends. A second thought begins with a blank line, because
        all thoughts are in one field.
        """
        if self._open == TEXT:
            return [self._line(content=text)]
        if self._open == THINKING:
            joint = JOINT if self._thought_over else ""
            self._thought_over = False
            return [self._line(thinking=joint + text)]
        self._arguments.append(text)
        return []

    def _end_block(self, kind: str, signature: str) -> list[dict[str, Any]]:  # noqa: ARG002
        """End the open block, whose kind is `kind`. Return the line of a call, because Ollama sends
        each call whole. Return no line for a call whose arguments cannot be read, and none at the
        end of any other block.
        """
        self._thought_over = self._thought_over or kind == THINKING
        if kind != CALL:
            return []
        arguments = json_text.read_or_none("".join(self._arguments).encode() or b"{}")
        # A call whose arguments cannot be read, such as JSON that nests too deep, is left out.
        # With other arguments in their place, the client would run what the model did not write.
        if not isinstance(arguments, dict):
            self._cut_call_count += 1
            return []
        function = {"index": self._sent_call_count, "name": self._call.name, "arguments": arguments}
        self._sent_call_count += 1
        named = {"id": self._call.id} if self._call.id else {}
        return [self._line(tool_calls=[{**named, "function": function}])]

    def _abandon_call(self) -> None:
        """Drop the open call, which was cut off."""
        # The cut call gets no line, because a client would run any call that it gets.
        self._open = None
        self._cut_call_count += 1

    def _line(self, content: str = "", **fields: object) -> dict[str, Any]:
        """Return a line with text, as JSON. Before the endpoint of the reply is known, the line has
        the fields of both endpoints. `fields`: further fields of the line's message, such as
        `thinking`.
        """
        head = {"model": self._model, "created_at": self._at}
        generated: dict[str, Any] = {GENERATED: content, **fields}
        chatted: dict[str, Any] = {"message": {"role": "assistant", "content": content, **fields}}
        forms = {GENERATE: generated, CHAT: chatted}
        return {**head, **forms.get(str(self._endpoint), generated | chatted), "done": False}


def timestamp(seconds: int) -> str:
    """Return a moment, in seconds since 1970, as Ollama writes it."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000000Z")
