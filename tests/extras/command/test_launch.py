"""`think-addon claude` and its like: what a client is started with, and what becomes of it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from converter.addon.servers.probes import ADDON_PATH, addon_identity
from converter.core.dialects.model_facts import WINDOW_FIELDS
from converter.extras.command import launch
from converter.extras.command.__main__ import main
from converter.extras.command.addresses import CommandError, UsageError
from converter.extras.command.clients import CLIENTS
from converter.extras.command.doctor import facts_until_window
from converter.extras.command.link import ServerLink
from tests.support.by_path_server import ByPathServer, Says, owned_by
from tests.support.harness import Program, free_ports
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def test_a_missing_client_is_named_with_its_installation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["codex", "exec", "hello"]) == 127
    error = capsys.readouterr().err
    assert (
        error == "think-addon: codex is not installed: get it with `npm install -g @openai/codex`\n"
    )


def test_run_wants_a_program() -> None:
    with pytest.raises(CommandError, match=r"run .* -- PROGRAM"):
        launch.main("run", [])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--url"], "--url needs a value"),
        (["--url", "localhost:1", "--set"], "--set needs a value"),
        (["--set", "think_start=soon"], "think_start: expected one of"),
    ],
)
def test_wrong_use_is_reported_before_anything_starts(arguments: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        launch.main("claude", arguments)


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    rows = {**owned_by("vllm"), "/v1/models": Says(_models())}
    with ByPathServer(rows) as listening:
        yield listening


def _models() -> dict[str, Any]:
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
        launch.client_facts(proxy)


type Start = Callable[..., tuple[list[str], dict[str, str]]]


@pytest.fixture
def start(server: ByPathServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Start:
    """Run a client's command in front of a server that stands for a proxy as well; return the
    arguments and the variables that the client would start with.
    """
    started: list[tuple[list[str], dict[str, str]]] = []
    server.rows[ADDON_PATH] = Says(addon_identity(server.address))
    monkeypatch.setattr(launch, "_PASSED_SIGNALS", ())  # the tests keep their own handlers

    def run(command: list[str], environment: dict[str, str]) -> int:
        started.append((command, environment))
        return 0

    monkeypatch.setattr(launch, "_run_program", run)

    def start(name: str, *more: str) -> tuple[list[str], dict[str, str]]:
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(tmp_path))
            _program(tmp_path, name, "")
            assert main([name, "--url", server.address, *more]) == 0
        [program, *arguments], environment = started.pop()
        assert program == str(tmp_path / name)
        return arguments, environment

    return start


def test_aider_gets_the_model_by_a_file(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    record = launch._run_program

    def run(command: list[str], environment: dict[str, str]) -> int:
        read.append(Path(environment["AIDER_MODEL_METADATA_FILE"]).read_text())
        return record(command, environment)

    monkeypatch.setattr(launch, "_run_program", run)
    arguments, _ = start("aider", "--message", "hello")
    assert json.loads(read[0])["openai/qwen"]["max_input_tokens"] == 4096
    assert arguments == ["--model", "openai/qwen", "--message", "hello"]


@pytest.fixture
def running(server: ByPathServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a proxy that its user has started, at the only port that is looked at."""
    [port] = free_ports(1)
    monkeypatch.setattr(launch, "PORT", port)
    monkeypatch.setattr(launch, "PORTS_TRIED", 1)
    monkeypatch.setattr(launch, "_PATIENCE_FOR_OURS", 60.0)
    monkeypatch.setattr(launch, "_PASSED_SIGNALS", ())  # the tests keep their own handlers
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    arguments = [server.address, "--dump", "--port", str(port), "--set", f"confdir={tmp_path}"]
    command = [sys.executable, "-m", "converter.command", *arguments]
    with Program(command, tmp_path / "proxy.log", cwd=ROOT) as proxy:
        proxy.wait_for("Ctrl-C stops everything")
        yield proxy.wait_for(r"(?m)^Proxy: +(\S+)")[0]


