"""Send the requests of sixteen agents for some minutes, and watch a stream beside them.

    make bench BENCH='agents --minutes 8'

Two proxies are compared, called *sides*: bare mitmdump, and mitmdump with the addon. Each side has
sixteen agents and a stream of 50 tokens a second. The agents of bare mitmdump send in the first
half of each minute, those of the addon in the second half. An agent sends Messages requests of 700
kB, turn after turn, and begins another conversation after twenty turns. The server speaks chat
completions only, so bare mitmdump gets the same bodies at that API's path.

Each minute a line is printed: each side's memory, and the longest time between two reads of its
stream while its agents sent. At the end: how many requests were answered. The exit status is 1 if
an agent got another reply than the bench's server sends.

`python -m tools.bench.agents_soak NAME PORT BEGIN SECONDS` runs the agents of one side; `BEGIN` is
the run's start by `time.monotonic()`. The bench starts a process for each side, because agents in
its own process would delay the threads that read the streams.
"""

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from tools.bench.agents import Agent
from tools.bench.client import Task, faults
from tools.bench.gaps import PacedStream
from tools.bench.processes import PROJECT, PinnedProcess, cores
from tools.bench.replies import WHOLE
from tools.bench.turns import request_bytes, send, start_sides

AGENTS, TURNS, SIZE = 16, 20, 700_000
SIDES = ("bare", "addon")
"""The names of the two proxies, bare mitmdump first."""
HEADING = "minute" + "".join(f"{name:>10}, MB{'longest gap, s':>18}" for name in SIDES)
"""The heading of the table: for each side its memory and its stream's longest gap."""
_SECONDS_TO_END = 120
"""How long the agents may take to end after the last minute."""
_SECONDS_TO_SETTLE = 2.0
"""Seconds at the beginning of each half minute that are not measured, because requests of the other
side may still be running then.
"""
_SECONDS_BETWEEN_TRIES = 0.05
"""The time after which a waiting agent looks again whether its side's half minute has begun."""


class Agents:
    """The agents of one side, a thread each. They send only in the half minutes of their side.

    `answered` counts their replies; `wrong` has the fault of each wrong reply.
    """

    def __init__(self, name: str, port: int, begin: float, seconds: float) -> None:
        """`name`: the side's, one of `SIDES`; `port`: its proxy's; `begin`: the run's start by
        `time.monotonic()`; `seconds`: the length of the run.
        """
        self._with_addon = name == SIDES[1]
        dialect = "anthropic" if self._with_addon else "openai"
        self._task = Task(0, dialect, WHOLE, 40, apart=self._with_addon)
        self._port, self._begin, self._end = port, begin, begin + seconds
        self._half = half_length(seconds)
        self._lock = threading.Lock()
        self.answered = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        """Send requests until the run's seconds are over."""
        threads = [threading.Thread(target=self._ask, args=(at,)) for at in range(AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, number: int) -> None:
        """Send the turns of a conversation, then those of a new one, until the run ends.

        `number`: the number of the agent in the first conversation. Each next conversation has a
        number that is 16 higher, so that no two of the sixteen threads use the same one.
        """
        while time.monotonic() < self._end:
            agent = Agent(number, f"{WHOLE}.40.0")
            first = agent.turns_for_size(SIZE)
            for turns in range(first, first + TURNS):
                while not self._may_send():
                    if time.monotonic() > self._end:
                        return
                    time.sleep(_SECONDS_BETWEEN_TRIES)
                reply = send(
                    self._port,
                    request_bytes(agent.messages_body(turns), "anthropic", self._with_addon),
                )
                with self._lock:
                    self.answered += 1
                    self.wrong += faults(self._task, [reply])
            number += AGENTS

    def _may_send(self) -> bool:
        """Return True during the half minutes of this side; False in the others, and at the end."""
        now = time.monotonic()
        return now < self._end and int((now - self._begin) / self._half) % 2 == self._with_addon


def half_length(seconds: float) -> float:
    """Return for how many seconds one side sends before the other side takes over.

    That is 30, or half of the run if the whole run (`seconds`) is shorter than a minute.
    """
    return min(60.0, seconds) / 2


def main(arguments: Sequence[str] = ()) -> int:
    """Run both sides and print a line each minute; return 1 if a reply was not exact."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench agents", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--source", type=Path, default=PROJECT, help="another checkout's folder")
    chosen = parser.parse_args(arguments)
    seconds, half = 60 * chosen.minutes, half_length(60 * chosen.minutes)
    answered, wrong = list[str](), list[str]()
    with start_sides(chosen.source) as both, ExitStack() as stack:
        streams = [stack.enter_context(closing(PacedStream(side.port))) for side in both]
        for stream in streams:
            stream.wait()
        print(HEADING, flush=True)
        begun = time.monotonic()
        asking = list[PinnedProcess]()
        for name, side in zip(SIDES, both, strict=True):
            own = map(str, (name, side.port, begun, seconds))
            command = [sys.executable, "-m", "tools.bench.agents_soak", *own]
            log = Path(side.process.log).with_name("agents")
            asking.append(stack.enter_context(PinnedProcess(command, cores()[0], log)))
        for minute in range(1, max(1, round(chosen.minutes)) + 1):
            line = f"{minute:6}"
            for at, (side, stream) in enumerate(zip(both, streams, strict=True)):
                end = begun + (2 * (minute - 1) + at + 1) * half
                time.sleep(max(0.0, end - time.monotonic()))
                gap = stream.longest_gap(end - half + min(_SECONDS_TO_SETTLE, half / 2), end)
                line += f"{side.process.memory:14.1f}{gap:18.3f}"
            print(line, flush=True)
        for agents in asking:
            count, *faulty = agents.read_line(_SECONDS_TO_END).strip().split("\t")
            answered.append(count)
            wrong += faulty
    counts = ", ".join(map(" ".join, zip(answered, SIDES, strict=True)))
    print(f"requests answered: {counts}", f"{len(wrong)} replies were wrong", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    alone = Agents(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
    alone.run()
    print(alone.answered, *alone.wrong[:5], sep="\t")
