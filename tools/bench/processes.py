"""Processes of a measurement, each pinned to a core; times and memory are the kernel's counts."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

PROJECT = Path(__file__).parents[2]
SECONDS_TO_STOP = 10


class Started:
    """A running process with its children; leaving the `with` block stops the process."""

    def __init__(
        self,
        command: Sequence[str],
        core: int,
        log: Path,
        environment: Mapping[str, str] | None = None,
        cwd: Path = PROJECT,
    ) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if command[:2] == [sys.executable, "-m"] else output,
                stderr=output,
                cwd=cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
                text=True,
            )
        os.sched_setaffinity(self._process.pid, {core})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, seconds: float = SECONDS_TO_STOP) -> None:
        """Terminate the process, and kill it if it does not end in time."""
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """True if the process runs."""
        return self._process.poll() is None

    def write(self, value: object) -> None:
        """Write a line of JSON to the process."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def line(self, seconds: float) -> str:
        """Return the next line of the process's output; wait up to so many seconds.

        Raises TimeoutError, or RuntimeError when the process has ended.
        """
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            raise TimeoutError(f"no word from {self._process.args!r} within {seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self._process.args!r} has ended:\n{self.log.read_text(errors='replace')[-2000:]}"
            )
        return str(line)

    def answer(self, value: object, seconds: float) -> Any:
        """Write a line of JSON to the process; return the JSON of its next line."""
        self.write(value)
        return json.loads(self.line(seconds))

    @property
    def processor_time(self) -> float:
        """Processor seconds of the process and its children so far."""
        return sum(max(_worked(pid), _worked_in_ticks(pid)) for pid in family(self._process.pid))

    @property
    def memory(self) -> float:
        """Megabytes of resident memory, of all processes."""
        return sum(map(_resident, family(self._process.pid)))


@dataclass(frozen=True)
class Run:
    """The folders, ports and core of a proxy."""

    folder: Path  # the proxy's own files
    source: Path  # the addon
    port: int
    server: int  # the port of the model server
    core: int

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Started:
        """Start a command as this proxy; return the process."""
        return Started(command, self.core, self.folder / "log", environment, self.source)


def family(pid: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    parents = {
        int(path.name): parent for path in Path("/proc").glob("[0-9]*") if (parent := _parent(path))
    }
    pids = [pid]
    for parent in pids:
        pids += [child for child, of in parents.items() if of == parent]
    return pids


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it has just ended


def _worked(pid: int) -> float:
    """Read the nanoseconds of all threads that still run, where the kernel tells them."""
    threads = Path(f"/proc/{pid}/task")
    try:
        return (
            sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir())
            / 1e9
        )
    except OSError:
        return 0.0


def _worked_in_ticks(pid: int) -> float:
    """Read the hundredths of a second of all threads, those that have ended too."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def wait_for_port(port: int, process: Started, seconds: float) -> None:
    """Wait until a port accepts connections."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.running:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(
        f"nobody listens on port {port}:\n{process.log.read_text(errors='replace')[-2000:]}"
    )


def free_ports() -> Iterator[int]:
    """Yield free ports."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        yield port


def cores() -> tuple[int, int]:
    """Return the core of server and client, and the core of the proxy."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]
