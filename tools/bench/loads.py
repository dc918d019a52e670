"""List the loads of the benchmark, such as 32 streams at once (`LOADS`, `MEMORY`), and the figures
that are measured under each (`MEASURES`). `Measurer` has `client.py` run a load's requests.
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
    """The name in the tables. Its first word (`burst`) decides which figures are measured."""
    tokens: int
    """The number of tokens of each reply; the server sends each token as a chunk."""
    total: int
    """The number of requests."""
    at_a_time: int = 1
    """How many requests run at the same time."""
    pace: int = 0
    """How many tokens the server sends in a second; 0 for all at once."""
    kind: str = ""
    """The kind of the replies: a key of `KINDS` in replies.py, or `whole`. Empty: each contender's
    own kind.
    """
    keep_alive: bool = False
    """True if a request goes over the connection of the one before; False: each on a new one."""

    def quick(self) -> "Load":
        """Return this load with few requests, short replies and ten times the pace, for tests of
        the bench itself.
        """
        at_a_time = min(self.at_a_time, 3)
        pace, total = 10 * self.pace, min(self.total, at_a_time + 1)
        return replace(
            self, tokens=min(self.tokens, 40), at_a_time=at_a_time, total=total, pace=pace
        )

    def task(self, row: Contender, port: int) -> Task:
        """Return the task by which the bench client sends this load through the contender `row`.

        Dialect, model and tools are the contender's. `port`: its proxy's, or the server's if
        it has no proxy.
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
"""The loads whose times are measured: all but `MEMORY`."""
MEMORY = Load("memory, 400 streams of 1,000 chunks", 1000, 400, 8)
"""The load that shows how a proxy's memory grows: it is read before this load and after it."""

type Measure = Callable[[Load, Outcome, float], float]
"""Takes a load, its outcome and the processor seconds that the proxy used; returns one figure."""
MEASURES: dict[str, tuple[str, Measure]] = {
    "CPU a chunk": ("µs", lambda load, _, worked: MICRO * worked / (load.total * load.tokens)),
    "chunks/s": ("/s", lambda load, outcome, _: load.total * load.tokens / outcome.wall),
    "late p50": ("ms", lambda _load, outcome, _: MILLI * (outcome.lateness or (0, 0))[0]),
    "late p99": ("ms", lambda _load, outcome, _: MILLI * (outcome.lateness or (0, 0))[1]),
    "CPU a reply": ("µs", lambda load, _, worked: MICRO * worked / load.total),
    "reply p50": ("ms", lambda _load, outcome, _: MILLI * statistics.median(outcome.whole)),
    "first p50": ("ms", lambda _load, outcome, _: MILLI * statistics.median(outcome.first)),
}
"""Name of a measure -> its unit, and the function that computes its figure in this unit."""
_MEASURES_OF = {
    "burst": ("CPU a chunk", "chunks/s"),
    "paced": ("CPU a chunk", "late p50", "late p99"),
    "whole": ("CPU a reply", "reply p50"),
    "first": ("CPU a reply", "first p50"),
    "length": ("CPU a chunk",),
}
"""First word of a load's name -> the names of its measures, which are keys of `MEASURES`."""


def measures(load: Load) -> tuple[str, ...]:
    """Return the names of the measures of a load in `LOADS`.

    Raises KeyError for `MEMORY`, which has none.
    """
    return _MEASURES_OF[load.name.replace(",", " ").split()[0]]


def values(load: Load, outcome: Outcome, worked: float) -> dict[str, float]:
    """Return the figures of one run of a load: name of a measure -> its value.

    `worked`: the processor seconds of the proxy in this run.
    """
    return {name: MEASURES[name][1](load, outcome, worked) for name in measures(load)}


class Measurer:
    """Runs tasks in the client process, and measures the processor time of their proxies.

    `checked` counts the replies of all tasks; `faults` has the fault of each wrong reply.
    """

    def __init__(self, client: PinnedProcess, seconds: float = 300) -> None:
        """`client`: the process that runs `client.py`; `seconds`: how long a task may take."""
        self._client, self._seconds = client, seconds
        self.checked = 0
        self.faults: list[str] = []

    def run(self, task: Task, row: str, process: PinnedProcess | None) -> tuple[Outcome, float]:
        """Run a task; return its outcome, and the processor seconds that the proxy used meanwhile.

        `row`: a name that is written before each fault; `process`: the proxy's. Without a proxy it
        is None, and the seconds are 0.0.
        """
        before = process.processor_time if process else 0.0
        outcome = Outcome(**self._client.ask(vars(task), self._seconds))
        worked = (process.processor_time if process else 0.0) - before
        self.checked += task.total
        self.faults += [f"{row}: {fault}" for fault in outcome.faults]
        return outcome, worked
