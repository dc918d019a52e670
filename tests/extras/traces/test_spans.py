"""Spans are what OpenTelemetry's own packages read, by the names of its conventions."""

import json
import re
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow, Response
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from converter.core.model.events import Finish, Text, Thinking, ToolCall
from converter.extras.traces import spans
from converter.extras.traces.sender import _Exporter
from converter.extras.traces.spans import TRACED_TEXT, TracedText
from converter.extras.traces.traces import Traces
from tests.support import frames
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    part_of,
    request,
    response,
)
from tests.support.kept_flows import pass_on, watched

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    # the conventions for generative AI have moved to a repository that has no package yet
    from opentelemetry.semconv._incubating.attributes import (
        error_attributes,
        gen_ai_attributes,
        server_attributes,
    )

pytestmark = pytest.mark.slow

NAMES = {
    value
    for module in (gen_ai_attributes, server_attributes, error_attributes)
    for value in vars(module).values()
    if isinstance(value, str)
}
KEY = "sk-live-0123456789"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
THOUGHT = ["<think>I add.", "</think>", "84"]


def value_of(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, str(kind))


def attributes(span: Span) -> dict[str, Any]:
    return {each.key: value_of(each.value) for each in span.attributes}


def traced(
    monkeypatch: pytest.MonkeyPatch,
    flow: HTTPFlow,
    sent: Response,
    *chunks: bytes,
    with_text: bool = False,
) -> tuple[Span, bytes]:
    """The span of an exchange, and the bytes in which it is sent."""
    exported: list[ReadableSpan] = []

    def export(_: _Exporter, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        exported.extend(spans)
        return SpanExportResult.SUCCESS

    monkeypatch.setattr(_Exporter, "export", export)
    with watched(traces="http://127.0.0.1:9", traces_words=with_text) as there:
        part_of(there.addon, Traces).running()
        there.begin(flow, sent)
        assert flow.response
        if callable(flow.response.stream):
            pass_on(flow, *chunks, b"")
        else:
            flow.response.raw_content = b"".join(chunks)
        there.end(flow)
        sender = part_of(there.addon, Traces)._sender
        assert sender
        sender.send_last(30)
    sent_bytes = encode_spans(exported)
    (span,) = sent_bytes.resource_spans[0].scope_spans[0].spans
    return span, sent_bytes.SerializeToString()


def asking(path: str = CHAT, **headers: str) -> HTTPFlow:
    return request(path, {**BASIC, "stream": True}, **headers)


def test_a_reply_is_a_span_by_the_conventions(monkeypatch: pytest.MonkeyPatch) -> None:
    frames_sent = [*frames.stream(*THOUGHT)[:-2], USAGE, frames.DONE]
    span, body = traced(monkeypatch, asking(), response(EVENT_STREAM), *frames_sent)
    attributes_of_span = attributes(span)
    assert (span.name, span.kind, span.status.code) == (
        "chat small",
        Span.SPAN_KIND_CLIENT,
        Status.STATUS_CODE_UNSET,
    )
    assert attributes_of_span.pop("gen_ai.response.time_to_first_chunk") > 0
    assert re.fullmatch("[0-9a-f]{16}", attributes_of_span.pop("gen_ai.conversation.id"))
    assert attributes_of_span == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.request.stream": True,
        "gen_ai.response.model": "small",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "server.address": "localhost",
        "server.port": 8000,
    }
    assert [event.name for event in span.events] == ["first_byte", "first_thought", "first_text"]
    times = [event.time_unix_nano for event in span.events]
    assert span.start_time_unix_nano <= times[0] <= times[1] <= times[2] <= span.end_time_unix_nano
    assert len(span.trace_id) == 16
    assert len(span.span_id) == 8
    assert b"I add" not in body
    assert b'"Hi"' not in body


