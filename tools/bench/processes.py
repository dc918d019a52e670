"""Start and end a bench's processes, each pinned to one core, and read their processor time and
memory from /proc (`PinnedProcess`). Also what a start needs: cores, free ports, a wait for a port,
a proxy's settings (`Run`).
"""

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
"""The folder of this project."""
SECONDS_TO_STOP = 10
"""How long a process may take to end before it is killed."""


class PinnedProcess:
    """A running process and its children, all on one core. The end of a `with` block stops it.

    Its stdin is a pipe. Its stdout is one if it is a Python module (`python -m`); any other process
    writes its stdout, as all write their stderr, to the file `log`.
    """

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
        """Terminate the process, and kill it if it has not ended after `seconds`."""
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
        """True if the process has not ended."""
        return self._process.poll() is None

    def write_line(self, value: object) -> None:
        """Write `value` as a line of JSON to the stdin of the process."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def read_line(self, seconds: float) -> str:
        """Wait at most `seconds` for the next line of the process's stdout; return the line.

        Raises TimeoutError if no line comes in time, RuntimeError if the process has ended.
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

    def ask(self, value: object, seconds: float) -> Any:
        """Write `value` as a line of JSON to the process; return the JSON value that it answers.

        `seconds`: the limit for the answer; raises as `read_line` does.
        """
        self.write_line(value)
        return json.loads(self.read_line(seconds))

    @property
    def processor_time(self) -> float:
        """The processor seconds that the process and its running descendants have used so far."""
        return sum(
            max(_seconds_of_threads(pid), _seconds_in_ticks(pid))
            for pid in with_descendants(self._process.pid)
        )

    @property
    def memory(self) -> float:
        """The megabytes of resident memory of the process and its descendants."""
        return sum(map(_resident, with_descendants(self._process.pid)))


@dataclass(frozen=True)
class Run:
    """The settings with which a contender's proxy is started."""

    folder: Path
    """The folder for the files that the proxy writes: log, settings, recordings."""
    source: Path
    """The folder of the addon's sources, in which the proxy is started."""
    port: int
    """The port on which the proxy listens."""
    server: int
    """The port of the model server."""
    core: int
    """The core to which the proxy is pinned."""

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> PinnedProcess:
        """Start the command of this proxy; return the process.

        `environment`: variables besides those of this process.
        """
        return PinnedProcess(command, self.core, self.folder / "log", environment, self.source)


def with_descendants(pid: int) -> list[int]:
    """Return the process ids of a process and of all its descendants."""
    parents = {
        int(path.name): parent for path in Path("/proc").glob("[0-9]*") if (parent := _parent(path))
    }
    pids = [pid]
    for parent in pids:
        pids += [child for child, of in parents.items() if of == parent]
    return pids


def _parent(process: Path) -> int:
    """Return the id of a process's parent; 0 if the process has just ended.

    `process`: its folder in /proc, such as `/proc/42`.
    """
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _seconds_of_threads(pid: int) -> float:
    """Return the processor seconds of a process's threads, but not of threads that have ended.

    They are exact to a nanosecond. 0.0 if the process or one of its threads ends meanwhile, or if
    the kernel has no `schedstat`.
    """
    threads = Path(f"/proc/{pid}/task")
    try:
        return (
            sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir())
            / 1e9
        )
    except OSError:
        return 0.0


def _seconds_in_ticks(pid: int) -> float:
    """Return the processor seconds of a process's threads, also of threads that have ended.

    They are exact to a hundredth of a second. 0.0 if the process has ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    """Return the megabytes of resident memory of a process; 0.0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def wait_for_port(port: int, process: PinnedProcess, seconds: float) -> None:
    """Wait until the port accepts connections.

    Raises RuntimeError if that takes more than `seconds`, or if `process` ends.
    """
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
    """Yield ports that are free at this moment, without end."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        yield port


def cores() -> tuple[int, int]:
    """Return two cores: one for server and client, one for the proxy. They are the same one if this
    process may use only one.
    """
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]
