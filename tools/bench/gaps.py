"""Print the longest pause of a stream while another client has a huge or hostile exchange.

    python -m tools.bench.gaps

One client reads a stream of 50 tokens a second through a proxy. Meanwhile another client has one of
the exchanges of `gap_cases.py` through the same proxy. A *gap* is the longest time between two
reads of the first client, in seconds. The table has a line for each exchange, and a column for each
of three proxies: bare mitmdump, the addon, and the addon while it also records exchanges, prints
thoughts and appends them to files. A cell has median and range of the gaps of all repetitions.
`LATE` is written beside a line if the addon's median in one of its columns is above `AIM` and above
that of bare mitmdump.
"""

import argparse
import itertools
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tools.bench.client import Task, request_of
from tools.bench.contenders import ADDON_ARGUMENTS, BARE_ARGUMENTS, FOLDER, SOURCE
from tools.bench.gap_cases import CASES, Case
from tools.bench.processes import PROJECT, PinnedProcess, cores, free_ports, wait_for_port
from tools.bench.proxies import QUIET, copy_addon

AIM = 0.1
"""The longest gap that is wanted, in seconds: the time of five tokens."""
SECONDS = 120
"""Limit, in seconds, for the start of a program and for one exchange of the other client."""
SECONDS_TO_RECORD = 600
"""How long a proxy may take to end. It first writes its recordings: 20 s for a huge exchange."""
MEASURED_AROUND = 0.3
"""For how many seconds the stream is also measured before the other exchange, and after it: the
proxy still works on an exchange that has ended, and can make a gap then.
"""
ALL_OPTIONS = (
    "think_record={folder}/recordings",
    "think_events={folder}/thoughts",
    "think_print=true",
)
"""Options with which the addon records exchanges, appends thoughts to files, and prints them."""
ROWS = {
    "bare": BARE_ARGUMENTS,
    "addon": ADDON_ARGUMENTS,
    "recording": (
        *ADDON_ARGUMENTS,
        *(part for option in ALL_OPTIONS for part in ("--set", option)),
    ),
}
"""Column of the table -> the arguments of its proxy."""
HEADING = f"{'longest gap in seconds':52}" + "".join(f"{name:>22}" for name in ROWS)
"""The heading of the table."""


class PacedStream:
    """A stream of 50 tokens a second through the proxy at `port`. A thread reads it, and records
    the time of each read.
    """

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._connection.sendall(request_of(Task(port, "openai", "tags", 100_000, 50)))
        self._came: list[float] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read the stream until it is closed, and record the time of each read."""
        with suppress(ConnectionError):  # when `close` shuts the socket, mitmproxy resets it
            while self._connection.recv(1 << 16):
                self._came.append(time.monotonic())

    def wait(self) -> None:
        """Wait for the first ten reads, so that the stream runs evenly; or for the stream's end."""
        while len(self._came) < 10 and self._reader.is_alive():
            time.sleep(0.01)

    def longest_gap(self, begin: float, end: float) -> float:
        """Return the longest time without a read between `begin` and `end`, in seconds.

        Both are times of time.monotonic().
        """
        came = [begin, *(at for at in self._came if begin <= at <= end), end]
        return max(after - before for before, after in itertools.pairwise(came))

    def close(self) -> None:
        """Close the connection and wait for the thread that reads it."""
        self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(5)
        self._connection.close()


