"""Show how the addon's processor time is spread over its functions.

    python -m tools.bench.profile [--row WORDS] [--load WORDS] [--seconds N]

One row runs one load again and again while py-spy samples the proxy. *own*: the share of samples in
which a function itself ran; *with calls*: the share in which the function was anywhere in the
stack.
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
from tools.bench.processes import Started

ROWS_SHOWN = 45
WAITING = ";_worker ("
"""A frame of a pool's idle thread, which py-spy counts as running."""


class Profile:
    """Samples of a process, by function."""

    def __init__(self, folded: str) -> None:
        self.own: Counter[str] = Counter()
        self.within: Counter[str] = Counter()
        self.total = 0
        for line in folded.splitlines():
            stack, _, count = line.rpartition(" ")
            if WAITING not in stack:
                self._add(stack.split(";"), int(count))

    def _add(self, stack: list[str], count: int) -> None:
        functions = [_function(frame) for frame in stack]
        self.total += count
        self.own[functions[-1]] += count
        for function in set(functions):
            self.within[function] += count

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table, the costliest function first."""
        yield f"{'own':>7}{'with calls':>12}  function"
        for function, count in self.own.most_common(ROWS_SHOWN):
            yield f"{self._part(count)}{self._part(self.within[function], 12)}  {function}"
        yield f"{'':7}{'with calls':>12}  the same, by all that they call"
        for function, count in self.within.most_common(2 * ROWS_SHOWN):
            yield f"{'':7}{self._part(count, 12)}  {function}"

    def _part(self, count: int, width: int = 7) -> str:
        return f"{100 * count / max(1, self.total):{width - 1}.1f}%"


def _function(frame: str) -> str:
    """Return `name (folder/file.py:12)` without the line, and with two parts of the path."""
    name, _, path = frame.partition(" (")
    return f"{name} ({'/'.join(path.rpartition(':')[0].split('/')[-2:])})"


def record(process: Started, seconds: int, folder: Path) -> Profile:
    """Sample a process for so many seconds; return the profile."""
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
    """Run a load, sample the proxy, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", default="addon, OpenAI client, tags")
    parser.add_argument("--load", default="burst, 32")
    parser.add_argument("--seconds", type=int, default=8)
    chosen = parser.parse_args(arguments)
    run = Run(parse_run(["--only", chosen.row, "--loads", chosen.load]))
    with tempfile.TemporaryDirectory() as folder, run.started():
        row, load = (run.others or [run.bare])[0], run.loads[0]
        profiles = list[Profile]()
        process = run.proxies.of(row)[1]
        assert process, "nothing stands between client and server"
        spying = threading.Thread(
            target=lambda: profiles.append(record(process, chosen.seconds, Path(folder)))
        )
        spying.start()
        while spying.is_alive():
            run.once(load, row)
        spying.join()
    print(f"{row.name}; {load.name}", *profiles[0].lines(), sep="\n")


if __name__ == "__main__":
    main()
