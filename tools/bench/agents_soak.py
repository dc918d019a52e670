"""Sixteen agents for some minutes, and a stream beside them: `make bench BENCH='agents --minutes 8'`.

Each agent asks Messages requests of 700 kB, turn upon turn, and begins another conversation after
twenty. Meanwhile a client reads a stream of 50 tokens a second. A line each minute: requests that
were answered, the proxy's memory, and the longest time between two reads of the stream. The exit
status tells whether all replies were exact.

`python -m tools.bench.agents_soak PORT SECONDS` is the agents alone: a process of its own, or they
would hold up the stream's reader.
"""

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tools.bench.agents import Agent
from tools.bench.client import Task, faults
from tools.bench.gaps import Paced
from tools.bench.processes import PROJECT, Started, cores
from tools.bench.replies import WHOLE
from tools.bench.turns import posted, said, sides

AGENTS, TURNS, SIZE = 16, 20, 700_000
_TASK = Task(0, "anthropic", WHOLE, 40)
_SLACK = 120


class Agents:
    """Agents that ask one proxy until the time is over."""

    def __init__(self, port: int, seconds: float) -> None:
        self._port, self._end = port, time.monotonic() + seconds
        self._lock = threading.Lock()
        self.answered = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        """Have them ask."""
        threads = [threading.Thread(target=self._ask, args=(at,)) for at in range(AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, number: int) -> None:
        while time.monotonic() < self._end:
            agent = Agent(number, f"{WHOLE}.40.0")
            first = agent.turns_of(SIZE)
            for turns in range(first, first + TURNS):
                if time.monotonic() > self._end:
                    return
                reply = said(self._port, posted(agent.messages(turns), "anthropic", True))
                with self._lock:
                    self.answered += 1
                    self.wrong += faults(_TASK, [reply])
            number += AGENTS


def main(words: Sequence[str] = ()) -> int:
    """Print a line each minute; return 1 when a reply was not exact."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench agents", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--source", type=Path, default=PROJECT, help="another checkout's folder")
    chosen = parser.parse_args(words)
    seconds = 60 * chosen.minutes
    with sides(chosen.source) as (_, ours):
        command = [sys.executable, "-m", "tools.bench.agents_soak", str(ours.port), str(seconds)]
        log = Path(ours.process.log).with_name("agents")
        stream = Paced(ours.port)
        stream.wait()
        with Started(command, cores()[0], log) as agents:
            print("minute   MB   longest gap, s", flush=True)
            begun = time.monotonic()
            for minute in range(1, max(1, round(chosen.minutes)) + 1):
                since = time.monotonic()
                time.sleep(max(0.0, begun + minute * min(60, seconds) - since))
                gap = stream.longest_gap(since, time.monotonic())
                print(f"{minute:6} {ours.process.memory:5.1f} {gap:10.3f}", flush=True)
            answered, *wrong = agents.line(_SLACK).strip().split("\t")
        stream.close()
    print(f"{answered} requests were answered, {len(wrong)} replies were wrong", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    asking = Agents(int(sys.argv[1]), float(sys.argv[2]))
    asking.run()
    print(asking.answered, *asking.wrong[:5], sep="\t")
