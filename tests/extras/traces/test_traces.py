"""Spans reach a collector in batches; one that is away costs spans, and no reply."""

import json
import socket
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from converter.extras.traces import traces
from converter.extras.traces.spans import Fields
from converter.extras.traces.traces import MOST_SPANS, Sender, Traces
from tests.support import frames
from tests.support.addon_flows import part_of
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.harness import start_proxy
from tests.support.kept_flows import watched

pytestmark = pytest.mark.slow

PLACE = "/v1/traces"
LONG = 30.0
REPLY: Fields = {"name": "chat small"}


def names(collector: ByPathServer) -> list[str]:
    """The names of all spans that came, in order."""
    bodies = collector.bodies(PLACE)
    return [
        span["name"]
        for body in bodies
        for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}{PLACE}"


def asked(port: int) -> bytes:
    body = json.dumps({"model": "small", "messages": []}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{CHAT}", body, timeout=LONG) as reply:
        return bytes(reply.read())


def sent_to(url: str, replies: int = 1) -> Counter[str]:
    """What became of replies that were given at once, when all is over."""
    spans = Counter[str]()
    sender = Sender(url, spans)
    for _ in range(replies):
        sender.give(REPLY)
    sender.end(LONG)
    assert not sender._thread.is_alive()
    return spans


def test_replies_go_out_in_batches() -> None:
    with ByPathServer({PLACE: Says({})}) as collector:
        assert sent_to(f"{collector.address}{PLACE}", 250) == {"sent": 250, "dropped": 0}
        assert len(collector.asked) < 10
        assert len(names(collector)) == 250
        assert collector.asked[0].headers["content-type"] == "application/json"


def test_keys_of_the_collector_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(traces.HEADERS_VARIABLE, "Authorization=Basic%20abc, x-team = mine,nothing")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my agents")
    with ByPathServer({PLACE: Says({})}) as collector:
        sent_to(f"{collector.address}{PLACE}?key=1")
    (asked,) = collector.asked
    assert (asked.target, asked.headers["authorization"], asked.headers["x-team"]) == (
        f"{PLACE}?key=1",
        "Basic abc",
        "mine",
    )
    assert b"my agents" in asked.body


def test_what_a_collector_refuses_is_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ByPathServer({PLACE: Says({}, 400)}) as collector:
        url = f"{collector.address}{PLACE}?key=secret"
        assert sent_to(url, 2) == {"sent": 0, "dropped": 2}
    assert caplog.messages == [
        "think: think_traces: the collector loses spans: it answers with status 400 (said once)"
    ]


def test_a_collector_that_comes_back_gets_what_comes_then(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(traces, "SECONDS_BETWEEN_BATCHES", 0.0)
    counts, refused, taken = Counter[str](), threading.Event(), threading.Event()
    first = iter([refused])

    def says(_: object) -> Says:
        if away := next(first, None):
            away.set()
            return Says({}, 503)
        taken.set()
        return Says({})

    with ByPathServer({PLACE: says}) as collector:
        sender = Sender(f"{collector.address}{PLACE}", counts)
        sender.give(REPLY)
        assert refused.wait(LONG)
        sender.give(REPLY)
        assert taken.wait(LONG)
        sender.end(LONG)
    assert counts == {"sent": 1, "dropped": 1}
    assert len(caplog.messages) == 1


def test_no_more_waits_than_the_bound(caplog: pytest.LogCaptureFixture) -> None:
    counts = Counter[str]()
    with nobody() as url:
        sender = Sender(url, counts)
        for _ in range(MOST_SPANS + 200):
            sender.give(REPLY)
        assert len(sender._waiting) <= MOST_SPANS
        sender.end(LONG)
    assert counts == {"sent": 0, "dropped": MOST_SPANS + 200}
    assert len(caplog.messages) == 1


def test_a_collector_that_hangs_holds_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(traces, "SECONDS_BETWEEN_BATCHES", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sender = Sender(f"http://127.0.0.1:{silent.getsockname()[1]}{PLACE}", Counter())
        sender.give(REPLY)
        connection, _ = silent.accept()
        with connection:
            sender.end(0.01)
            assert sender._thread.is_alive()
    assert caplog.messages == [
        "think: think_traces: the collector loses spans: "
        "it did not take the last in 0.01 s (said once)"
    ]


def test_a_header_that_cannot_be_sent_is_not_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(traces.HEADERS_VARIABLE, "authorization=my%0Akey")
    with nobody() as url:
        assert sent_to(url) == {"sent": 0, "dropped": 1}
    assert "ValueError" in caplog.text
    assert "key" not in caplog.text


def test_the_proxy_sends_what_is_left_when_it_ends(tmp_path: Path) -> None:
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole("<think>I add.</think>84"))}
    with ByPathServer(rows) as server, ByPathServer({PLACE: Says({})}) as collector:
        options = ["--set", f"think_traces={collector.address}"]
        with start_proxy([f"reverse:{server.address}"], options, tmp_path, "traces") as proxy:
            asked(proxy.ports[0])
        assert names(collector) == ["chat small"]
        assert b'"vllm"' in collector.asked[0].body


def test_a_collector_that_is_away_costs_a_line_and_no_reply(tmp_path: Path) -> None:
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole("84"))}
    with nobody() as url, ByPathServer(rows) as server:
        options = ["--set", f"think_traces={url}"]
        with start_proxy([f"reverse:{server.address}"], options, tmp_path, "away") as proxy:
            said = asked(proxy.ports[0])
            proxy.wait_for("the collector loses spans: Connection refused")
    assert b"84" in said
    assert proxy.output.count("think_traces") == 1


def test_another_collector_gets_the_next_reply(caplog: pytest.LogCaptureFixture) -> None:
    with nobody() as before, ByPathServer({PLACE: Says({})}) as collector:
        place = f"{collector.address}{PLACE}"
        with watched(traces=before) as there:
            first = part_of(there.addon, Traces)._sender
            assert first
            there.options.update(think_traces=place)
            second = part_of(there.addon, Traces)._sender
            there.options.update(think_traces_words=True)
            assert second is part_of(there.addon, Traces)._sender
            assert second
            second.give(REPLY)
            second.end(LONG)
            first.end(LONG)
    assert names(collector) == ["chat small"]
    assert not caplog.messages
