"""`make run`, started for real: with the embedded model server, with a given server, and with
requests it must refuse.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tools.run_proxy import RunError, server_address

LAUNCHER = Path(__file__).with_name("run_proxy.py")
PATIENCE = 60.0
READY = "Ctrl-C stops everything."
reads_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="finds processes in /proc"
)


@dataclass
class Launched:
    """A running launcher and what it has said."""

    process: subprocess.Popen[bytes]
    output: Path

    def said(self) -> str:
        return self.output.read_text()

    def wait_ready(self) -> None:
        wait_until(lambda: READY in self.said() or self.process.poll() is not None)
        assert READY in self.said(), self.said()

    def address(self, pattern: str) -> str:
        found = re.search(pattern, self.said())
        assert found, self.said()
        return found[1]

    def children(self) -> list[int]:
        """The programs it has started."""
        stats = [text_of(path) for path in Path("/proc").glob("[0-9]*/stat")]
        fields = [
            (int(stat.split()[0]), stat.rpartition(") ")[2].split()) for stat in stats if stat
        ]
        return [
            process
            for process, rest in fields
            if rest[1] == str(self.process.pid) and rest[0] != "Z"
        ]

    def end(self, number: signal.Signals | None = None) -> int:
        """Its exit code, after the signal if one is given."""
        if number:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended meanwhile
        return ""


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def launched(folder: Path, *arguments: str) -> Iterator[Launched]:
    output = folder / "output.txt"
    options = ["--", "--set", f"confdir={folder}"]
    with output.open("wb") as file:
        command = [sys.executable, str(LAUNCHER), *arguments, *options]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    with process:
        try:
            yield Launched(process, output)
        finally:
            process.terminate()


@pytest.fixture
def ports() -> list[str]:
    return ["--port", str(free_port()), "--web-port", str(free_port())]


def fetch(address: str, body: str | None = None) -> str:
    data = body.encode() if body else None
    request = urllib.request.Request(
        address, data=data, headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return str(reply.read().decode())


def refusal(*arguments: str) -> str:
    command = [sys.executable, str(LAUNCHER), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended.stderr


@reads_proc
def test_the_commands_it_prints_work_and_ctrl_c_leaves_nothing(
    tmp_path: Path, ports: list[str]
) -> None:
    with launched(tmp_path, "--ui", "dump", *ports) as run:
        run.wait_ready()
        children = run.children()
        commands = [
            shlex.split(line) for line in run.said().splitlines() if line.startswith("curl ")
        ]
        assert [command[2].rpartition("/v1/")[2] for command in commands] == [
            "chat/completions",
            "messages",
        ]
        assert all("84" in fetch(command[2], command[-1]) for command in commands)
        assert run.end(signal.SIGINT) == 0
    assert len(children) == 2
    assert not any(map(is_alive, children))
    assert "Traceback" not in run.said()


@reads_proc
def test_mitmweb_opens_with_the_address_it_prints_and_only_with_it(
    tmp_path: Path, ports: list[str]
) -> None:
    with launched(tmp_path, "--ui", "web", *ports) as run:
        run.wait_ready()
        children = run.children()
        web = run.address(r"mitmweb: (\S+)")
        assert "mitmproxy" in fetch(web)
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            fetch(web.partition("?")[0])
        refused.value.close()
        assert "tiny-think" in fetch(run.address(r"Proxy: +(\S+)") + "/v1/models")
        assert run.end(signal.SIGTERM) == 0
    assert len(children) == 2
    assert not any(map(is_alive, children))


@reads_proc
@pytest.mark.parametrize(("part", "name"), [(0, "the embedded llama.cpp server"), (1, "mitmdump")])
def test_when_a_part_dies_the_rest_is_stopped(
    tmp_path: Path, ports: list[str], part: int, name: str
) -> None:
    with launched(tmp_path, "--ui", "dump", *ports) as run:
        run.wait_ready()
        children = sorted(run.children())
        os.kill(children[part], signal.SIGKILL)
        assert run.end() == 1
    assert (
        run.said().splitlines()[-1]
        == f"make run: {name} has ended with exit code -9, so everything was stopped."
    )
    assert not any(map(is_alive, children))


@reads_proc
def test_ctrl_c_while_it_starts_leaves_nothing(tmp_path: Path, ports: list[str]) -> None:
    with launched(tmp_path, "--ui", "dump", *ports) as run:
        wait_until(lambda: bool(run.children()))
        children = run.children()
        assert run.end(signal.SIGINT) == 0
    assert children
    assert not any(map(is_alive, children))
    assert run.said() == ""


@reads_proc
def test_a_given_server_is_used_and_nothing_else_is_started(
    tmp_path: Path, ports: list[str]
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with launched(tmp_path, "--server", f"{nobody}/v1/", "--ui", "dump", *ports) as run:
        run.wait_ready()
        assert f"(in front of http://{nobody})" in run.said()
        assert f"http://{nobody} does not answer yet" in run.said()
        assert len(run.children()) == 1
        assert run.end(signal.SIGHUP) == 0


@pytest.mark.parametrize("name", ["PORT", "WEB_PORT"])
def test_a_taken_port_is_named_with_what_to_set(name: str, ports: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refusal(*ports, "--" + name.lower().replace("_", "-"), port)
    assert (
        said
        == f"make run: port {port} cannot be used (Address already in use): set {name} to another.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--ui", "console"], "UI must be web or dump, not 'console'"),
        (["--port", "many"], "PORT must be a number from 1 to 65535, not 'many'"),
        (["--port", "65536"], "PORT must be a number from 1 to 65535, not '65536'"),
        (
            ["--server", "ftp://host"],
            "SERVER must look like http://localhost:8000, not 'ftp://host'",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    arguments: list[str], reason: str, ports: list[str]
) -> None:
    assert refusal(*ports, *arguments) == f"make run: {reason}.\n"


def test_two_listeners_need_two_ports() -> None:
    port = str(free_port())
    assert f"PORT and WEB_PORT are both {port}" in refusal("--port", port, "--web-port", port)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://localhost:8000", "http://localhost:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("model-host", "http://model-host"),
        ("https://example.org/", "https://example.org"),
        ("http://localhost:8000/v1", "http://localhost:8000"),
        ("localhost:8000/v1/", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_near_misses_of_an_address_are_understood(given: str, meant: str) -> None:
    assert server_address(given) == meant


@pytest.mark.parametrize(
    "given",
    [
        "http://",
        ":8000",
        "ftp://host",
        "host:port",
        "host:99999",
        "host:0",
        "me@host",
        "a b",
        "http://host/?a=b",
        "::1",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(RunError, match="must look like"):
        server_address(given)


def test_a_path_is_refused_with_the_reason() -> None:
    with pytest.raises(RunError, match="without the path '/api/v1'"):
        server_address("http://localhost:3000/api/v1")
