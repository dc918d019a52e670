"""Print the cost of a turn beside bare mitmdump.

    python -m tools.bench turns [--quick] [--only WORD ...]

Measured are the requests of agents, first turns and next ones, of one agent and of 16 at a time;
small whole replies and first bytes in four dialects; the memory of each process after 400 streams,
and after 50 conversations of 100 turns. Bare mitmdump and the addon get their requests in
alternation, in one run. The figures are medians of the proxy's processor time for a reply, and of
the time to the first byte, as the ratio and the difference to bare. The exit status is 0 if all
replies were exact.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tools.bench.agents import WRITERS, Agent
from tools.bench.client import HEADERS, PATHS, Reply, Task, faults, request
from tools.bench.contenders import ADDON, IDENTITY
from tools.bench.processes import PROJECT, Started, cores, free_ports, wait_for_port
from tools.bench.proxies import Proxies
from tools.bench.replies import WHOLE

HEADING = f"{'':44}{'processor time, ms':>30}{'first byte p50, ms':>32}"
COLUMNS = f"{'':44}" + f"{'bare':>8}{'addon':>8}{'ratio':>7}{'more':>7}  " * 2
SIZES = {"100 kB": 100_000, "250 kB": 250_000, "700 kB": 700_000, "2 MB": 2_000_000}
AGENTS = 16
_NAMES = {"openai": "chat", "anthropic": "Messages", "responses": "Responses", "ollama": "Ollama"}
_RARER = ("responses", "ollama")
"""Dialects whose turns are measured at one size."""
_MODEL = f"{WHOLE}.40.0"
_THINKS = f"Qwen3-8B/{_MODEL}"
"""A model whose template reads earlier thoughts, so that the addon looks them up."""
_MILLI = 1e3
_SECONDS_TO_START = 120
_SETTLES = 0.01
"""Seconds that the proxy gets after a reply to finish its work on the exchange."""


@dataclass
class Side:
    """One of the two proxies. `wrong`: the faults of its replies."""

    port: int
    process: Started
    wrong: list[str] = field(default_factory=list)

    def ask(self, tasks: Sequence[Task], bodies: Sequence[bytes], apart: bool) -> "Took":
        """Send all bodies at once, on a connection each; return the seconds of a reply."""
        before = self.process.processor_time
        with ThreadPoolExecutor(len(bodies)) as pool:
            replies = list(pool.map(partial(post, self.port), bodies))
        time.sleep(_SETTLES)
        worked = self.process.processor_time - before
        for task, reply in zip(tasks, replies, strict=True):
            self.check(task, [reply], apart)
        return Took(
            worked / len(replies),
            statistics.median(reply.first - reply.begun for reply in replies),
        )

    def ask_often(self, task: Task, times: int, apart: bool) -> "Took":
        """Send one request `times` times, on one connection if the task keeps it; return the
        seconds of a reply.
        """
        body, replies = request(task), list[Reply]()
        before = self.process.processor_time
        for _ in range(times):
            kept = replies[-1].connection if replies and task.keep_alive else None
            replies.append(Reply(body, self.port, kept))
            while not replies[-1].read():
                pass
            if not task.keep_alive:
                replies[-1].connection.close()
        replies[-1].connection.close()
        time.sleep(_SETTLES)
        worked = self.process.processor_time - before
        self.check(task, replies, apart)
        first = statistics.median(reply.first - reply.begun for reply in replies)
        return Took(worked / times, first)

    def check(self, task: Task, replies: Sequence[Reply], apart: bool) -> None:
        """Add the faults of these replies to `wrong`."""
        dialect = task.dialect if apart else "openai"
        self.wrong += faults(_as(task, dialect, apart), replies)


def _as(task: Task, dialect: str, apart: bool) -> Task:
    return Task(**{**vars(task), "dialect": dialect, "apart": apart})


@dataclass(frozen=True)
class Took:
    """The seconds of one reply: the processor time of the proxy, and the client's wait for the
    first byte.
    """

    worked: float
    first: float


@dataclass
class Row:
    """One line of the table: the seconds of both sides, a pair for each repetition."""

    name: str
    bare: list[Took] = field(default_factory=list)
    ours: list[Took] = field(default_factory=list)

    def line(self) -> str:
        """Return the line as text."""
        cells = [f"{self.name:44}"]
        measures: tuple[Callable[[Took], float], ...] = (_worked, _first)
        for measure in measures:
            bare, ours = ([measure(took) for took in side] for side in (self.bare, self.ours))
            usual, more = statistics.median(bare), _more(bare, ours)
            ratio = statistics.median(our / one for our, one in zip(ours, bare, strict=True))
            spent = statistics.median(ours)
            cells.append(
                f"{_MILLI * usual:8.2f}{_MILLI * spent:8.2f}{ratio:7.2f}{_MILLI * more:+7.2f}"
            )
        return "  ".join(cells)


def _worked(took: Took) -> float:
    return took.worked


def _first(took: Took) -> float:
    return took.first


def _more(bare: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median of the differences, `ours` less `bare`, round by round."""
    return statistics.median(our - one for our, one in zip(ours, bare, strict=True))


