"""Write the report of a run as lines of tables and as JSON, which `__main__` prints and keeps: each
contender's values, and its ratios to the bare mitmdump.

A ratio divides a contender's value by that of the bare mitmdump which was measured directly before
or after it. The tables show median and range of the ratios of all repetitions.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tools.bench.contenders import BARE
from tools.bench.loads import MEASURES, Load, measures

WIDTH = 44
"""The number of characters of the table's first column, which has the names."""
COLUMN = 30
"""The number of characters of each column after the first."""


class Samples:
    """All values of a run. Each load, contender and measure has one value for each repetition.

    With each value goes that of the bare mitmdump measured directly before or after it. The bare
    mitmdump itself has more values, because it runs once for every two contenders. `spoiled`: pairs
    of load and contender with a wrong reply, so that their values mean nothing. In all methods
    `load`, `row` (the contender) and `name` (the measure) are names.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
        self.spoiled: set[tuple[str, str]] = set()

    def add(self, load: str, row: str, values: dict[str, float], bare: dict[str, float]) -> None:
        """Add one repetition: the values of a contender under a load.

        `values`, and `bare` (those of the bare mitmdump measured beside it): name of a measure ->
        its value.
        """
        for name, value in values.items():
            self._taken[load, row, name].append((value, bare[name]))

    def values(self, load: str, row: str, name: str) -> list[float]:
        """Return a contender's values of one measure under a load, one for each repetition; of the
        bare mitmdump more.
        """
        return [value for value, _ in self._taken.get((load, row, name), [])]

    def ratios(self, load: str, row: str, name: str) -> list[float]:
        """Return a contender's values of one measure under a load, each divided by the value of the
        bare mitmdump beside it. A value is left out if that of the bare mitmdump is 0.

        `row`: the contender's name. `name`: the measure's.
        """
        return [value / bare for value, bare in self._taken.get((load, row, name), []) if bare]

    def rows(self, load: str) -> list[str]:
        """Return the names of the contenders that were measured under a load."""
        return list(dict.fromkeys(row for name, row, _ in self._taken if name == load))

    def flatness(self, row: str, short: str, long: str) -> list[float]:
        """Return for each repetition a chunk's processor time in long replies, divided by that in
        short ones: 1 if the cost of a chunk does not grow with the reply.

        `short`, `long`: the names of the loads with such replies.
        """
        name = "CPU a chunk"
        pairs = zip(self.values(short, row, name), self.values(long, row, name), strict=False)
        return [more / less for less, more in pairs if less]


def _median_and_range(values: list[float]) -> str:
    """Return median, smallest and largest value as text; `-` if there are none."""
    return (
        f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})" if values else "-"
    )


def _median_with_unit(name: str, values: list[float]) -> str:
    """Return median and range of values of the measure `name`, with its unit: `12.3 ms (11-14)`."""
    return f"{_format_number(statistics.median(values))} {MEASURES[name][0]} ({_format_number(min(values))}-{_format_number(max(values))})"


def _format_number(value: float) -> str:
    """Return a number with three digits, from 100 on as an integer: `0.123`, `12.3`, `1,234`."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def load_lines(samples: Samples, load: Load) -> Iterator[str]:
    """Yield the lines of a load's table: the values of the bare mitmdump, and each contender's
    ratios to them.
    """
    names = measures(load)
    yield f"\n{load.name:{WIDTH}}" + "".join(f"{name:>{COLUMN}}" for name in names)
    for row in samples.rows(load.name):
        shown = [samples.ratios(load.name, row, name) for name in names]
        cells = [_median_and_range(ratios) for ratios in shown]
        if row == BARE:
            cells = [
                _median_with_unit(name, samples.values(load.name, row, name)) for name in names
            ]
        if (load.name, row) in samples.spoiled:
            cells = ["WRONG REPLIES"] * len(names)
        yield f"  {row:{WIDTH - 2}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells)


def flat_lines(samples: Samples, loads: list[Load]) -> Iterator[str]:
    """Yield the lines of the table that shows whether a chunk of a long reply costs more.

    For each contender: the cost of a chunk in the longest replies, divided by that in the shortest.
    `loads`: at least two, from the shortest replies to the longest.
    """
    short, *_, long = loads
    yield f"\n{'cost of a chunk by length':{WIDTH}}{f'{long.tokens:,} against {short.tokens:,}':>{COLUMN}}"
    for row in samples.rows(short.name):
        if ratios := samples.flatness(row, short.name, long.name):
            yield f"  {row:{WIDTH - 2}}{_median_and_range(ratios):>{COLUMN}}"


def memory_lines(memory: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the lines of the table of memory: after the load `MEMORY`, and by how much it grew.

    `memory`: name of a contender -> its proxy's megabytes before and after that load.
    """
    yield f"\n{'memory':{WIDTH}}{'resident':>{COLUMN}}{'growth':>{COLUMN}}"
    for row, (before, after) in memory.items():
        yield f"  {row:{WIDTH - 2}}{f'{after:.1f} MB':>{COLUMN}}{f'{after - before:+.1f} MB':>{COLUMN}}"


def fault_lines(faults: list[str]) -> Iterator[str]:
    """Yield each of the 20 most frequent faults once, with its count, the most frequent first."""
    for fault, count in Counter(faults).most_common(20):
        yield f"{count} x {fault}"


def circumstances(source: Path, repetitions: int) -> dict[str, object]:
    """Return what the report says of the run itself, such as date, command, commit and machine.

    `source`: the checkout of the addon, whose commit is read.
    """
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join(["python -m tools.bench", *sys.argv[1:]]),
        "commit": commit.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "mitmproxy": version("mitmproxy"),
        "repetitions": repetitions,
        "load": os.getloadavg()[0],
    }


def _processor() -> str:
    """Return the name of this machine's processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def as_json(
    samples: Samples,
    loads: list[Load],
    memory: dict[str, tuple[float, float]],
    circumstances: dict[str, object],
) -> str:
    """Return the whole report as JSON: all values and ratios, memory, and `circumstances`.

    `memory`: name of a contender -> its proxy's megabytes before and after the load `MEMORY`.
    """
    measured = [
        {
            "load": load.name,
            "row": row,
            "measure": name,
            "wrong": (load.name, row) in samples.spoiled,
            "unit": MEASURES[name][0],
            "values": samples.values(load.name, row, name),
            "ratios": (ratios := samples.ratios(load.name, row, name)),
            "ratio": statistics.median(ratios) if ratios else None,
        }
        for load in loads
        for row in samples.rows(load.name)
        for name in measures(load)
    ]
    held = [
        {"row": row, "before": before, "after": after} for row, (before, after) in memory.items()
    ]
    return json.dumps({**circumstances, "measured": measured, "memory": held}, indent=1)
