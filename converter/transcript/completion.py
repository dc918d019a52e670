"""A Messages reply's events as those of a chat completion: heads, counts and ends in the other
dialect's words.

No server's reply takes this way through the proxy; it is for a saved reply, and for who wants to
compare two.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from converter.dialects.anthropic.decoder import AnthropicDecoder
from converter.dialects.openai_chat.encoder import OpenAIStreamEncoder, OpenAIWholeEncoder
from converter.dialects.table import Form
from converter.events import (
    Block,
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    OpaqueFrame,
    Start,
    ToolCall,
    Usage,
)
from converter.parsing.think_stage import Expected, Reading, ThinkStage
from converter.settings import Settings
from converter.wire import json_text
from converter.wire.sse import Frame, FrameDecoder, write_frame

_OBJECTS = {Form.STREAM: "chat.completion.chunk", Form.WHOLE: "chat.completion"}
_FIRST: Mapping[str, object] = {"role": "assistant", "content": ""}


class ToCompletion:
    """The bytes of a Messages reply in, those of a chat completion of the same form out, less
    blocks that it cannot hold.
    """

    def __init__(self, settings: Settings, form: Form, expected: Expected) -> None:
        self._form = form
        self._frames = FrameDecoder()
        self._body = bytearray()
        self._decoder = AnthropicDecoder()
        self._stage = ThinkStage(Reading(settings, form is Form.WHOLE, expected))
        made = OpenAIStreamEncoder if form is Form.STREAM else OpenAIWholeEncoder
        self._encoder = made(settings.fields)
        self._calls: dict[int, list[ToolCall]] = {}
        self._left_out = 0

    @property
    def notes(self) -> list[str]:
        """What a person should know, a line each."""
        return (
            [f"{self._left_out} blocks or frames have no place in a chat completion, left out"]
            if self._left_out
            else []
        )

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return what can be written by now."""
        if self._form is Form.STREAM:
            return self._written(self._frames.feed(chunk))
        self._body += chunk
        return []

    def close(self) -> list[bytes]:
        """Return the rest."""
        body = bytes(self._body)
        out = self._written(
            self._frames.close() if self._form is Form.STREAM else [Frame(body, body)]
        )
        rest = [made for event in self._stage.close() for made in self._event(event)]
        return [*out, *self._encoder.feed([*rest, *self._whole_calls()]), *self._encoder.close()]

    def _written(self, frames: Iterable[Frame]) -> list[bytes]:
        events = (
            made
            for frame in frames
            for event in self._decoder.feed(frame)
            for made in self._stage.feed(event)
        )
        return [piece for event in events for piece in self._encoder.feed(self._event(event))]

    def _event(self, event: Event) -> list[Event]:
        match event:
            case Start():
                head = {
                    "id": event.id,
                    "object": _OBJECTS[self._form],
                    "created": 0,
                    "model": event.model,
                }
                return [Start(event.id, event.model, head), Opaque(_FIRST, {})]
            case ToolCall():
                return self._call(event)
            case Finish():
                outer = {"stop_reason": event.stop_sequence} if event.stop_sequence else {}
                return [*self._whole_calls(), *([Opaque({}, outer)] if outer else []), event]
            case Usage():
                return [replace(event, entry=_counts(event))]
            case _:
                return self._framed(event)

    def _framed(self, event: Event) -> list[Event]:
        streamed = self._form is Form.STREAM
        match event:
            case End():
                return [End(write_frame(b"[DONE]") if streamed else b"")]
            case Failure():
                error = json_text.write({"error": {"message": event.message, "type": event.kind}})
                return [replace(event, raw=write_frame(error) if streamed else error)]
            case OpaqueFrame():
                self._left_out += not event.comment and bool(event.raw.strip())
                return [event] if streamed and event.raw.startswith(b":") else []
            case Block():
                self._left_out += event.event.get("type") == "content_block_start"
                return []
            case _:
                return [event]

    def _call(self, event: ToolCall) -> list[Event]:
        """Number the calls from 0; a whole reply has each in one piece."""
        pieces = self._calls.setdefault(event.index, [])
        pieces.append(event)
        return (
            [replace(event, index=list(self._calls).index(event.index))]
            if self._form is Form.STREAM
            else []
        )

    def _whole_calls(self) -> list[Event]:
        if self._form is Form.STREAM:
            return []
        calls, self._calls = self._calls, {}
        return [_whole_call(number, pieces) for number, pieces in enumerate(calls.values())]


def _whole_call(number: int, pieces: list[ToolCall]) -> ToolCall:
    function = {"name": pieces[0].name, "arguments": "".join(piece.arguments for piece in pieces)}
    entry = {"id": pieces[0].id, "type": "function", "function": function}
    return ToolCall(number, pieces[0].id, function["name"], function["arguments"], entry=entry)


def _counts(usage: Usage) -> dict[str, object]:
    counts: dict[str, object] = {"prompt_tokens": usage.input, "completion_tokens": usage.output}
    counts["total_tokens"] = usage.input + usage.output
    if usage.cached is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cached}
    if usage.thinking is not None:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.thinking}
    return counts
