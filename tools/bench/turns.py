"""Print the cost of an agent's turn through the addon, against bare mitmdump.

    python -m tools.bench turns [--quick] [--only WORD ...]

Two proxies are compared, called *sides*: bare mitmdump, and mitmdump with the addon. They get their
requests alternately. Measured are:

- requests of an agent with a long history: the first request of a conversation, and the next one,
  which repeats it; with one agent, and with 16 at the same time;
- small whole replies, and the first bytes of streams, in four dialects;
- the memory of each side after 400 streams, and after 50 conversations of 100 turns.

A line of the table has two figures for each side: the proxy's processor time for a reply, and the
time until the client gets the first byte. Beside them are ratio and difference of the two sides.
All are medians. The exit status is 1 if a reply was not exact.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tools.bench.agents import WRITERS, Agent
from tools.bench.client import HEADERS, PATHS, Reply, Task, faults, request_of
from tools.bench.contenders import ADDON_ARGUMENTS, BARE_ARGUMENTS
from tools.bench.processes import PROJECT, PinnedProcess, cores, free_ports, wait_for_port
from tools.bench.proxies import Proxies
from tools.bench.replies import WHOLE

HEADING = f"{'':44}{'processor time, ms':>30}{'first byte p50, ms':>32}"
"""The heading of the table."""
COLUMNS = f"{'':44}" + f"{'bare':>8}{'addon':>8}{'ratio':>7}{'more':>7}  " * 2
"""The second line of the heading, which names the columns."""
SIZES = {"100 kB": 100_000, "250 kB": 250_000, "700 kB": 700_000, "2 MB": 2_000_000}
"""Name of a size in the table -> the bytes of a request."""
AGENTS = 16
"""How many agents send at the same time, in the rows with several."""
_DIALECT_NAMES = {
    "openai": "chat",
    "anthropic": "Messages",
    "responses": "Responses",
    "ollama": "Ollama",
}
"""Dialect -> its name in the table."""
_AT_ONE_SIZE = ("responses", "ollama")
"""Dialects in which agents' requests are measured at one size only (700 kB), to save time."""
_MODEL = f"{WHOLE}.40.0"
"""The model that the requests name. The bench's server reads it as the name of a small reply."""
_THINKING_MODEL = f"Qwen3-8B/{_MODEL}"
"""A model whose name tells the addon that its chat template reads earlier thoughts, so that the
addon looks them up. The bench's server sends the same reply as for `_MODEL`.
"""
_MILLI = 1e3
"""Milliseconds in a second."""
_SECONDS_TO_START = 120
"""How long the server and each proxy may take to start."""
_SECONDS_TO_SETTLE = 0.01
"""The processor time is read so many seconds after a reply's end, because the proxy still works on
the exchange for a moment.
"""


@dataclass
class Side:
    """One of the two proxies that are compared: bare mitmdump, or mitmdump with the addon.

    Wherever `with_addon` is a parameter, True means that the side has the addon, so that thinking
    must come apart from the text.
    """

    port: int
    """The port on which the proxy listens."""
    process: PinnedProcess
    """The process of the proxy."""
    wrong: list[str] = field(default_factory=list)
    """The fault of each wrong reply."""

    def ask(self, tasks: Sequence[Task], bodies: Sequence[bytes], with_addon: bool) -> "Times":
        """Send all requests at once, on a connection each; return the times of one reply: the mean
        processor time, and the median time until the first byte.

        `bodies`: whole requests, with their heads; `tasks`: for each the reply that it must get.
        """
        before = self.process.processor_time
        with ThreadPoolExecutor(len(bodies)) as pool:
            replies = list(pool.map(partial(send, self.port), bodies))
        time.sleep(_SECONDS_TO_SETTLE)
        worked = self.process.processor_time - before
        for task, reply in zip(tasks, replies, strict=True):
            self.check(task, [reply], with_addon)
        return Times(
            worked / len(replies),
            statistics.median(reply.first - reply.begun for reply in replies),
        )

    def ask_often(self, task: Task, times: int, with_addon: bool) -> "Times":
        """Send the task's request `times` times, one after another; return the times of one reply:
        the mean processor time, and the median time until the first byte.

        If `keep_alive` of the task is True, all requests go over one connection.
        """
        body, replies = request_of(task), list[Reply]()
        before = self.process.processor_time
        for _ in range(times):
            kept = replies[-1].connection if replies and task.keep_alive else None
            replies.append(Reply(body, self.port, kept))
            while not replies[-1].read():
                pass
            if not task.keep_alive:
                replies[-1].connection.close()
        replies[-1].connection.close()
        time.sleep(_SECONDS_TO_SETTLE)
        worked = self.process.processor_time - before
        self.check(task, replies, with_addon)
        first = statistics.median(reply.first - reply.begun for reply in replies)
        return Times(worked / times, first)

    def check(self, task: Task, replies: Sequence[Reply], with_addon: bool) -> None:
        """Compare replies with what `task` must get; add the fault of each wrong one to `wrong`."""
        dialect = task.dialect if with_addon else "openai"
        self.wrong += faults(replace(task, dialect=dialect, apart=with_addon), replies)


