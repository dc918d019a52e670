"""`make run`, started for real: with the embedded model server, with a given server, and in a terminal that goes away."""

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

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LAUNCHER = [sys.executable, "-m", "tools.run_proxy"]
COMMAND = [sys.executable, "-m", "converter.command"]
PATIENCE = 240.0
READY = "Ctrl-C stops everything."
reads_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="finds processes in /proc"
)


@dataclass
class Launched:
    """A running launcher and its output."""

    process: subprocess.Popen[bytes]
    output: Path

    def printed(self) -> str:
        return self.output.read_text()

    def wait_ready(self) -> None:
        wait_until(lambda: READY in self.printed() or self.process.poll() is not None)
        assert READY in self.printed(), self.printed()

    def address(self, pattern: str) -> str:
        match = re.search(pattern, self.printed())
        assert match, self.printed()
        return match[1]

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


def text_of_stream(stream: str) -> str:
    """The text of a streamed reply of either dialect."""
    return "".join(re.findall(r'"(?:content|text)":"([^"]*)"', stream))


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
def launched(folder: Path, *command: str) -> Iterator[Launched]:
    output = folder / "output.txt"
    options = ["--", "--set", f"confdir={folder}"]
    with output.open("wb") as file:
        process = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
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


@reads_proc
def test_the_commands_it_prints_work_and_ctrl_c_leaves_nothing(
    tmp_path: Path, ports: list[str]
) -> None:
    with launched(tmp_path, *LAUNCHER, "--dump", *ports) as run:
        run.wait_ready()
        children = run.children()
        commands = [
            shlex.split(line) for line in run.printed().splitlines() if line.startswith("curl ")
        ]
        assert ["/".join(command[2].split("/")[3:]) for command in commands] == [
            "v1/chat/completions",
            "v1/messages",
            "v1/responses",
            "api/chat",
        ]
        assert all("84" in text_of_stream(fetch(command[2], command[-1])) for command in commands)
        assert run.end(signal.SIGINT) == 0
    assert len(children) == 2
    assert not any(map(is_alive, children))
    assert "Traceback" not in run.printed()


@reads_proc
def test_mitmweb_opens_with_the_address_it_prints_and_only_with_it(
    tmp_path: Path, ports: list[str]
) -> None:
    with launched(tmp_path, *LAUNCHER, *ports) as run:
        run.wait_ready()
        children = run.children()
        web = run.address(r"Watch: +(\S+)")
        assert "think.js" in fetch(web)
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            fetch(web.partition("?")[0])
        refused.value.close()
        assert "tiny-think" in fetch(run.address(r"Proxy: +(\S+)") + "/v1/models")
        assert run.end(signal.SIGTERM) == 0
    assert len(children) == 2
    assert not any(map(is_alive, children))


@reads_proc
def test_ctrl_c_while_it_starts_leaves_nothing(tmp_path: Path, ports: list[str]) -> None:
    with launched(tmp_path, *LAUNCHER, "--dump", *ports) as run:
        wait_until(lambda: bool(run.children()))
        children = run.children()
        assert run.end(signal.SIGINT) == 0
    assert children
    assert not any(map(is_alive, children))
    assert run.printed() == ""


@reads_proc
def test_a_named_server_is_used_and_nothing_else_is_started(
    tmp_path: Path, ports: list[str]
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with launched(tmp_path, *COMMAND, f"{nobody}/v1/", "--dump", *ports) as run:
        run.wait_ready()
        assert f"(in front of http://{nobody})" in run.printed()
        assert f"no model server at http://{nobody}: Connection refused" in run.printed()
        assert run.children() == []
        assert run.end(signal.SIGTERM) == 0


def test_a_port_that_cannot_be_used_stops_everything(tmp_path: Path) -> None:
    with launched(tmp_path, *LAUNCHER, "--dump", "--port", "many") as run:
        assert run.end() == 1
    assert run.printed().splitlines() == [
        "think-addon: expected a number from 1 to 65535 for --port, got 'many'",
        "make run: think-addon has ended with exit code 2, so everything was stopped.",
    ]
