"""Counts that others can read: at a port, in a file, and nowhere without the option."""

import asyncio
import json
import socket
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from mitmproxy.flow import Error
from mitmproxy.test import tflow
from prometheus_client.parser import text_string_to_metric_families

from converter.addon.exchange import settings
from converter.addon.keep.flow_record import outcome_of
from converter.extras.watch.metrics_endpoint import MetricsEndpoint
from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.harness import start_proxy

pytestmark = pytest.mark.slow

TAGGED = "<think>I add.</think>84"
DONE = {"finish": "stop"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def fetch(address: str, body: bytes | None = None, host: str = "127.0.0.1") -> str:
    request = urllib.request.Request(address, data=body, headers={"host": host})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return str(reply.read().decode())


def ask(port: int, model: str = "small") -> None:
    fetch(f"http://127.0.0.1:{port}{CHAT}", json.dumps({"model": model, "messages": []}).encode())


def endpoint_at(target: str) -> MetricsEndpoint:
    return MetricsEndpoint(lambda: settings.read({"metrics": target}), Counter())


def counts(text: str) -> dict[str, float]:
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_a_prompt_that_breaks_the_cache_is_counted(tmp_path: Path) -> None:
    def turn(day: int, *more: str) -> bytes:
        texts = [f"It is 2026-11-{day}.", *more]
        roles = ("system", "user", "assistant", "user")
        turns = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
        return json.dumps({"model": "small", "messages": turns}).encode()

    options = ["--set", f"think_metrics={(port := free_port())}"]
    with (
        ByPathServer({**owned_by("vllm"), CHAT: Says(frames.whole(TAGGED))}) as server,
        start_proxy([f"reverse:{server.address}"], options, tmp_path, "metrics") as proxy,
    ):
        proxy.wait_for("metrics at http")
        for body in (turn(23, "A?"), turn(23, "A?", "B.", "C?"), turn(24, "A?", "B.", "C?", "D.")):
            fetch(f"http://127.0.0.1:{proxy.ports[0]}{CHAT}", body)
        fetch(f"http://127.0.0.1:{proxy.ports[0]}{CHAT}", turn(24, "E?"))
        fetch(f"http://127.0.0.1:{proxy.ports[0]}{CHAT}", turn(25, "E?", "F.", "G?"))
        read = counts(fetch(f"http://127.0.0.1:{port}/metrics"))
    assert read["think_broken_prefixes_total"] == 1


def test_a_port_serves_what_was_counted_and_nothing_else(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{(port := free_port())}"
    says = [Says(frames.whole(TAGGED)), Says({"error": "no"}, 400)]
    options = ["--set", f"think_metrics={port}"]
    with (
        ByPathServer({**owned_by("vllm"), CHAT: says}) as server,
        start_proxy([f"reverse:{server.address}"], options, tmp_path, "metrics") as proxy,
    ):
        proxy.wait_for("metrics at http")
        assert fetch(f"{address}/metrics").count("# TYPE") == 14
        ask(proxy.ports[0])
        with pytest.raises(urllib.error.HTTPError, match="400"):
            ask(proxy.ports[0])
        read = counts(text := fetch(f"{address}/metrics"))
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(address)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetch(f"{address}/metrics", host="evil.example")
        with pytest.raises(urllib.error.HTTPError, match="405"):
            fetch(f"{address}/metrics", b"x")
        address = server.address.removeprefix("http://")
    assert read["think_thoughts_total"] == 1
    families = text_string_to_metric_families(text)
    [requests] = [family for family in families if family.name == "think_requests"]
    labels = {"model": "small", "server": address}
    assert [(each.labels, each.value) for each in requests.samples] == [
        ({**labels, "outcome": outcome}, 1) for outcome in ("ok", "refused")
    ]


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "think.prom"
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole(TAGGED))}
    options = ["--set", f"think_metrics={file}"]
    with (
        ByPathServer(rows) as server,
        start_proxy([f"reverse:{server.address}"], options, tmp_path, "metrics") as proxy,
    ):
        ask(proxy.ports[0])
    assert counts(file.read_text())["think_thoughts_total"] == 1
    assert [path.name for path in tmp_path.glob(".think*")] == []


def test_a_file_of_json_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a file for Prometheus, such as think\.prom"):
        settings.read({"metrics": str(tmp_path / "think.json")})


def test_without_the_package_the_start_ends_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "converter.extras.watch.metrics", raising=False)
    endpoint_at("9").running()
    assert len(caplog.messages) == 1
    assert "think_metrics: expected prometheus_client beside mitmproxy" in caplog.text


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start_proxy(
            ["regular"], ["--set", f"think_metrics={port}"], tmp_path, "taken"
        ) as proxy:
            proxy.exit_status()
    assert f"think_metrics: 127.0.0.1:{port} cannot be listened at (Address already" in proxy.output
    assert "Error logged during startup, exiting..." in proxy.output


def test_a_port_that_cannot_be_opened_has_the_systems_reason() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(ValueError, match=r"\(Address already in use\)$"):
        endpoint_at(f"127.0.0.1:{taken.getsockname()[1]}").follow()
    with pytest.raises(ValueError, match=r"\((?!Unknown error).+\)$"):
        endpoint_at("no.such.host.invalid:9100").follow()


def test_a_closed_port_is_free_for_a_script_that_is_loaded_anew() -> None:
    port = free_port()

    async def released() -> None:
        endpoint = endpoint_at(f"127.0.0.1:{port}")
        endpoint.follow()
        endpoint.done()
        socket.create_server(("127.0.0.1", port)).close()

    asyncio.run(released())


def test_who_asks_nothing_is_let_go(tmp_path: Path) -> None:
    port = free_port()
    with start_proxy(["regular"], ["--set", f"think_metrics={port}"], tmp_path, "silent") as proxy:
        proxy.wait_for("metrics at http")
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(b"x" * 20_000)
            assert client.recv(100) == b""


@pytest.mark.parametrize(
    ("error", "status", "summary", "outcome"),
    [
        ("", 200, DONE, "ok"),
        ("Client disconnected.", 200, DONE, "ok"),
        ("Client disconnected.", 200, {}, "client left"),
        ("peer closed connection", 200, {}, "broke off"),
        ("", 500, {}, "refused"),
        ("", 200, {}, "failed"),
        ("", 200, {**DONE, "failure": "no memory"}, "failed"),
    ],
)
def test_how_a_request_ended(
    error: str, status: int, summary: dict[str, object], outcome: str
) -> None:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response.status_code = status
    flow.error = Error(error) if error else None
    assert outcome_of(flow, summary) == outcome