def test_a_running_proxy_is_used(
    server: ByPathServer, running: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--url", server.address, "--", sys.executable, "-c", WHERE]) == 0
    assert capfd.readouterr().out.split() == [f"{running}/v1"]


def test_a_proxy_at_any_port_is_used_with_its_options(server: ByPathServer, tmp_path: Path) -> None:
    arguments = [server.address, "--dump", "--port", str(free_ports(1)[0])]
    command = [sys.executable, "-m", "converter.command", *arguments]
    with Program(
        [*command, "--set", f"confdir={tmp_path}"], tmp_path / "proxy.log", cwd=ROOT
    ) as proxy:
        proxy.wait_for("Ctrl-C stops everything")
        [address] = proxy.wait_for(r"(?m)^Proxy: +(\S+)")
        run = [sys.executable, "-m", "converter.command", "run", "--url", address]
        done = _run(tmp_path, [*run, "--", sys.executable, "-c", WHERE])
    assert done.stdout.split() == [f"{address}/v1"]


def test_a_server_that_is_down_is_named(
    server: ByPathServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows[ADDON_PATH] = Says(addon_identity("http://gpu:8000"))
    down = {"error": {"message": "no model server at http://gpu:8000: connection refused"}}
    server.rows["/v1/models"] = Says(down, 502)
    with pytest.raises(CommandError, match="no model server at http://gpu:8000: connection"):
        launch.client_facts(server.address)
    assert main(["run", "--url", "http://127.0.0.1:1", "--", sys.executable]) == 1
    assert "no model server at http://127.0.0.1:1: " in capsys.readouterr().err


def test_llm_gets_a_proxy_that_takes_its_names_though_another_runs(
    server: ByPathServer, running: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _program(tmp_path, "llm", 'echo "$OPENAI_BASE_URL $OPENAI_MODEL"')
    assert main(["llm", "--url", server.address]) == 0
    own, model = capfd.readouterr().out.split()
    assert own != f"{running}/v1"
    assert model == "qwen"


@pytest.fixture
def proxied(server: ByPathServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a server that stands for the proxy that runs."""
    server.rows[ADDON_PATH] = Says(addon_identity(server.address))
    monkeypatch.setattr(launch, "running_proxy", lambda *_, **__: (server.address,) * 2)
    return server.address


def test_options_are_for_a_proxy_in_front_of_the_same_server(
    proxied: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    chosen = launch.LaunchArguments(proxy_options=["--set", "think_models=*="])
    with launch._proxy_for(chosen, CLIENTS["run"]) as own:
        assert own != proxied
        assert launch.client_facts(own).model == "qwen"


def test_a_proxy_that_ends_with_its_program_is_for_no_other(
    server: ByPathServer, tmp_path: Path
) -> None:
    command = _command(server)
    first, second = _launched(
        server, tmp_path, STARTS, *command[1:], "--", sys.executable, "-c", WHERE
    ).stdout.split()
    assert first != second


WHERE = "import os; print(os.environ['OPENAI_BASE_URL'], flush=True)"
STARTS = (
    f"{WHERE}; import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True)"
)


def _program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def _launched(
    server: ByPathServer, folder: Path, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return _run(folder, [*_command(server), "--", sys.executable, "-c", program, *arguments])


def _run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """In a home, and with programs, of its own."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    home = {"HOME": str(folder), "PATH": path, "OPENAI_API_KEY": "a key of a cloud"}
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **home}, capture_output=True, text=True, check=False
    )


def _command(server: ByPathServer) -> list[str]:
    return [sys.executable, "-m", "converter.command", "run", "--url", server.address]


def test_no_cloud_gets_a_request_and_no_company_proxy_stands_before_ours(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
    for name in (*switches, "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("http_proxy", "http://corp:3128")
    monkeypatch.setenv("no_proxy", "corp")
    _, variables = start("claude")
    clouds = ("CLAUDE_CODE_USE", "CLAUDE_CODE_OAUTH")
    assert not [name for name in variables if name.startswith(clouds)]
    assert variables["http_proxy"] == "http://corp:3128"
    assert variables["no_proxy"] == "corp,127.0.0.1,localhost"
    assert variables["NO_PROXY"] == "127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("first", "status", "reason"),
    [
        (b"#!/gone/python3\n", 127, "the interpreter in its first line is missing"),
        (b"\x7fELF" + bytes(60), 126, "Exec format error"),
    ],
)
def test_a_program_that_cannot_be_started_is_one_line(
    first: bytes, status: int, reason: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = tmp_path / "aider"
    program.write_bytes(first)
    program.chmod(0o755)
    assert launch._run_program([str(program)], os.environ) == status
    assert capfd.readouterr().err == f"think-addon: {program} cannot be started: {reason}\n"


@pytest.mark.parametrize(
    ("number", "when"),
    [
        (signal.SIGTERM, "the server is asked"),
        (signal.SIGHUP, "the client runs"),
        (signal.SIGKILL, "the server is asked"),
        (signal.SIGKILL, "the client runs"),
    ],
)
def test_the_proxy_ends_however_the_launcher_ends(
    number: signal.Signals, when: str, server: ByPathServer, tmp_path: Path
) -> None:
    requested, over = threading.Event(), threading.Event()

    def slow(_: ReceivedRequest) -> Says:
        requested.set()
        over.wait()
        return Says({}, 404)

    if when == "the server is asked":
        server.rows["/v1/models"] = Says({"data": [{"id": "qwen"}]})
        server.rows |= dict.fromkeys([*WINDOW_FIELDS][1:], slow)
    folder = tmp_path / "folders"
    folder.mkdir()
    command = [*_command(server), "--", sys.executable, "-c", SLEEPS]
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(folder)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        assert process.stdout
        page = process.stderr.readline().partition("watch at ")[2].strip()
        assert requested.wait(60) if when == "the server is asked" else process.stdout.readline()
        process.send_signal(number)
        process.wait()
        over.set()
    while _listens(page):
        time.sleep(0.05)
    assert number == signal.SIGKILL or not [*folder.iterdir()]


def _listens(address: str) -> bool:
    parts = urlsplit(address)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname or "", parts.port or 0)) == 0


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


def test_a_client_is_shown_as_lines_for_a_shell(
    proxied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "codex"]) == main(["env", "--url", proxied, "aider"]) == 0
    assert main(["env", "--model", "qwen", "run"]) == 0
    shown = capsys.readouterr().out
    assert f"export OLLAMA_HOST={proxied}\n" in shown
    assert "# codex -c" in shown
    assert f"export OPENAI_API_BASE={proxied}/v1\n" in shown


def test_a_client_is_saved_and_unsaved(
    proxied: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["codex", "--save", "--model", "qwen"]) == 0
    settings = tmp_path / ".codex" / "config.toml"
    assert f'base_url = "{proxied}/v1"' in settings.read_text()
    assert main(["codex", "--unsave"]) == 0
    assert not settings.exists()
    assert f"{settings} points codex at {proxied}" in capsys.readouterr().out


KEY = "sk-local-314159"
SHOWS = "import os; print(os.environ['ANTHROPIC_MODEL'], os.environ.get('THINK_KEY'))"


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_server_with_a_key_gets_it_from_the_proxy_alone(
    by: str, server: ByPathServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def models(request: ReceivedRequest) -> Says:
        let_in = request.headers.get("authorization") == f"Bearer {KEY}"
        return Says(_models()) if let_in else Says({"error": {"message": "Unauthorized"}}, 401)

    server.rows["/v1/models"] = models
    options = ["--key", KEY] if by == "option" else []
    if by == "variable":
        monkeypatch.setenv("THINK_KEY", KEY)
    command = [*_command(server), *options, "--", sys.executable, "-c", SHOWS]
    assert (done := _run(tmp_path, command)).stdout.split() == ["qwen", "None"], done.stderr


def test_a_server_that_wants_a_key_is_named(
    server: ByPathServer, proxied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows["/v1/models"] = Says({"error": {"message": "Unauthorized"}}, 401)
    assert main(["env", "--url", proxied, "claude"]) == 1
    shown = capsys.readouterr().err
    assert f"{server.address} wants an API key: put it into THINK_KEY, or give --key KEY" in shown


@pytest.mark.parametrize(
    ("more", "model", "passed_on"),
    [
        (["--model", "large", "-p", "hi"], "large", "-p hi"),
        (["-p", "hi", "--model", "large"], "large", "-p hi"),
        (["-p", "hi", "--model=large"], "large", "-p hi"),
        (["-p", "hi", "--model", "opus"], "qwen", "-p hi --model opus"),
        (["-p", "hi"], "qwen", "-p hi"),
    ],
)
def test_a_model_is_named_at_any_position(
    more: list[str], model: str, passed_on: str, server: ByPathServer, start: Start
) -> None:
    listed = _models()
    listed["data"].append({**listed["data"][0], "id": "large"})
    server.rows["/v1/models"] = Says(listed)
    arguments, environment = start("claude", *more)
    assert (environment["ANTHROPIC_MODEL"], " ".join(arguments)) == (model, passed_on)


@pytest.mark.parametrize("says", [Says({"data": []}), Says({"detail": "Not Found"}, 404)])
def test_a_server_without_a_list_gets_requests_for_the_named_model(
    server: ByPathServer, says: Says
) -> None:
    server.rows[ADDON_PATH] = Says(addon_identity(server.address))
    server.rows["/v1/models"] = says
    assert launch.client_facts(server.address, "./folder").model == "./folder"
    with pytest.raises(CommandError, match="lists no models: load one, or name one with --model"):
        launch.client_facts(server.address)


@pytest.mark.parametrize("name", ["x\ntouch ran #", "x\rtouch ran", "x\x1b[2J", "x\x85y"])
@pytest.mark.usefixtures("proxied")
def test_a_name_that_acts_on_a_shell_is_in_no_line(
    name: str, server: ByPathServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows["/v1/models"] = Says({"data": [{"id": name, "object": "model"}]})
    for client in ("aider", "claude", "codex", "opencode", "llm"):
        assert main(["env", client]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("can be printed") == 5
    assert name not in shown.err


def test_a_proxy_that_cannot_start_says_why(server: ByPathServer, tmp_path: Path) -> None:
    command = [*_command(server), "--set", "body_size_limit=zz", "--", sys.executable, "-c", "1"]
    done = _run(tmp_path, command)
    assert done.returncode == 1
    assert "the proxy did not start" in done.stderr
    assert "body_size_limit" in done.stderr


def test_a_server_gets_no_request_beyond_its_window() -> None:
    rows = {**owned_by("vllm"), "/v1/models": Says(_models())}
    with ByPathServer(rows) as server:
        listed = ServerLink(server.address).json_at("/v1/models")
        before = len(server.paths())
        facts = facts_until_window(ServerLink(server.address), "qwen", listed)
        assert (facts.window, len(server.paths()) - before) == (4096, 0)
        assert facts_until_window(ServerLink(server.address), "qwen", {}).window is None
        assert len(server.paths()) - before == len(WINDOW_FIELDS) - 1