@dataclass(frozen=True)
class Times:
    """The times of one reply, in seconds."""

    processor: float
    """The processor time that the proxy used."""
    first: float
    """The time until the first byte of the body came, with that for a new connection, if any."""


@dataclass
class Row:
    """One line of the table: the times of both sides."""

    name: str
    """The name in the table."""
    bare: list[Times] = field(default_factory=list)
    """The times of bare mitmdump, one for each repetition."""
    addon: list[Times] = field(default_factory=list)
    """The times of mitmdump with the addon, in the same order of repetitions."""

    def line(self) -> str:
        """Return the line of the table. It has four medians for the processor time, then four for
        the time to the first byte: of bare mitmdump, of the addon, of their ratio in a repetition,
        and of their difference in a repetition. Times are in milliseconds.
        """
        cells = [f"{self.name:44}"]
        for name in ("processor", "first"):
            bare, ours = (
                [getattr(took, name) for took in side] for side in (self.bare, self.addon)
            )
            usual, spent = statistics.median(bare), statistics.median(ours)
            more = statistics.median(our - one for our, one in zip(ours, bare, strict=True))
            ratio = statistics.median(our / one for our, one in zip(ours, bare, strict=True))
            cells.append(
                f"{_MILLI * usual:8.2f}{_MILLI * spent:8.2f}{ratio:7.2f}{_MILLI * more:+7.2f}"
            )
        return "  ".join(cells)


class Turns:
    """Measures the rows of the table, each on both sides."""

    def __init__(self, bare: Side, ours: Side, chosen: argparse.Namespace) -> None:
        """`bare`, `ours`: the side without the addon and the one with it; `chosen`: the options of
        the command line, as `parse` returns them.
        """
        self.bare, self.addon, self._chosen = bare, ours, chosen
        self._number = 0

    def rows(self) -> Iterator[Row]:
        """Measure all rows, or those whose name contains a word of `--only`; yield each when it is
        complete.
        """
        quick, wanted = self._chosen.quick, self._chosen.only
        sizes = dict(list(SIZES.items())[:1]) if quick else SIZES
        body = [(name, "", size, 1, _MODEL) for name, size in sizes.items()]
        name = "100 kB" if quick else "700 kB"
        agents = 3 if quick else AGENTS
        body.append((name, f", {agents} agents", sizes[name], agents, _MODEL))
        body.append((name, ", Qwen3", sizes[name], 1, _THINKING_MODEL))
        for name, which, size, agents, model in body:
            for dialect in WRITERS:
                if dialect in _AT_ONE_SIZE and (name != "700 kB" or which):
                    continue
                title = f"{name}, {_DIALECT_NAMES[dialect]}{which}"
                if _is_wanted(title, wanted):
                    yield from self._measure_agents(title, dialect, size, agents, model)
        for what, kind, keeps in (
            ("whole reply, small", WHOLE, True),
            ("first byte, kept connection", "tags", True),
            ("first byte, new connection", "tags", False),
        ):
            for dialect, name in _DIALECT_NAMES.items():
                title = f"{what}, {name}"
                if _is_wanted(title, wanted):
                    yield self._measure_small(title, dialect, kind, keeps)

    def _measure_agents(
        self, title: str, dialect: str, size: int, agents: int, model: str
    ) -> Iterator[Row]:
        """Yield two rows: the first request of an agent's conversation, and the next one, which
        repeats it and adds a turn.

        `title`: the beginning of both names; `size`: about how many bytes the first request has;
        `agents`: how many send at the same time; `model`: the one that they request.
        """
        first, then = Row(f"{title}, first turn"), Row(f"{title}, next turn")
        task = Task(0, dialect, WHOLE, 40)
        write, rounds = WRITERS[dialect], self._chosen.repetitions
        for repetition in range(rounds + 1):
            asking = [Agent(self._number + at, model) for at in range(agents)]
            self._number += agents
            turns = asking[0].turns_for_size(size)
            for row, more in ((first, 0), (then, 1)):
                bodies = [write(agent, turns + more) for agent in asking]
                took = self._measure_both(
                    lambda side, with_addon, bodies=bodies: side.ask(  # type: ignore[misc]
                        [task] * agents,
                        [request_bytes(body, dialect, with_addon) for body in bodies],
                        with_addon,
                    ),
                    repetition,
                )
                if repetition:  # repetition 0 finds cold caches, so it is not counted
                    row.bare.append(took[0])
                    row.addon.append(took[1])
        yield from (first, then)

    def _measure_small(self, title: str, dialect: str, kind: str, keeps: bool) -> Row:
        """Measure small replies of a kind; return their row, with the name `title`.

        `keeps`: True if all requests go over one connection; False: each over a new one.
        """
        row, times = Row(title), 5 if self._chosen.quick else 50
        task = Task(0, dialect, kind, 40 if kind == WHOLE else 10, keep_alive=keeps)
        for repetition in range(self._chosen.repetitions + 1):
            took = self._measure_both(
                lambda side, with_addon: side.ask_often(
                    task if with_addon else replace(task, dialect="openai", apart=False),
                    times,
                    with_addon,
                ),
                repetition,
            )
            if repetition:
                row.bare.append(took[0])
                row.addon.append(took[1])
        return row

    def _measure_both(
        self, measure: Callable[[Side, bool], Times], repetition: int
    ) -> tuple[Times, Times]:
        """Measure both sides; return the times of bare mitmdump, then those of the addon.

        `measure`: takes a side, and True if it is the one with the addon; sends requests to it and
        returns the times. `repetition`: its number; in odd ones the addon is measured first.
        """
        if repetition % 2:
            ours = measure(self.addon, True)
            return measure(self.bare, False), ours
        bare = measure(self.bare, False)
        return bare, measure(self.addon, True)


