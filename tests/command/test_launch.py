"""`think-addon claude` and its like: what a client is started with, and what becomes of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from converter.command import launch
from converter.command.__main__ import main
from converter.command.addresses import CommandError
from converter.command.doctor import facts_until_window
from converter.command.launch import CLIENTS, ClientFacts
from converter.command.link import link_to
from converter.servers.model_facts import SAID_AT
from tests.support.by_path_server import ByPathServer, Says, owned_by

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLACE = ClientFacts("http://127.0.0.1:8080", "qwen", 65536)
UNKNOWN = ClientFacts("http://127.0.0.1:8080", "qwen")


def _needs(name: str, place: ClientFacts) -> dict[str, object]:
    return {key: value for key, value in CLIENTS[name].needs(place).items() if value is not None}


def test_claude_code_is_told_of_the_servers_window() -> None:
    told = _needs("claude", PLACE)
    assert told["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8080"
    assert {told["ANTHROPIC_MODEL"], told["ANTHROPIC_DEFAULT_HAIKU_MODEL"]} == {"qwen"}
    assert told["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] == 65536
    assert told["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == 16384


def test_a_window_that_no_server_tells_stays_unknown() -> None:
    assert not [name for name in _needs("claude", UNKNOWN) if "TOKENS" in name]
    assert not [word for word in CLIENTS["codex"].arguments(UNKNOWN) if "window" in word]
    assert "limit" not in str(_needs("opencode", UNKNOWN))


def test_codex_gets_all_on_its_command_line() -> None:
    assert _needs("codex", PLACE) == {}
    settings = dict(word.split("=", 1) for word in CLIENTS["codex"].arguments(PLACE)[1::2])
    assert json.loads(settings["model_providers.local.base_url"]) == "http://127.0.0.1:8080/v1"
    assert json.loads(settings["model_context_window"]) == 65536


def test_opencode_gets_its_whole_configuration() -> None:
    config = json.loads(str(_needs("opencode", PLACE)["OPENCODE_CONFIG_CONTENT"]))
    assert config["model"] == "local/qwen"
    assert config["provider"]["local"]["models"]["qwen"]["limit"]["context"] == 65536


def test_a_client_that_is_not_there_is_told_how_to_get(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["codex", "exec", "hello"]) == 127
    said = capsys.readouterr().err
    assert (
        said == "think-addon: codex is not installed: get it with `npm install -g @openai/codex`\n"
    )


def test_run_wants_a_program() -> None:
    with pytest.raises(CommandError, match=r"run .* -- PROGRAM"):
        launch.main("run", [])


def test_nearly_a_command_is_no_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docter"]) == 2
    assert "did you mean `think-addon doctor`?" in capsys.readouterr().err


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    rows = {**owned_by("vllm"), "/v1/models": Says(_models())}
    with ByPathServer(rows) as made:
        yield made


def _models() -> dict[str, object]:
    model = {"id": "qwen", "object": "model", "owned_by": "vllm", "max_model_len": 4096}
    return {"object": "list", "data": [model]}


PROGRAM = """
import os, sys
print(*(os.environ.get(name) for name in ("ANTHROPIC_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")))
print(os.environ["CLAUDE_CODE_MAX_CONTEXT_TOKENS"], *sys.argv[1:])
sys.exit(7)
"""


def test_a_program_is_run_with_a_proxy_of_its_own(server: ByPathServer, tmp_path: Path) -> None:
    done = _launched(server, tmp_path, PROGRAM, "--flag")
    first, second = done.stdout.splitlines()
    assert done.returncode == 7
    assert first.split()[::2] == ["qwen", "unused"]
    assert second == "4096 --flag"
    assert "watch at http://127.0.0.1" in done.stderr
    proxy = first.split()[1].removesuffix("/v1")
    with pytest.raises(CommandError, match="no model server"):  # it ended with the program
        launch.place_at(proxy)


def _launched(
    server: ByPathServer, folder: Path, program: str, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_command(server), "--", sys.executable, "-c", program, *words],
        cwd=ROOT,
        env={**os.environ, "HOME": str(folder), "OPENAI_API_KEY": "a key of a cloud"},
        capture_output=True,
        text=True,
        check=False,
    )


def _command(server: ByPathServer) -> list[str]:
    return [sys.executable, "-m", "converter.command", "run", "--url", server.address]


SLEEPS = "import time; print('here', flush=True); time.sleep(600)"


def test_a_signal_reaches_the_program(server: ByPathServer, tmp_path: Path) -> None:
    command = [*_command(server), "--", sys.executable, "-c", SLEEPS]
    environment = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM


def test_a_proxy_that_runs_is_found(server: ByPathServer, tmp_path: Path) -> None:
    """The program asks, while its proxy runs, for what another would be started with."""
    program = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True)"
    words = ["-m", "converter.command", "env", "codex"]
    done = _launched(server, tmp_path, program, *words)
    assert done.returncode == 0, done.stderr
    assert "# codex -c" in done.stdout


def test_a_proxy_that_cannot_start_says_why(server: ByPathServer, tmp_path: Path) -> None:
    command = [*_command(server), "--set", "think_nonsense=1", "--", sys.executable, "-c", "1"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the proxy did not start" in done.stderr
    assert "think_nonsense" in done.stderr


def test_a_server_is_asked_no_further_than_its_window() -> None:
    rows = {**owned_by("vllm"), "/v1/models": Says(_models())}
    with ByPathServer(rows) as server:
        listed = link_to(server.address).get("/v1/models")
        asked = len(server.paths())
        facts = facts_until_window(link_to(server.address), "qwen", listed)
        assert (facts.window, len(server.paths()) - asked) == (4096, 0)
        assert facts_until_window(link_to(server.address), "qwen", {}).window is None
        assert len(server.paths()) - asked == len(SAID_AT) - 1
