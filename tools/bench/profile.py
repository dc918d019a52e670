"""Print in which functions the addon spends its processor time.

    python -m tools.bench.profile [--row WORDS] [--load WORDS] [--seconds N]

One load runs again and again through the proxy of one contender (a row of the bench), while py-spy
samples the proxy's stack. The column *own* is the share of samples in which the function itself
ran. *with calls* is the share in which the function, or one that it had called, ran.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.bench.__main__ import Run
from tools.bench.__main__ import parse as parse_run
from tools.bench.processes import PinnedProcess

ROWS_SHOWN = 45
"""How many functions the first table shows; the second one shows twice as many."""
WAITING = ";_worker ("
"""Text in the stacks of a thread pool's idle threads. py-spy counts such threads as running, so
samples with this text are left out.
"""


class Profile:
    """The samples of a process, counted by function."""

    def __init__(self, folded: str) -> None:
        """`folded`: py-spy's raw output, a line for each stack: `outer;inner COUNT`."""
        self.own: Counter[str] = Counter()
        """Function -> the number of samples in which it ran itself."""
        self.within: Counter[str] = Counter()
        """Function -> the number of samples in which it was anywhere in the stack."""
        self.total = 0
        """The number of all samples, without those of idle threads."""
        for line in folded.splitlines():
            stack, _, count = line.rpartition(" ")
            if WAITING not in stack:
                self._add(stack.split(";"), int(count))

    def _add(self, stack: list[str], count: int) -> None:
        """Add `count` samples, all with this stack. Its outermost frame comes first."""
        functions = [_function(frame) for frame in stack]
        self.total += count
        self.own[functions[-1]] += count
        for function in set(functions):
            self.within[function] += count

    def lines(self) -> Iterator[str]:
        """Yield the lines of two tables of functions, each from the largest share down: first by
        the function's own time, then by its time with all that it calls.
        """
        yield f"{'own':>7}{'with calls':>12}  function"
        for function, count in self.own.most_common(ROWS_SHOWN):
            yield f"{self._percent(count)}{self._percent(self.within[function], 12)}  {function}"
        yield f"{'':7}{'with calls':>12}  the same, by all that they call"
        for function, count in self.within.most_common(2 * ROWS_SHOWN):
            yield f"{'':7}{self._percent(count, 12)}  {function}"

    def _percent(self, count: int, width: int = 7) -> str:
        """Return what share of all samples `count` is, as text of `width` characters: `  12.5%`."""
        return f"{100 * count / max(1, self.total):{width - 1}.1f}%"


def _function(frame: str) -> str:
    """Return a stack frame of py-spy in short: the function, and the end of its file's path.

    `feed (/home/a/converter/core/wire/sse.py:12)` -> `feed (wire/sse.py)`.
    """
    name, _, path = frame.partition(" (")
    return f"{name} ({'/'.join(path.rpartition(':')[0].split('/')[-2:])})"


def record(process: PinnedProcess, seconds: int, folder: Path) -> Profile:
    """Sample a process with py-spy for `seconds`; return the profile.

    `folder`: where py-spy writes its output.
    """
    output = folder / "folded"
    spy = [
        str(Path(sys.executable).with_name("py-spy")),
        "record",
        "--pid",
        str(process.pid),
        "--duration",
        str(seconds),
    ]
    options = ["--rate", "500", "--format", "raw", "--output", str(output)]
    subprocess.run([*spy, *options], check=True, capture_output=True)
    return Profile(output.read_text())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a load through a proxy again and again, sample the proxy meanwhile, print the profile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", default="addon, OpenAI client, tags")
    parser.add_argument("--load", default="burst, 32")
    parser.add_argument("--seconds", type=int, default=8)
    chosen = parser.parse_args(arguments)
    run = Run(parse_run(["--only", chosen.row, "--loads", chosen.load]))
    with tempfile.TemporaryDirectory() as folder, run.running_processes():
        row, load = (run.others or [run.bare])[0], run.loads[0]
        profiles = list[Profile]()
        process = run.proxies.port_and_process(row)[1]
        assert process, "nothing stands between client and server"
        spying = threading.Thread(
            target=lambda: profiles.append(record(process, chosen.seconds, Path(folder)))
        )
        spying.start()
        while spying.is_alive():
            run.measure_once(load, row)
        spying.join()
    print(f"{row.name}; {load.name}", *profiles[0].lines(), sep="\n")


if __name__ == "__main__":
    main()
