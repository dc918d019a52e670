"""The loads: a row for each number and kind of requests that a client sends through a contender;
and what is measured under each.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

from tools.bench.client import Outcome, Task
from tools.bench.contenders import Contender
from tools.bench.processes import PinnedProcess
from tools.bench.replies import WHOLE

MICRO, MILLI = 1e6, 1e3


@dataclass(frozen=True)
class Load:
    """A number of equal requests, and the size of their replies."""

    name: str
    """The name in the tables. Its first word decides what is measured."""
    tokens: int
    """The number of tokens of each reply; the server sends each token as a chunk."""
    total: int
    """The number of requests."""
    at_a_time: int = 1
    """How many requests run at the same time."""
    pace: int = 0
    """How many tokens the server sends in a second; 0 for all at once."""
    kind: str = ""
    """The kind of the replies; empty for each contender's own kind."""
    keep_alive: bool = False
    """True if the next request goes over the connection of the one before."""

    def quick(self) -> "Load":
        """Return the load made small, for tests of the bench itself."""
        at_a_time = min(self.at_a_time, 3)
        pace, total = 10 * self.pace, min(self.total, at_a_time + 1)
        return replace(
            self, tokens=min(self.tokens, 40), at_a_time=at_a_time, total=total, pace=pace
        )

    def task(self, row: Contender, port: int) -> Task:
        """Return this load as a task of the bench client, for the contender `row`.

        `port`: of the contender's proxy. Dialect, model and tools are the contender's.
        """
        kind = self.kind or row.kind
        return Task(
            port,
            row.dialect,
            kind,
            self.tokens,
            self.pace,
            self.total,
            self.at_a_time,
            self.keep_alive,
            row.apart,
            row.model,
            row.tools,
        )


LOADS = (
    Load("burst, 1 stream", 2000, 4),
    Load("burst, 8 streams", 1000, 8, 8),
    Load("burst, 32 streams", 1000, 32, 32),
    Load("burst, 64 streams", 500, 64, 64),
    Load("paced, 32 x 50 tokens/s", 150, 32, 32, pace=50),
    Load("paced, 160 x 50 tokens/s", 150, 160, 160, pace=50),
    Load("whole reply, small", 40, 150, kind=WHOLE, keep_alive=True),
    Load("first byte, new connection", 10, 100),
    Load("length, 1,000 chunks", 1_000, 10),
    Load("length, 10,000 chunks", 10_000, 1),
    Load("length, 100,000 chunks", 100_000, 1),
)
"""All loads but `MEMORY`."""
MEMORY = Load("memory, 400 streams of 1,000 chunks", 1000, 400, 8)
"""The load before and behind which the memory of each proxy is read."""

type Measure = Callable[[Load, Outcome, float], float]
"""A function of a load, its outcome and the proxy's processor seconds; it returns one figure."""
MEASURES: dict[str, tuple[str, Measure]] = {
    "CPU a chunk": ("µs", lambda load, _, worked: MICRO * worked / (load.total * load.tokens)),
    "chunks/s": ("/s", lambda load, outcome, _: load.total * load.tokens / outcome.wall),
    "late p50": ("ms", lambda _load, outcome, _: MILLI * (outcome.lateness or (0, 0))[0]),
    "late p99": ("ms", lambda _load, outcome, _: MILLI * (outcome.lateness or (0, 0))[1]),
    "CPU a reply": ("µs", lambda load, _, worked: MICRO * worked / load.total),
    "reply p50": ("ms", lambda _load, outcome, _: MILLI * statistics.median(outcome.whole)),
    "first p50": ("ms", lambda _load, outcome, _: MILLI * statistics.median(outcome.first)),
}
"""Name of a measure -> its unit, and the function that gives its value."""
_MEASURES_OF = {
    "burst": ("CPU a chunk", "chunks/s"),
    "paced": ("CPU a chunk", "late p50", "late p99"),
    "whole": ("CPU a reply", "reply p50"),
    "first": ("CPU a reply", "first p50"),
    "length": ("CPU a chunk",),
}
"""First word of a load's name -> the names of its measures."""


def measures(load: Load) -> tuple[str, ...]:
    """Return the names of what is measured under a load; they depend on its name's first word."""
    return _MEASURES_OF[load.name.replace(",", " ").split()[0]]


def values(load: Load, outcome: Outcome, worked: float) -> dict[str, float]:
    """Return the values of one run: name of the measure -> value.

    `worked`: the processor seconds of the proxy in this run.
    """
    return {name: MEASURES[name][1](load, outcome, worked) for name in measures(load)}


class Measurer:
    """Runs tasks in the client process, and measures the processor time of their proxies.

    `checked` counts all replies; `faults` has the fault of each wrong one.
    """

    def __init__(self, client: PinnedProcess, seconds: float = 300) -> None:
        """`client`: a process of `client.py`; `seconds`: limit of one task."""
        self._client, self._seconds = client, seconds
        self.checked = 0
        self.faults: list[str] = []

    def run(self, task: Task, row: str, process: PinnedProcess | None) -> tuple[Outcome, float]:
        """Run a task; return its outcome and the processor seconds of the proxy meanwhile.

        `row`: a name that is written before each fault; `process`: of the proxy, or None.
        """
        before = process.processor_time if process else 0.0
        outcome = Outcome(**self._client.ask(vars(task), self._seconds))
        worked = (process.processor_time if process else 0.0) - before
        self.checked += task.total
        self.faults += [f"{row}: {fault}" for fault in outcome.faults]
        return outcome, worked
