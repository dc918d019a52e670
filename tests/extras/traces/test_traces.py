"""A span for each reply, where the option says."""

import json
import socket
import sys
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.extras.traces.traces import Traces
from tests.extras.traces.test_sender import LONG, PATH, batches, names, nobody
from tests.support import frames
from tests.support.addon_flows import part_of
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.harness import start_proxy
from tests.support.kept_flows import watched

pytestmark = pytest.mark.slow


def ask(port: int) -> bytes:
    body = json.dumps({"model": "small", "messages": []}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{CHAT}", body, timeout=LONG) as reply:
        return bytes(reply.read())


def test_the_proxy_sends_what_is_left_when_it_ends(tmp_path: Path) -> None:
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole("<think>I add.</think>84"))}
    with ByPathServer(rows) as server, ByPathServer({PATH: Says({})}) as collector:
        options = ["--set", f"think_traces={collector.address}"]
        with start_proxy([f"reverse:{server.address}"], options, tmp_path, "traces") as proxy:
            ask(proxy.ports[0])
        assert names(collector) == ["chat small"]
        assert "vllm" in str(batches(collector))


def test_a_collector_that_is_away_costs_a_line_and_no_reply(tmp_path: Path) -> None:
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole("84"))}
    with nobody() as url, ByPathServer(rows) as server:
        options = ["--set", f"think_traces={url}"]
        with start_proxy([f"reverse:{server.address}"], options, tmp_path, "away") as proxy:
            body = ask(proxy.ports[0])
            proxy.wait_for("the collector loses spans: ConnectionError")
    assert b"84" in body
    assert proxy.output.count("think_traces") == 1


def test_another_collector_gets_the_next_reply() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, watched() as there:
        there.run()
        traces = part_of(there.addon, Traces)
        assert traces._sender is None
        for url in ("http://127.0.0.1:9", f"http://127.0.0.1:{other.getsockname()[1]}"):
            there.options.update(think_traces=url)
            assert traces._sender
            assert traces._sender.url == f"{url}{PATH}"
        sender = traces._sender
        there.options.update(think_traces_words=True)
        assert traces._sender is sender
        there.options.update(think_traces="")
        assert traces._sender is None


def test_without_the_packages_the_start_ends_with_the_line_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for module in ("sender", "spans"):
        monkeypatch.delitem(sys.modules, f"converter.extras.traces.{module}", raising=False)
    for name in [name for name in sys.modules if name.startswith("opentelemetry.")]:
        monkeypatch.delitem(sys.modules, name)
    Traces(lambda: settings.read({"traces": "http://127.0.0.1:9"}), Counter()).running()
    packages = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
    assert caplog.messages == [
        f"think: think_traces: expected {packages} beside mitmproxy: pip install "
        f"'think-addon[traces]', or pipx inject think-addon {packages}"
    ]