class Turns:
    """The rows of one run of the bench."""

    def __init__(self, bare: Side, ours: Side, chosen: argparse.Namespace) -> None:
        self.bare, self.ours, self._chosen = bare, ours, chosen
        self._number = 0

    def rows(self) -> Iterator[Row]:
        """Measure the chosen rows; yield each when it is complete."""
        quick, wanted = self._chosen.quick, self._chosen.only
        sizes = dict(list(SIZES.items())[:1]) if quick else SIZES
        body = [(name, "", size, 1, _MODEL) for name, size in sizes.items()]
        name = "100 kB" if quick else "700 kB"
        agents = 3 if quick else AGENTS
        body.append((name, f", {agents} agents", sizes[name], agents, _MODEL))
        body.append((name, ", Qwen3", sizes[name], 1, _THINKS))
        for name, which, size, agents, model in body:
            for dialect in WRITERS:
                if dialect in _RARER and (name != "700 kB" or which):
                    continue
                title = f"{name}, {_NAMES[dialect]}{which}"
                if _is_wanted(title, wanted):
                    yield from self._agents(title, dialect, size, agents, model)
        for what, kind, keeps in (
            ("whole reply, small", WHOLE, True),
            ("first byte, kept connection", "tags", True),
            ("first byte, new connection", "tags", False),
        ):
            for dialect, name in _NAMES.items():
                title = f"{what}, {name}"
                if _is_wanted(title, wanted):
                    yield self._small(title, dialect, kind, keeps)

    def _agents(
        self, title: str, dialect: str, size: int, agents: int, model: str
    ) -> Iterator[Row]:
        first, then = Row(f"{title}, first turn"), Row(f"{title}, next turn")
        task = Task(0, dialect, WHOLE, 40)
        write, rounds = WRITERS[dialect], self._chosen.repetitions
        for repetition in range(rounds + 1):
            asking = [Agent(self._number + at, model) for at in range(agents)]
            self._number += agents
            turns = asking[0].turns_of(size)
            for row, more in ((first, 0), (then, 1)):
                bodies = [write(agent, turns + more) for agent in asking]
                took = self._both(
                    lambda side, apart, bodies=bodies: side.ask(  # type: ignore[misc]
                        [task] * agents,
                        [posted(body, dialect, apart) for body in bodies],
                        apart,
                    ),
                    repetition,
                )
                if repetition:  # the first finds nothing warm
                    row.bare.append(took[0])
                    row.ours.append(took[1])
        yield from (first, then)

    def _small(self, title: str, dialect: str, kind: str, keeps: bool) -> Row:
        row, times = Row(title), 5 if self._chosen.quick else 50
        task = Task(0, dialect, kind, 40 if kind == WHOLE else 10, keep_alive=keeps)
        for repetition in range(self._chosen.repetitions + 1):
            took = self._both(
                lambda side, apart: side.ask_often(
                    task if apart else _as(task, "openai", apart), times, apart
                ),
                repetition,
            )
            if repetition:
                row.bare.append(took[0])
                row.ours.append(took[1])
        return row

    def _both(self, take: Callable[[Side, bool], Took], repetition: int) -> tuple[Took, Took]:
        """Send the same requests to both sides, in an alternating order."""
        if repetition % 2:
            ours = take(self.ours, True)
            return take(self.bare, False), ours
        bare = take(self.bare, False)
        return bare, take(self.ours, True)


