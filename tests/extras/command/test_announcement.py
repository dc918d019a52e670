"""The announcement to a person once the proxy is ready."""

import json
import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from mitmproxy import hooks
from mitmproxy.addons.errorcheck import ErrorCheck
from mitmproxy.test import taddons

from converter.addon.bounds import ANSWER_LIMIT
from converter.addon.servers.probes import addon_identity
from converter.addon.start_lines import UNKNOWN_MODEL
from converter.core.dialects.dialect import RequestContext
from converter.core.dialects.model_facts import ModelFacts
from converter.core.dialects.table import COMMON, DIALECTS, Dialect
from converter.core.model.conversation import TextBlock, Turn
from converter.extras.command import announcement as script
from converter.extras.command.announcement import (
    announcement_text,
    has_failed_at_start,
    probe,
    running,
)

pytestmark = pytest.mark.slow


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """The address of a server that gives this one answer."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_first_model_listed_is_the_one_to_try() -> None:
    with answering(200, b'{"data": [{"id": "large"}, {"id": "small"}]}') as address:
        assert probe(address)[0] == "large"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"hello"),
        (200, b'{"data": []}'),
        (200, b"[]"),
        (200, b'{"data": null}'),
        (200, b'{"data": [{"id": "\\u001b]0;owned\\u0007"}]}'),
        (200, b'{"data": [{"id": "' + b"x" * ANSWER_LIMIT + b'"}]}'),
    ],
)
def test_a_server_that_lists_none_gets_a_gap_to_fill_in(
    status: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with answering(status, body) as address:
        assert probe(address)[0] == UNKNOWN_MODEL
    assert not caplog.records


@pytest.mark.parametrize(("key", "wanted"), [("", "an API key"), ("bad", "another API key")])
def test_a_server_that_wants_a_key_is_named(
    key: str, wanted: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINK_KEY", key)
    with answering(401, b"{}") as address:
        assert probe(address)[0] == UNKNOWN_MODEL
    assert f"wants {wanted}: put it into THINK_KEY, or give --key KEY" in caplog.text


def test_claude_code_gets_the_window_that_the_server_reports() -> None:
    shown = announcement_text("http://s", "http://p", None, "qwen", ModelFacts(window=65536))
    assert "CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536 claude --model qwen\n" in shown
    assert "MAX_CONTEXT" not in announcement_text("http://s", "http://p", None, "qwen")


def test_the_addon_is_distinct_from_a_server(caplog: pytest.LogCaptureFixture) -> None:
    with answering(200, addon_identity("http://gpu:8000")) as address:
        probe(address)
    behind = "think-addon itself, in front of http://gpu:8000: start it in front of http://gpu:8000"
    assert caplog.messages == [f"{address} is {behind}"]
    with answering(200, b"{}") as address:
        probe(address)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_is_shown_by_a_request_that_its_reader_takes(dialect: Dialect) -> None:
    shown = announcement_text("http://a", "http://b:8080", None, "m").splitlines()
    arguments = shlex.split(shown[shown.index(f"# Ask in the {dialect.label.title} dialect:") + 1])
    body = json.loads(arguments[-1])
    if dialect is COMMON:  # goes on as it came
        turns = [{"role": "user", "content": "12 * 7"}]
        assert (body["model"], body["stream"], body["messages"]) == ("m", True, turns)
        return
    parsed = dialect.requests.read(body, RequestContext())
    assert (parsed.model, parsed.stream) == ("m", True)
    assert parsed.turns == (Turn("user", (TextBlock("12 * 7"),)),)


def test_mitmweb_is_named_when_there_is_one() -> None:
    shown = announcement_text("http://a", "http://b", "http://127.0.0.1:8081/?token=1", "m")
    assert "Watch:   http://127.0.0.1:8081/think?token=1" in shown
    assert shown.count("token=") == 1
    assert "mitmweb" not in announcement_text("http://a", "http://b", None, "m")


def test_clients_get_their_address_and_model() -> None:
    shown = announcement_text("http://a", "http://b:8080", None, "my model").splitlines()
    claude, program = (line for line in shown if "_BASE_URL=" in line)
    assert shlex.split(claude) == [
        *["ANTHROPIC_BASE_URL=http://b:8080", "ANTHROPIC_API_KEY=unused"],
        *["claude", "--model", "my model"],
    ]
    assert "OPENAI_BASE_URL=http://b:8080/v1" in program


def test_clients_that_are_installed_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "think-addon" not in announcement_text("http://a", "http://b", None, "m")
    for name in ("codex", "aider", "opencode"):
        (tmp_path / name).touch(0o755)
    shown = announcement_text("http://a", "http://b", None, "m")
    assert "\nthink-addon codex  # or opencode, aider\n" in shown


def test_a_client_that_can_never_work_is_not_printed() -> None:
    facts = ModelFacts(window=4096, sees=False)
    shown = announcement_text("http://a", "http://b", None, "m", facts)
    assert "Model:   m  (a window of 4,096 tokens, sees pictures: no)" in shown
    assert "# Claude Code needs a window of about 40,000 tokens, not 4,096" in shown
    assert "claude --model" not in shown


def test_a_start_that_failed_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    check = ErrorCheck()
    try:
        with taddons.context(check) as context:
            context.options.update(mode=["reverse:http://127.0.0.1:1"])
            assert not has_failed_at_start()
            logging.getLogger().error("think: no option think_tag; did you mean think_tags?")
            assert has_failed_at_start()
            running()
    finally:
        check.finish()
    assert capsys.readouterr().out == ""


def test_an_option_that_nobody_declares_stops_the_start(caplog: pytest.LogCaptureFixture) -> None:
    check = ErrorCheck()
    try:
        with taddons.context(check) as context:
            context.options.update(mode=["reverse:http://127.0.0.1:1"])
            context.options.set("listen_prt=8080", defer=True)
            context.options.update_defer(of_another_addon="in config.yaml")
            running()
            assert has_failed_at_start()
    finally:
        check.finish()
    assert caplog.messages == ["no option listen_prt; did you mean listen_port?"]


def test_nothing_that_it_imports_is_taken_for_a_hook() -> None:
    """mitmproxy calls the functions of a script by their names."""
    names = {hook.name for hook in hooks.all_hooks.values()}
    assert {name for name in vars(script) if name in {*names, "load"}} == {"running"}