class Bench:
    """The processes of the bench: a proxy for each row of `ROWS`, and two servers for all of them.

    One server (`server.py`) sends the stream. The other process (`gap_server.py`) is both client
    and server of the huge exchanges. Each proxy has a port for each of the two.
    """

    def __init__(self, stack: ExitStack, source: Path, rows: Sequence[str]) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gaps")))
        ours, theirs = cores()
        addon = copy_addon(source, folder / "source")
        servers = [_command("server"), _command("gap_server")]
        started = [
            stack.enter_context(PinnedProcess(command, ours, folder / f"log{at}"))
            for at, command in enumerate(servers)
        ]
        self._other = started[1]
        targets = [int(server.read_line(SECONDS).split()[1]) for server in started]
        self._ports: dict[str, list[int]] = {}
        ports = free_ports()
        for row in rows:
            own = folder / row
            own.mkdir()
            self._ports[row] = [next(ports), next(ports)]
            command = _mitmdump(ROWS[row], own, addon, targets, self._ports[row])
            proxy = stack.enter_context(PinnedProcess(command, theirs, own / "log", cwd=addon))
            stack.callback(proxy.stop, SECONDS_TO_RECORD)
            for port in self._ports[row]:
                wait_for_port(port, proxy, SECONDS)

    def prepare(self, case: Case) -> None:
        """Let `gap_server.py` build the bytes of a case, so that this takes no measured time."""
        self._other.ask({"case": case.name, "port": 0}, SECONDS)

    def measure_gap(self, row: str, case: Case) -> tuple[float, dict[str, object]]:
        """Run a case through the proxy of a row, while a stream runs through the same proxy.

        Returns the stream's longest gap in seconds, and what `gap_server.send_request` returned for
        the case's exchange.
        """
        paced, other = self._ports[row]
        with _running_stream(paced) as stream:
            begin = time.monotonic()
            time.sleep(MEASURED_AROUND)
            ended = self._other.ask({"case": case.name, "port": other}, SECONDS)
            time.sleep(MEASURED_AROUND)
            return stream.longest_gap(begin, time.monotonic()), ended


@contextmanager
def _running_stream(port: int) -> Iterator[PacedStream]:
    """Begin a stream through the proxy at `port`; the end of the `with` block closes it."""
    stream = PacedStream(port)
    try:
        stream.wait()
        yield stream
    finally:
        stream.close()


def _command(name: str) -> list[str]:
    """Return the program and arguments that run a module of the bench, such as `server`."""
    return [sys.executable, "-m", f"tools.bench.{name}"]


def _mitmdump(
    arguments: Sequence[str], own: Path, addon: Path, targets: Sequence[int], ports: Sequence[int]
) -> list[str]:
    """Return the command of a mitmdump that listens on `ports`, and has a server behind each.

    `targets`: for each of `ports` the server's port; `arguments`: a value of `ROWS`; `own`: the
    folder of the proxy's files; `addon`: the folder of the addon's sources.
    """
    replacements = ((FOLDER, str(own)), (SOURCE, str(addon)))
    for name, folder in replacements:
        arguments = [argument.replace(name, folder) for argument in arguments]
    modes = [
        part
        for target, port in zip(targets, ports, strict=True)
        for part in ("--mode", f"reverse:http://127.0.0.1:{target}@127.0.0.1:{port}")
    ]
    program = str(Path(sys.executable).with_name("mitmdump"))
    return [program, "--set", f"confdir={own}", *QUIET, *modes, *arguments]


def _cell(gaps: Sequence[float]) -> str:
    """Return a cell of the table: median and range of the gaps in seconds; `-` for no gaps."""
    if not gaps:
        return f"{'-':>22}"
    median = statistics.median(gaps)
    return f"{f'{median:.3f} ({min(gaps):.3f}-{max(gaps):.3f})':>22}"


def table_line(case: Case, gaps: dict[str, list[float]]) -> str:
    """Return the line of a case in the table. `gaps`: key of `ROWS` -> one gap a repetition."""
    late = any(
        statistics.median(taken) > max(AIM, statistics.median(gaps.get("bare") or [0]))
        for row, taken in gaps.items()
        if row != "bare" and taken
    )
    cells = "".join(_cell(gaps.get(row, [])) for row in ROWS)
    return f"{case.name:52}{cells}{'  LATE' if late else ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each case; return 1 if an exchange of the other client got no response."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""], help="cases whose name holds one")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS)
    parser.add_argument("--source", type=Path, default=PROJECT, help="another checkout's folder")
    parser.add_argument("--verbose", action="store_true", help="say how each exchange ended")
    chosen = parser.parse_args(arguments)
    faults = 0
    with ExitStack() as stack:
        bench = Bench(stack, chosen.source, chosen.rows)
        print(HEADING, flush=True)
        for case in [case for case in CASES if any(word in case.name for word in chosen.only)]:
            bench.prepare(case)
            gaps: dict[str, list[float]] = {row: [] for row in chosen.rows}
            for _ in range(chosen.repetitions):
                for row, taken in gaps.items():
                    gap, ended = bench.measure_gap(row, case)
                    taken.append(gap)
                    faults += not ended["status"]
                    if chosen.verbose:
                        print(f"  {row}: {gap:.3f} {json.dumps(ended)}", flush=True)
            print(table_line(case, gaps), flush=True)
    print(f"aim: below {AIM} s; load of the machine: {os.getloadavg()[0]:.1f}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
