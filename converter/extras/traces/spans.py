"""Spans of replies, as OTLP's JSON has them, by OpenTelemetry's conventions for generative AI."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from secrets import token_hex

from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.redact.scrubber import (
    Scrubber,
    secrets_of_headers,
    secrets_of_link,
)
from converter.addon.servers.profiles import GENERIC
from converter.addon.transcript.accumulator import Accumulator
from converter.addon.transcript.turns import Part
from converter.core.dialects.table import Form
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import Event, length_of
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import encodable

TRACED_WORDS = Bound(
    128 << 10,
    "characters",
    "words of a reply in a span",
    "collectors take some megabytes at once",
    "the rest is not told",
)

type Fields = Mapping[str, object]

_CLIENT, _ERROR = 3, 2
"""OTLP's numbers of a span's kind and of a status."""
_PARENT = re.compile(
    r"00-(?!0{32})(?P<traceId>[0-9a-f]{32})-(?!0{16})(?P<parentSpanId>[0-9a-f]{16})-[0-9a-f]{2}"
)
_TOLD = {
    "gen_ai.response.model": "model",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.reasoning.output_tokens": "thinking_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
}
"""Attributes, and the names of a summary."""
_MOMENTS = ("first_byte", "first_thought", "first_text")


class TracedWords:
    """The words of a reply's choices, as far as they are sent."""

    def __init__(self) -> None:
        self._choices: dict[int, Accumulator] = {}
        self._room: int = TRACED_WORDS

    def feed(self, events: Iterable[Event]) -> None:
        """Take what the client was told."""
        for event in events:
            length = length_of(event)
            self._room -= length
            if self._room >= 0 or not length:
                choice = getattr(event, "choice", 0)
                self._choices.setdefault(choice, Accumulator(choice)).feed(event)

    def messages(self) -> list[Fields]:
        """Return a message for each choice."""
        return [
            {
                "role": "assistant",
                "parts": [part for read in said.parts() for part in _part(read)],
                "finish_reason": said.finish or "error",
            }
            for _, said in sorted(self._choices.items())
        ]


def _part(part: Part) -> Iterator[Fields]:
    """Yield what the conventions have a name for."""
    match part:
        case TextBlock():
            yield {"type": "text", "content": part.text}
        case ThinkingBlock():
            yield {"type": "reasoning", "content": part.text}
        case ToolUse():
            arguments = json_text.read_or_none(part.arguments.encode(errors="replace"))
            value = part.arguments if arguments is None else arguments
            yield {"type": "tool_call", "id": part.id, "name": part.name, "arguments": value}


def span_of(record: FlowRecord, outcome: str, words: TracedWords | None = None) -> Fields:
    """Return the span of an exchange that is over. `words`: those that it tells."""
    told = record.told
    began, parent = record.flow.request.timestamp_start, record.sides.headers.get("traceparent", "")
    streams = record.request is not None and record.request.form is Form.STREAM
    moments = {name: at for name in _MOMENTS if streams and isinstance(at := told.get(name), float)}
    attributes = {
        **{name: told.get(key) for name, key in _TOLD.items()},
        **_names(record),
        "gen_ai.request.stream": streams,
        "gen_ai.response.time_to_first_chunk": moments.get("first_byte"),
        "gen_ai.response.finish_reasons": [told["finish"]] if "finish" in told else None,
        "error.type": _error(record.flow, outcome),
        "gen_ai.output.messages": _words(record, words),
    }
    return {
        "traceId": token_hex(16),
        "spanId": token_hex(8),
        **(joined.groupdict() if (joined := _PARENT.fullmatch(parent)) else {}),
        "name": encodable(f"chat {record.model}".strip()),
        "kind": _CLIENT,
        "startTimeUnixNano": _nanoseconds(began),
        "endTimeUnixNano": _nanoseconds(time.time()),
        "attributes": attributes_of(attributes),
        "events": [_event(name, began + at) for name, at in moments.items()],
        **({} if outcome == "ok" else {"status": {"code": _ERROR}}),
    }


def _event(name: str, at: float) -> Fields:
    return {"timeUnixNano": _nanoseconds(at), "name": name}


def _names(record: FlowRecord) -> Fields:
    """Return the names of the request: its server's, its model's and its conversation's."""
    server, dialect = record.server, record.exchange.server_dialect.label.title
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": record.model,
        "gen_ai.provider.name": dialect.split()[0].lower() if server is GENERIC else server.name,
        "gen_ai.conversation.id": record.request.context if record.request else "",
        "server.address": record.flow.request.host,
        "server.port": record.flow.request.port,
    }


def _error(flow: HTTPFlow, outcome: str) -> str | None:
    """Return the class of an error; never its words, which may hold a key."""
    if outcome == "refused" and flow.response:
        return str(flow.response.status_code)
    return None if outcome == "ok" else outcome.replace(" ", "_")


def _words(record: FlowRecord, words: TracedWords | None) -> str:
    """Return the messages as JSON, because backends show no nested attributes; the keys of the
    request are crossed out.
    """
    if words is None:
        return ""
    keys = (*secrets_of_headers(record.sides.headers), *secrets_of_link(record.flow.request.url))
    return Scrubber(keys, (), ()).hidden(json_text.write(words.messages()).decode())


def _nanoseconds(at: float) -> str:
    return str(int(at * 1e9))


def attributes_of(values: Fields) -> list[Fields]:
    """Return attributes as OTLP has them, without empty ones."""
    filled = {name: value for name, value in values.items() if value not in (None, "")}
    return [{"key": name, "value": _value(value)} for name, value in filled.items()]


def _value(value: object) -> Fields:
    """Return a value with its type; 64 bits are a string."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": encodable(value)}
