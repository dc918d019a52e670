"""Spans reach a collector in batches; one that is away costs spans, and no reply."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from converter.extras.traces import sender as sender_module
from converter.extras.traces.sender import MOST_SPANS, Sender
from tests.support.by_path_server import ByPathServer, Says
from tests.support.kept_flows import watched

pytestmark = pytest.mark.slow

PATH = "/v1/traces"
LONG = 30.0
REPLY: Any = None
"""The sender hands it on."""


@pytest.fixture(autouse=True)
def one_span_a_reply(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    trace = lambda tracer, *_: tracer.start_span("chat small").end()  # noqa: E731
    monkeypatch.setattr(sender_module, "create_span", trace)
    with watched():  # mitmproxy's options
        yield


def batches(collector: ByPathServer) -> list[ExportTraceServiceRequest]:
    return [ExportTraceServiceRequest.FromString(request.body) for request in collector.requests]


def names(collector: ByPathServer) -> list[str]:
    """The names of all spans that came, in order."""
    return [
        span.name
        for batch in batches(collector)
        for span in batch.resource_spans[0].scope_spans[0].spans
    ]


@contextmanager
def nobody() -> Iterator[str]:
    """An address without a listener."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}{PATH}"


def sent_to(url: str, replies: int = 1) -> Counter[str]:
    """Return the counts of spans of replies that came at once, when all is over."""
    spans = Counter[str]()
    sender = Sender(url, spans)
    for _ in range(replies):
        sender.add_span(REPLY, "ok", None)
    sender.send_last(LONG)
    return spans


def test_replies_go_out_in_batches() -> None:
    with ByPathServer({PATH: Says({})}) as collector:
        assert sent_to(f"{collector.address}{PATH}", 250) == {"sent": 250, "dropped": 0}
        assert len(collector.requests) < 10
        assert names(collector) == ["chat small"] * 250
        assert collector.requests[0].headers["content-type"] == "application/x-protobuf"


def test_keys_of_the_collector_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = "Authorization=Basic%20abc, x-team = mine,nothing"
    monkeypatch.setenv(sender_module.HEADERS_VARIABLE, headers)
    monkeypatch.setenv(sender_module.NAME_VARIABLE, "my agents")
    with ByPathServer({PATH: Says({})}) as collector:
        sent_to(f"{collector.address}{PATH}?key=1")
    (request,) = collector.requests
    assert (request.target, request.headers["authorization"], request.headers["x-team"]) == (
        f"{PATH}?key=1",
        "Basic abc",
        "mine",
    )
    assert b"my agents" in request.body


def test_other_variables_of_the_process_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=others"),
        ("http_proxy", "http://127.0.0.1:9"),
    ):
        monkeypatch.setenv(name, value)
    with ByPathServer({PATH: Says({})}) as collector:
        assert sent_to(f"{collector.address}{PATH}") == {"sent": 1, "dropped": 0}
    [batch] = batches(collector)
    assert [each.key for each in batch.resource_spans[0].resource.attributes] == ["service.name"]


def test_refused_spans_are_counted_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    with ByPathServer({PATH: Says({}, 400)}) as collector:
        url = f"{collector.address}{PATH}?key=secret"
        assert sent_to(url, 2) == {"sent": 0, "dropped": 2}
    assert caplog.messages == [
        "think: think_traces: the collector loses spans: it answers with status 400 (reported once)"
    ]


def test_a_collector_that_comes_back_gets_what_comes_then(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sender_module, "SECONDS_BETWEEN_BATCHES", 0.01)
    counts, refused, taken = Counter[str](), threading.Event(), threading.Event()
    first = iter([refused])

    def says(_: object) -> Says:
        if away := next(first, None):
            away.set()
            return Says({}, 400)
        taken.set()
        return Says({})

    with ByPathServer({PATH: says}) as collector:
        sender = Sender(f"{collector.address}{PATH}", counts)
        sender.add_span(REPLY, "ok", None)
        assert refused.wait(LONG)
        sender.add_span(REPLY, "ok", None)
        assert taken.wait(LONG)
        sender.send_last(LONG)
    assert counts == {"sent": 1, "dropped": 1}
    assert len(caplog.messages) == 1


def test_no_more_waits_than_the_bound(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sender_module, "_PATIENCE", 0.2)
    with nobody() as url:
        assert sent_to(url, MOST_SPANS + 200) == {"sent": 0, "dropped": MOST_SPANS + 200}
    assert len(caplog.messages) == 1


def test_a_collector_that_hangs_holds_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sender_module, "SECONDS_BETWEEN_BATCHES", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sender = Sender(f"http://127.0.0.1:{silent.getsockname()[1]}{PATH}", Counter())
        sender.add_span(REPLY, "ok", None)
        connection, _ = silent.accept()
        with connection:
            sender.send_last(0.01)
    assert caplog.messages == [
        "think: think_traces: the collector loses spans: "
        "it did not take the last ones within 0.01 s (reported once)"
    ]


def test_a_header_that_cannot_be_sent_is_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(sender_module.HEADERS_VARIABLE, "authorization=my%0Akey")
    with nobody() as url:
        assert sent_to(url) == {"sent": 0, "dropped": 1}
    assert "InvalidHeader" in caplog.text
    assert "key" not in caplog.text
