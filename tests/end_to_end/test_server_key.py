"""A server that wants an API key, which the proxy has and no client."""

import json
from pathlib import Path

import pytest

from tests.support.clients import Client, Dialect, question
from tests.support.frames import stream
from tests.support.harness import start_proxy
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

KEY = "sk-local-314159"


def test_each_request_has_it_and_no_log_flow_or_recording(
    server: ScriptedServer, dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINK_KEY", KEY)
    server.answer(Reply(stream("<think>deep</think>Hello")))
    kept = tmp_path / "kept"
    saved = tmp_path / "saved.mitm"
    options = ["--set", f"think_record={kept}", "-w", str(saved), "--set", "flow_detail=3"]
    with (
        start_proxy([f"reverse:{server.address}"], options, tmp_path, "keyed") as proxy,
        Client(proxy.ports[0]) as client,
    ):
        for secret in ({"authorization": "Bearer unused"}, {"x-api-key": "unused"}, {}):
            assert client.ask(dialect.path, question(stream=True), secret).status == 200
        client.ask("/v1/models", b"", method="GET")
        output = proxy.output
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert KEY not in output
    assert KEY.encode() not in saved.read_bytes()
    files = [file for file in kept.rglob("*") if file.is_file()]
    assert files
    assert KEY not in json.dumps([file.read_text(errors="replace") for file in files])
