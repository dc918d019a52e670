"""Print the longest pause of a stream beside huge or hostile exchanges.

    python -m tools.bench.gaps

One client reads a stream of 50 tokens a second through a proxy. Meanwhile another client has a huge
or hostile exchange. The figure is the longest time between two reads of the first client, in
seconds, as median and range of the repetitions: through bare mitmdump, through the addon, and
through the addon that also records, prints and appends thoughts to files. `LATE` marks a row in
which the addon misses `AIM` and bare mitmdump does not.
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

from tools.bench.client import Task, request
from tools.bench.contenders import ADDON, FOLDER, IDENTITY, SOURCE
from tools.bench.gap_cases import CASES, Case
from tools.bench.processes import PROJECT, Started, cores, free_ports, wait_for_port
from tools.bench.proxies import QUIET, copied

AIM = 0.1
"""Seconds: five tokens of 50 a second."""
SECONDS = 120
"""Limit for the start of a program, and for the end of the other client's exchange."""
SECONDS_TO_RECORD = 600
"""Limit for a proxy to write its recordings; each of the longest exchanges takes some 20."""
SETTLED = 0.3
"""Seconds that are measured before and after the other exchange, whose end makes gaps too."""
ALL = ("think_record={folder}/recordings", "think_events={folder}/thoughts", "think_print=true")
ROWS = {
    "bare": IDENTITY,
    "addon": ADDON,
    "recording": (*ADDON, *(part for option in ALL for part in ("--set", option))),
}
HEADING = f"{'longest gap in seconds':52}" + "".join(f"{name:>22}" for name in ROWS)


class Paced:
    """A stream that a thread reads, with the time of each read."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._connection.sendall(request(Task(port, "openai", "tags", 100_000, 50)))
        self._came: list[float] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(ConnectionError):  # mitmproxy resets a stream that its client leaves
            while self._connection.recv(1 << 16):
                self._came.append(time.monotonic())

    def wait(self) -> None:
        """Wait for the first ten reads."""
        while len(self._came) < 10 and self._reader.is_alive():
            time.sleep(0.01)

    def longest_gap(self, begin: float, end: float) -> float:
        """Return the longest time between two reads from `begin` to `end`, in seconds."""
        came = [begin, *(at for at in self._came if begin <= at <= end), end]
        return max(after - before for before, after in itertools.pairwise(came))

    def close(self) -> None:
        """Close the connection and wait for the reader."""
        self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(5)
        self._connection.close()


class Bench:
    """The processes: two servers, one of them also the other client, and a proxy for each row."""

    def __init__(self, stack: ExitStack, source: Path, rows: Sequence[str]) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gaps")))
        ours, theirs = cores()
        addon = copied(source, folder / "source")
        servers = [_module("server"), _module("gap_server")]
        started = [
            stack.enter_context(Started(command, ours, folder / f"log{at}"))
            for at, command in enumerate(servers)
        ]
        self._other = started[1]
        targets = [int(server.line(SECONDS).split()[1]) for server in started]
        self._ports: dict[str, list[int]] = {}
        ports = free_ports()
        for row in rows:
            own = folder / row
            own.mkdir()
            self._ports[row] = [next(ports), next(ports)]
            command = _mitmdump(ROWS[row], own, addon, targets, self._ports[row])
            proxy = stack.enter_context(Started(command, theirs, own / "log", cwd=addon))
            stack.callback(proxy.stop, SECONDS_TO_RECORD)
            for port in self._ports[row]:
                wait_for_port(port, proxy, SECONDS)

    def prepare(self, case: Case) -> None:
        """Have the other process build the bytes of a case, before anything is measured."""
        self._other.answer({"case": case.name, "port": 0}, SECONDS)

    def gap(self, row: str, case: Case) -> tuple[float, dict[str, object]]:
        """Run a case; return the stream's longest gap meanwhile, and the outcome of the case."""
        paced, other = self._ports[row]
        with _reading(paced) as stream:
            begin = time.monotonic()
            time.sleep(SETTLED)
            ended = self._other.answer({"case": case.name, "port": other}, SECONDS)
            time.sleep(SETTLED)
            return stream.longest_gap(begin, time.monotonic()), ended


@contextmanager
def _reading(port: int) -> Iterator[Paced]:
    stream = Paced(port)
    try:
        stream.wait()
        yield stream
    finally:
        stream.close()


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", f"tools.bench.{name}"]


def _mitmdump(
    arguments: Sequence[str], own: Path, addon: Path, targets: Sequence[int], ports: Sequence[int]
) -> list[str]:
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
    if not gaps:
        return f"{'-':>22}"
    median = statistics.median(gaps)
    return f"{f'{median:.3f} ({min(gaps):.3f}-{max(gaps):.3f})':>22}"


def line(case: Case, gaps: dict[str, list[float]]) -> str:
    """Return the line of a case in the table."""
    late = any(
        statistics.median(taken) > max(AIM, statistics.median(gaps.get("bare") or [0]))
        for row, taken in gaps.items()
        if row != "bare" and taken
    )
    cells = "".join(_cell(gaps.get(row, [])) for row in ROWS)
    return f"{case.name:52}{cells}{'  LATE' if late else ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each case; return 1 if the other client had an exchange without a status."""
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
                    gap, ended = bench.gap(row, case)
                    taken.append(gap)
                    faults += not ended["status"]
                    if chosen.verbose:
                        print(f"  {row}: {gap:.3f} {json.dumps(ended)}", flush=True)
            print(line(case, gaps), flush=True)
    print(f"aim: below {AIM} s; load of the machine: {os.getloadavg()[0]:.1f}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