USAGE = frames.data(
    {
        **frames.HEAD,
        "choices": [],
        "usage": {
            **frames.TOKENS,
            "completion_tokens_details": {"reasoning_tokens": 3},
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    }
)


def test_every_name_is_one_of_the_conventions(monkeypatch: pytest.MonkeyPatch) -> None:
    span, _ = traced(
        monkeypatch, asking(), response(EVENT_STREAM), *frames.stream(*THOUGHT), with_text=True
    )
    failed, _ = traced(monkeypatch, asking(), response(status=500), b"{}")
    assert {each.key for each in [*span.attributes, *failed.attributes]} <= NAMES
    assert spans._FROM_SUMMARY.keys() <= NAMES


def test_text_is_sent_by_an_option_with_thoughts_as_parts_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flow = asking(MESSAGES)
    span, _ = traced(
        monkeypatch, flow, response(EVENT_STREAM), *frames.stream(*THOUGHT), with_text=True
    )
    attributes_of_span = attributes(span)
    assert json.loads(attributes_of_span["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "I add."},
                {"type": "text", "content": "84"},
            ],
            "finish_reason": "stop",
        }
    ]


def test_a_call_is_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    frames_sent = frames.whole("", tool_calls=[call])
    span, _ = traced(monkeypatch, request(CHAT, BASIC), response(), frames_sent, with_text=True)
    attributes_of_span = attributes(span)
    (part,) = json.loads(attributes_of_span["gen_ai.output.messages"])[0]["parts"]
    assert part == {"type": "tool_call", "id": "a", "name": "f", "arguments": {"x": 1}}
    assert not span.events
    assert not attributes_of_span["gen_ai.request.stream"]


def test_a_key_is_in_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = asking(f"{CHAT}?token={KEY}", authorization=f"Bearer {KEY}2")
    frames_sent = frames.stream(f"Your keys are {KEY} and {KEY}2")
    _, body = traced(monkeypatch, flow, response(EVENT_STREAM), *frames_sent, with_text=True)
    assert b"Your keys are xxxx" in body
    assert KEY.encode() not in body
    error = json.dumps({"error": {"message": f"no such key: {KEY}"}}).encode()
    _, body = traced(monkeypatch, asking(), response(status=401), error, with_text=True)
    assert KEY.encode() not in body


@pytest.mark.parametrize(
    ("sent", "chunks", "kind"),
    [
        (response(status=429), [b"{}"], "429"),
        (response(EVENT_STREAM), frames.stream("a")[:-3], "failed"),
    ],
)
def test_an_error_has_its_class(
    monkeypatch: pytest.MonkeyPatch, sent: Response, chunks: list[bytes], kind: str
) -> None:
    span, _ = traced(monkeypatch, asking(), sent, *chunks)
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert attributes(span)["error.type"] == kind


@pytest.mark.parametrize(
    ("header", "joined"),
    [
        (f"00-{TRACE}-{PARENT}-01", True),
        (f"00-{'0' * 32}-{PARENT}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        ("00-nonsense", False),
    ],
)
def test_a_span_joins_the_clients_trace(
    monkeypatch: pytest.MonkeyPatch, header: str, joined: bool
) -> None:
    flow = asking(traceparent=header)
    span, _ = traced(monkeypatch, flow, response(EVENT_STREAM), *frames.stream("a"))
    assert (span.trace_id.hex() == TRACE) is joined
    assert span.parent_span_id.hex() == (PARENT if joined else "")


def test_half_a_character_spoils_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = request(CHAT, {**BASIC, "model": "\ud800"})
    frames_sent = frames.whole("half").replace(b"half", rb"\ud83d")
    span, _ = traced(monkeypatch, flow, response(), frames_sent, with_text=True)
    assert span.name == "chat ?"


def test_long_text_is_cut() -> None:
    traced_text = TracedText()
    traced_text.feed([Thinking("a" * TRACED_TEXT), Text("b"), Finish("stop")])
    traced_text.feed([ToolCall(0, "a", "f", "{}")])
    (message,) = traced_text.messages()
    assert message == {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "a" * TRACED_TEXT}],
        "finish_reason": "stop",
    }


def test_choices_are_messages_of_their_own() -> None:
    traced_text = TracedText()
    traced_text.feed([Text("a"), Text("b", choice=1), Finish("stop", choice=1)])
    assert [message["finish_reason"] for message in traced_text.messages()] == ["error", "stop"]
