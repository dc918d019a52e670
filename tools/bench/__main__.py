"""Measure the addon, print its ratios to a bare mitmdump, write all figures to a JSON file; or run
another bench.

    make bench
    python -m tools.bench [--repetitions N] [--only WORD ...] [--loads WORD ...] [--peers] [--quick]

The command runs another bench, with another report, if its first argument is one of these names
(`make bench BENCH=gaps`):

    gaps      pauses of a stream while another client has a huge or hostile exchange (`gaps.py`)
    lengths   whether the cost of hostile input grows faster than its length (`lengths.py`)
    earlier   the cost of looking for earlier thoughts that are not stored (`earlier.py`)
    memory    the cost of storing replies; two machines that share a memory (`memory.py`)
    turns     the cost of a turn of an agent, and of small replies (`turns.py`)
    agents    sixteen agents for some minutes, and a stream beside them (`agents_soak.py`)
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import batched
from pathlib import Path

from tools.bench import agents_soak, earlier, gaps, lengths, memory, peers, report, turns
from tools.bench.contenders import BARE, Contender, rows
from tools.bench.loads import LOADS, MEMORY, Load, Measurer, values
from tools.bench.processes import PROJECT, PinnedProcess, cores, free_ports, wait_for_port
from tools.bench.proxies import Proxies

SECONDS_TO_START = 120
"""Limit for the start of the bench's server and of each proxy."""
OUTPUT = PROJECT / "build" / "bench.json"
"""The file of figures, unless the option `--json` names another."""
OTHER_BENCHES: dict[str, Callable[[Sequence[str]], int]] = {
    "gaps": gaps.main,
    "lengths": lengths.main,
    "earlier": earlier.main,
    "memory": memory.main,
    "turns": turns.main,
    "agents": agents_soak.main,
}
"""First argument of the command -> the `main` of that bench, which returns the exit status."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="rows whose name holds one of these; the bare proxy always runs",
    )
    parser.add_argument(
        "--loads",
        nargs="*",
        default=[],
        help="loads whose name holds one of these: burst, paced, memory ...",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="other people's proxies as well; installs them into .cache/",
    )
    parser.add_argument(
        "--quick", action="store_true", help="everything in small, once: proves that the tool works"
    )
    parser.add_argument("--json", type=Path, default=OUTPUT, help="where the figures go")
    parser.add_argument(
        "--source", type=Path, default=PROJECT, help="where the addon is: another checkout's folder"
    )
    return parser.parse_args(arguments)


def _is_chosen(name: str, chosen_names: Sequence[str]) -> bool:
    """Return True if `name` contains one of `chosen_names`, or if `chosen_names` is empty.

    `chosen_names`: the words of an option such as `--only`. Upper and lower case are equal.
    """
    return not chosen_names or any(word.lower() in name.lower() for word in chosen_names)


class Run:
    """One run of the bench: the chosen loads and contenders, and all that was measured.

    `others`: the chosen contenders, without the bare mitmdump, which always runs. `memory`: name of
    a contender -> its proxy's megabytes before and after the load `MEMORY`.
    """

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._repetitions = 1 if chosen.quick else chosen.repetitions
        taken = [
            load.quick() if chosen.quick else load
            for load in (*LOADS, MEMORY)
            if _is_chosen(load.name, chosen.loads)
        ]
        self.loads = [load for load in taken if load.name != MEMORY.name]
        self._memory = [load for load in taken if load.name == MEMORY.name]
        self.bare, *others = [*rows(), *peers.rows(chosen.peers)]
        self.others = [row for row in others if _is_chosen(row.name, chosen.only)]
        self._source = chosen.source
        self.samples = report.Samples()
        self.memory: dict[str, tuple[float, float]] = {}

    @contextmanager
    def running_processes(self) -> Iterator[None]:
        """Start server, client and proxies; the end of the `with` block stops them.

        Some requests go through each proxy first, so that no load meets a cold proxy.
        """
        ours, theirs = cores()
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench")))
            server = stack.enter_context(PinnedProcess(_command("server"), ours, folder / "server"))
            client = stack.enter_context(PinnedProcess(_command("client"), ours, folder / "client"))
            port = int(server.read_line(SECONDS_TO_START).split()[1])
            self.proxies = Proxies(port, self._source, folder, theirs, free_ports())
            stack.callback(self.proxies.stop)
            contenders = (self.bare, *self.others)
            for arguments in [row.arguments for row in contenders if row.arguments is not None]:
                self.proxies.start(arguments)
            for port, process in self.proxies.all():
                wait_for_port(port, process, SECONDS_TO_START)
            self.measurer = Measurer(client)
            for row in contenders:
                self.measure_once(Load("warm", 40, 4, 2), row)
            yield

    def measure(self) -> None:
        """Measure all contenders under all loads: `--repetitions` times, or once with `--quick`."""
        with self.running_processes():
            for load in self._memory:
                self._measure_memory(load)
            for repetition in range(self._repetitions):
                for load in self.loads:
                    self._compare(load, turned=bool(repetition % 2))

    def measure_once(self, load: Load, row: Contender) -> dict[str, float]:
        """Run a load through the proxy of a contender; return name of a measure -> its value.

        The dict is empty if the load is not one of `loads`: one that warms a proxy up, or `MEMORY`.
        """
        port, process = self.proxies.port_and_process(row)
        outcome, worked = self.measurer.run(
            load.task(row, port), f"{row.name}, {load.name}", process
        )
        if outcome.faults:
            self.samples.spoiled.add((load.name, row.name))
        return values(load, outcome, worked) if load in self.loads else {}

    def _compare(self, load: Load, turned: bool) -> None:
        """Measure the contenders under a load, and add the values to `samples`.

        Each run of the bare mitmdump has one contender directly before it and, if one is left, one
        after it. Both are compared with this run. `turned`: True to begin with the last contender.
        """
        taking = [row for row in self.others if row.takes(load.name)]
        for pair in batched(reversed(taking) if turned else taking, 2):
            order = [pair[0], self.bare, *pair[1:]]
            taken = {row.name: self.measure_once(load, row) for row in order}
            for name, measured in taken.items():
                self.samples.add(load.name, name, measured, taken[BARE])
            print(".", end="", file=sys.stderr, flush=True)

    def _measure_memory(self, load: Load) -> None:
        """Run a load through each proxy; put the megabytes before and after it into `memory`."""
        for row in (self.bare, *self.others):
            _, process = self.proxies.port_and_process(row)
            if process is None or not row.takes(load.name):
                continue
            self.measure_once(Load("warm", load.tokens, 16, 8), row)
            before = process.memory
            self.measure_once(load, row)
            self.memory[row.name] = before, process.memory


def _command(name: str) -> list[str]:
    """Return the program and arguments that run a module of the bench, such as `server`."""
    return [sys.executable, "-m", f"tools.bench.{name}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen bench and return its exit status. The main bench prints its report, writes the
    figures, and returns 1 if a reply was wrong, else 0.
    """
    chosen_names = list(sys.argv[1:] if arguments is None else arguments)
    if chosen_names and chosen_names[0] in OTHER_BENCHES:
        return OTHER_BENCHES[chosen_names[0]](chosen_names[1:])
    chosen = parse(chosen_names)
    run = Run(chosen)
    circumstances = report.circumstances(chosen.source, run._repetitions)
    run.measure()
    print(file=sys.stderr)
    for load in run.loads:
        print(*report.load_lines(run.samples, load), sep="\n")
    long = [load for load in run.loads if load.name.startswith("length")]
    if long:
        print(*report.flat_lines(run.samples, long), sep="\n")
    if run.memory:
        print(*report.memory_lines(run.memory), sep="\n")
    print("", *(f"{name}: {value}" for name, value in circumstances.items()), sep="\n")
    print(
        f"{run.measurer.checked:,} replies checked, {len(run.measurer.faults)} of them wrong",
        *report.fault_lines(run.measurer.faults),
        sep="\n",
    )
    chosen.json.parent.mkdir(exist_ok=True)
    chosen.json.write_text(report.as_json(run.samples, run.loads, run.memory, circumstances))
    return 1 if run.measurer.faults else 0


if __name__ == "__main__":
    sys.exit(main())