def send(port: int, body: bytes) -> Reply:
    """Send a request on a new connection; return its reply when that has ended.

    `body`: the whole request, with its head.
    """
    reply = Reply(body, port)
    while not reply.read():
        pass
    reply.connection.close()
    return reply


def request_bytes(body: bytes, dialect: str, with_addon: bool) -> bytes:
    """Return an agent's request with its head, for the side with the addon or for bare mitmdump.

    The addon (`with_addon`) gets it at the path of its dialect. Bare mitmdump gets the same body at
    the path of chat completions, because the server knows no other.
    """
    path = PATHS[dialect if with_addon else "openai"]
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"{HEADERS[dialect]}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _is_wanted(title: str, chosen_titles: Sequence[str]) -> bool:
    """Return True if `title` contains one of `chosen_titles` (the words of `--only`), or if there
    are none. Upper and lower case are equal.
    """
    return not chosen_titles or any(word.lower() in title.lower() for word in chosen_titles)


def memory_growth(side: Side, with_addon: bool, quick: bool) -> tuple[float, float, float]:
    """Return the megabytes of a side's proxy at three times: after five streams, after 400 more,
    and after 50 conversations of 100 turns. With `quick` all but the five are fewer.
    """
    task = Task(0, "anthropic" if with_addon else "openai", "tags", 100 if quick else 1000)
    side.ask_often(task, 5, with_addon)
    begun = side.process.memory
    for _ in range(1 if quick else 50):
        side.ask([task] * 8, [request_of(task)] * 8, with_addon)
    streamed, conversations, turns = side.process.memory, *((2, 3) if quick else (50, 100))
    for number in range(conversations):
        agent = Agent(number, _MODEL, length=600)
        for turn in range(turns):
            body = request_bytes(agent.messages_body(turn), "anthropic", with_addon)
            side.ask([Task(0, "anthropic", WHOLE, 40)], [body], with_addon)
    return begun, streamed, side.process.memory


@contextmanager
def start_sides(source: Path) -> Iterator[tuple[Side, Side]]:
    """Start the server and both proxies; yield the side of bare mitmdump, then that of the addon.

    The end of the `with` block stops them. `source`: the folder of the addon's sources.
    """
    mine, theirs = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench") as folder,
        PinnedProcess(
            [sys.executable, "-m", "tools.bench.server"], mine, Path(folder) / "log"
        ) as server,
        ExitStack() as stack,
    ):
        port = int(server.read_line(_SECONDS_TO_START).split()[1])
        proxies = Proxies(port, source, Path(folder), theirs, free_ports())
        stack.callback(proxies.stop)
        for arguments in (BARE_ARGUMENTS, ADDON_ARGUMENTS):
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
    """Print the table and the memory of both sides; return 1 if a reply was not exact."""
    chosen, wrong = parse(arguments), list[str]()
    print(HEADING, COLUMNS, sep="\n")
    with start_sides(chosen.source) as (bare, ours):
        for row in Turns(bare, ours, chosen).rows():
            print(row.line(), flush=True)
        wrong += [*bare.wrong, *ours.wrong]
    if _is_wanted("memory", chosen.only):
        print("\nmemory, MB: before, after 400 streams, after 50 conversations of 100 turns")
        with start_sides(chosen.source) as (bare, ours):
            for name, side in (("bare", bare), ("addon", ours)):
                figures = memory_growth(side, side is ours, chosen.quick)
                print(f"{name:8}", *(f"{figure:8.1f}" for figure in figures), flush=True)
                wrong += side.wrong
    print(f"{len(wrong)} replies were wrong", *wrong[:5], sep="\n")
    return int(bool(wrong))