def post(port: int, body: bytes) -> Reply:
    """Return the reply to a request, on a connection of its own."""
    reply = Reply(body, port)
    while not reply.read():
        pass
    reply.connection.close()
    return reply


def posted(body: bytes, dialect: str, apart: bool) -> bytes:
    """Return an agent's request. The server knows chat completions only, so that bare mitmdump
    passes the same bytes on to its path.
    """
    path = PATHS[dialect if apart else "openai"]
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"{HEADERS[dialect]}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _is_wanted(title: str, chosen_titles: Sequence[str]) -> bool:
    return not chosen_titles or any(word.lower() in title.lower() for word in chosen_titles)


def grown(side: Side, apart: bool, quick: bool) -> tuple[float, float, float]:
    """Return the megabytes of a proxy: before, after 400 streams, and after 50 conversations."""
    task = Task(0, "anthropic" if apart else "openai", "tags", 100 if quick else 1000)
    side.ask_often(task, 5, apart)
    begun = side.process.memory
    for _ in range(1 if quick else 50):
        side.ask([task] * 8, [request(task)] * 8, apart)
    streamed, conversations, turns = side.process.memory, *((2, 3) if quick else (50, 100))
    for number in range(conversations):
        agent = Agent(number, _MODEL, length=600)
        for turn in range(turns):
            body = posted(agent.messages(turn), "anthropic", apart)
            side.ask([Task(0, "anthropic", WHOLE, 40)], [body], apart)
    return begun, streamed, side.process.memory


@contextmanager
def sides(source: Path) -> Iterator[tuple[Side, Side]]:
    """Start the server and both proxies anew."""
    mine, theirs = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench") as folder,
        Started([sys.executable, "-m", "tools.bench.server"], mine, Path(folder) / "log") as server,
        ExitStack() as stack,
    ):
        port = int(server.line(_SECONDS_TO_START).split()[1])
        proxies = Proxies(port, source, Path(folder), theirs, free_ports())
        stack.callback(proxies.stop)
        for arguments in (IDENTITY, ADDON):
            proxies.start(arguments)
        started = [Side(*each) for each in proxies.all()]
        for side in started:
            wait_for_port(side.port, side.process, _SECONDS_TO_START)
        yield started[0], started[1]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench turns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="proves that the tool works")
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name holds one of these")
    parser.add_argument("--source", type=Path, default=PROJECT, help="another checkout's folder")
    chosen = parser.parse_args(arguments)
    chosen.repetitions = 1 if chosen.quick else chosen.repetitions
    return chosen


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table; return 1 when a reply was not exact."""
    chosen, wrong = parse(arguments), list[str]()
    print(HEADING, COLUMNS, sep="\n")
    with sides(chosen.source) as (bare, ours):
        for row in Turns(bare, ours, chosen).rows():
            print(row.line(), flush=True)
        wrong += [*bare.wrong, *ours.wrong]
    if _is_wanted("memory", chosen.only):
        print("\nmemory, MB: before, after 400 streams, after 50 conversations of 100 turns")
        with sides(chosen.source) as (bare, ours):
            for name, side in (("bare", bare), ("addon", ours)):
                figures = grown(side, side is ours, chosen.quick)
                print(f"{name:8}", *(f"{figure:8.1f}" for figure in figures), flush=True)
                wrong += side.wrong
    print(f"{len(wrong)} replies were wrong", *wrong[:5], sep="\n")
    return int(bool(wrong))
