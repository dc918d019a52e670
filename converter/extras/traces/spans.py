"""`create_span` makes the span of a reply with its attributes, by OpenTelemetry's conventions for
generative AI. `TracedText` collects the reply's content for the span. `sender.py` sends it.
"""

import time
from collections.abc import Iterable, Iterator, Mapping

from mitmproxy.http import HTTPFlow
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

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
from converter.core.model.events import Event, model_text
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound
from converter.core.wire.printable import encodable

TRACED_TEXT = Bound(128 << 10, "characters", "text of a reply in a span", "the rest is left out")
"""There is a bound, because collectors accept only some megabytes in a batch of spans."""


_TRACEPARENT = TraceContextTextMapPropagator()
"""Reads from a request's header `traceparent` the trace to which the span belongs."""
_FROM_SUMMARY = {
    "gen_ai.response.model": "model",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.reasoning.output_tokens": "thinking_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
}
"""Attribute of a span -> the key of the attribute's value in a reply's summary."""
_MOMENTS = ("first_byte", "first_thought", "first_text")
"""Keys of the times in a streamed reply's summary that become events of the span."""


class TracedText:
    """Collects the content of a reply's choices, up to `TRACED_TEXT` characters."""

    def __init__(self) -> None:
        self._choices: dict[int, Accumulator] = {}
        self._room: int = TRACED_TEXT

    def feed(self, events: Iterable[Event]) -> None:
        """Add events that were sent to the client. Once an event's text does not fit into the
        bound, this event and all later events with text are left out.
        """
        for event in events:
            length = len(model_text(event))
            self._room -= length
            if self._room >= 0 or not length:
                choice = getattr(event, "choice", 0)
                self._choices.setdefault(choice, Accumulator(choice)).feed(event)

    def messages(self) -> list[Mapping[str, object]]:
        """Return the reply as messages in the format of OpenTelemetry's conventions, one for each
        choice.
        """
        return [
            {
                "role": "assistant",
                "parts": [part for read in choice.parts() for part in _message_part(read)],
                "finish_reason": choice.finish or "error",
            }
            for _, choice in sorted(self._choices.items())
        ]


def _message_part(part: Part) -> Iterator[Mapping[str, object]]:
    """Yield a message's part (text, thought or call) in the format of OpenTelemetry's conventions.
    Yield nothing for a kind of part that the conventions lack.
    """
    match part:
        case TextBlock():
            yield {"type": "text", "content": part.text}
        case ThinkingBlock():
            yield {"type": "reasoning", "content": part.text}
        case ToolUse():
            arguments = json_text.read_or_none(part.arguments.encode(errors="replace"))
            value = part.arguments if arguments is None else arguments
            yield {"type": "tool_call", "id": part.id, "name": part.name, "arguments": value}


def create_span(
    tracer: Tracer, record: FlowRecord, outcome: str, text: TracedText | None = None
) -> None:
    """Create and end the span of a finished exchange. `outcome`: how the reply ended
    (`outcome_of`); any but `ok` makes the span an error. `text`: the reply's content for the span,
    None to leave it out.
    """
    summary, request = record.reply_summary, record.flow.request
    server, dialect = record.server, record.exchange.server_dialect.label.title
    streams = record.request.form is Form.STREAM
    moments = {
        name: at for name in _MOMENTS if streams and isinstance(at := summary.get(name), float)
    }
    # JSON text, because tools that show spans do not show nested attributes. The request's API keys
    # are hidden in it.
    messages = ""
    if text is not None:
        keys = (*secrets_of_headers(record.sides.headers), *secrets_of_link(request.url))
        written = json_text.write(text.messages()).decode()
        messages = Scrubber(keys, (), ()).hide_secrets(written)
    attributes = {
        **{name: summary.get(key) for name, key in _FROM_SUMMARY.items()},
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": record.request.requested_model,
        "gen_ai.provider.name": dialect.split()[0].lower() if server is GENERIC else server.name,
        "gen_ai.conversation.id": record.request.conversation_id,
        "server.address": request.host,
        "server.port": request.port,
        "gen_ai.request.stream": streams,
        "gen_ai.response.time_to_first_chunk": moments.get("first_byte"),
        "gen_ai.response.finish_reasons": [summary["finish"]] if "finish" in summary else None,
        "error.type": _error_type(record.flow, outcome),
        "gen_ai.output.messages": messages,
    }
    span = tracer.start_span(
        encodable(f"chat {record.request.requested_model}".strip()),
        _TRACEPARENT.extract(record.sides.headers, Context()),
        SpanKind.CLIENT,
        {
            name: _attribute_value(value)
            for name, value in attributes.items()
            if value not in (None, "")
        },
        start_time=_nanoseconds(request.timestamp_start),
    )
    for name, at in moments.items():
        span.add_event(name, timestamp=_nanoseconds(request.timestamp_start + at))
    if outcome != "ok":
        span.set_status(StatusCode.ERROR)
    span.end(time.time_ns())


def _error_type(flow: HTTPFlow, outcome: str) -> str | None:
    """Return a span's `error.type` for how the reply ended: the status of a refused request, such
    as `429`, else the outcome, such as `broke_off`; None for the outcome `ok`. It never has the
    error's message, which may hold a key.
    """
    if outcome == "refused" and flow.response:
        return str(flow.response.status_code)
    return None if outcome == "ok" else outcome.replace(" ", "_")


def _nanoseconds(at: float) -> int:
    """Return a time in nanoseconds, from a time in seconds."""
    return int(at * 1e9)


def _attribute_value(value: object) -> AttributeValue:
    """Return a value as a type that a span's attribute may have. Lone surrogates in its text are
    replaced.
    """
    if isinstance(value, bool | int | float):
        return value
    return [*map(encodable, value)] if isinstance(value, list) else encodable(value)
