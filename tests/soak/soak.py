"""Clients of all dialects for minutes, a twentieth of the exchanges with a fault; and a thousand
streams at one time.
"""

import asyncio
import itertools
import json
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.client import SoakClient
from tests.soak.plans import PATHS, Plan, long_stream, plan
from tests.soak.server import PlanServer, closed
from tests.support.harness import Proxy, start_proxy

MOST_GROWTH = 1.05
"""The last quarter's memory against the second: the first is the time in which caches fill."""
_INTERVAL = 1.0
_SECONDS_TO_REST = 10.0
_PROBE = Path(__file__).with_name("probe.py")
OPTIONS = ["--set", "think_server=generic", "-s", str(_PROBE)]


@dataclass
class Report:
    """The results of a soak. `memory`: kilobytes, at even times; `before` and `after`: the proxy's
    counts at rest.
    """

    exchanges: int = 0
    faulty: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)

    @property
    def growth(self) -> float:
        """The last quarter's memory against the second."""
        quarter = len(self.memory) // 4
        if not quarter:
            return 1.0
        return statistics.mean(self.memory[-quarter:]) / statistics.mean(
            self.memory[quarter : 2 * quarter]
        )

    @property
    def left(self) -> dict[str, int]:
        """The counts at the end that are above those before."""
        return dict(self.after - self.before)

    @property
    def holds(self) -> bool:
        return not self.wrong and not self.left and self.growth <= MOST_GROWTH

    def __str__(self) -> str:
        megabytes = [round(kilobytes / 1024, 1) for kilobytes in self.memory or [0]]
        lines = [
            f"{self.exchanges} exchanges, {self.faulty} with a fault: {len(self.wrong)} wrong",
            f"memory {megabytes[0]} to {megabytes[-1]} MB, at most {max(megabytes)};"
            f" last quarter against the second {self.growth:.3f}",
            f"left at the end: {self.left or 'nothing'} ({dict(self.after)})",
        ]
        return "\n".join([*lines, *self.wrong[:20]])


def soak(minutes: float, clients: int, folder: Path, seed: int = 0) -> Report:
    """Run clients against the proxy for so many minutes."""
    return asyncio.run(_soak(minutes * 60, clients, folder, seed))


async def _soak(seconds: float, clients: int, folder: Path, seed: int) -> Report:
    report = Report()
    async with PlanServer(plan) as server:
        with start_proxy([f"reverse:{server.address}"], OPTIONS, folder, "soak") as proxy:
            report.before = await _warmed_up(proxy, plan(seed, 0.0))
            until = time.monotonic() + seconds
            numbers = itertools.count(seed)
            asking = [_client(proxy.ports[0], numbers, until, report) for _ in range(clients)]
            await asyncio.gather(_watch(proxy, until, report), *asking)
            report.after = await _at_rest(proxy, report.before)
    return report


async def _client(port: int, numbers: "itertools.count[int]", until: float, report: Report) -> None:
    client = SoakClient(port)
    while time.monotonic() < until:
        await _ask(client, plan(next(numbers)), report)
    await client.close()


async def _ask(client: SoakClient, plan: Plan, report: Report) -> None:
    if complaint := await client.complaint(plan):
        report.wrong.append(f"{plan.name}: {complaint}")
    report.exchanges += 1
    report.faulty += plan.fault is not None


async def _watch(proxy: Proxy, until: float, report: Report) -> None:
    while time.monotonic() < until:
        report.memory.append(resident(proxy.pid))
        await asyncio.sleep(_INTERVAL)


def resident(pid: int) -> int:
    """Return a process's memory in kilobytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def sockets(pid: int) -> int:
    """Return how many sockets a process has open."""
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += str(link.readlink()).startswith("socket")
        except OSError:  # closed in between
            continue
    return count


async def _warmed_up(proxy: Proxy, first: Plan) -> Counter[str]:
    """Return the counts at rest after one exchange, because mitmproxy keeps the last one."""
    client = SoakClient(proxy.ports[0])
    await _ask(client, first, Report())
    await client.close()
    return await _at_rest(proxy)


async def _at_rest(proxy: Proxy, expected: Counter[str] | None = None) -> Counter[str]:
    """Return the proxy's counts, once they are at most the expected ones, or after some seconds."""
    deadline = time.monotonic() + _SECONDS_TO_REST
    while True:
        await asyncio.sleep(0.5)
        held = await _held(proxy)
        if expected is None or not held - expected or time.monotonic() > deadline:
            return held


async def _held(proxy: Proxy) -> Counter[str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.ports[0])
    writer.write(b"GET /soak-probe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    body = (await reader.read()).partition(b"\r\n\r\n")[2]
    await closed(writer)
    await asyncio.sleep(0.2)
    return Counter({**json.loads(body), "sockets": sockets(proxy.pid)})


@dataclass(frozen=True)
class Crowd:
    """Many streams at one time. `at_once`: how many the server has seen at one time."""

    streams: int
    at_once: int
    wrong: Sequence[str]
    seconds: float
    left: dict[str, int]

    def __str__(self) -> str:
        lines = [
            f"{self.streams} streams, {self.at_once} at one time, in {self.seconds:.1f} s:"
            f" {len(self.wrong)} wrong; left at the end: {self.left or 'nothing'}"
        ]
        return "\n".join([*lines, *self.wrong[:20]])


def crowd(streams: int, folder: Path) -> Crowd:
    """Begin so many streams, let none end before all have begun, and read them all."""
    return asyncio.run(_crowd(streams, folder))


def _crowded(number: int) -> Plan:
    thinking, text = f"thought {number} 你好 " * 9, f"answer {number} 🙂 " * 20
    return long_stream(number, thinking.strip(), text.strip(), list(PATHS)[number % len(PATHS)])


async def _crowd(streams: int, folder: Path) -> Crowd:
    first = plan(0, 0.0)
    async with PlanServer(lambda number: _crowded(number) if number else first, streams) as server:
        with start_proxy([f"reverse:{server.address}"], OPTIONS, folder, "crowd") as proxy:
            before = await _warmed_up(proxy, first)
            began, report = time.monotonic(), Report()
            clients = [SoakClient(proxy.ports[0]) for _ in range(streams)]
            await asyncio.gather(
                *(_ask(client, _crowded(at), report) for at, client in enumerate(clients, 1))
            )
            seconds = time.monotonic() - began
            for client in clients:
                await client.close()
            after = await _at_rest(proxy, before)
    return Crowd(streams, server.at_once, report.wrong, seconds, dict(after - before))
