"""Several processes on one port: both work, both keep what they should, and none outlives the rest."""

import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from converter.extras.recordings.library import Library
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, View, question
from tests.support.counted import total
from tests.support.frames import stream
from tests.support.harness import ADDON, FAULTS, SECONDS_TO_STOP, Program, free_ports

pytestmark = pytest.mark.slow

RUN = """import sys
from converter.extras.command.workers import run_workers

sys.exit(run_workers(2, sys.argv[1:]))
"""
NAMES_ITSELF = """
import os

def responseheaders(flow):
    flow.response.headers["x-process"] = str(os.getpid())
"""
ANSWER = Says(steps=stream("<think>", "I consider it.", "</think>", "Done."))
BELOW = range(2000, 3200)
"""Tens of ports below those that systems give out by themselves: else another test's connection
may take one of the two that were free a moment ago, and then this worker ends.
"""
AUTO = "think_server=auto"
ENOUGH = 200
"""Connections, so many that the kernel cannot have given all to one of two processes."""


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer({CHAT: ANSWER}) as serving:
        yield serving


class Workers(Program):
    """Two workers in front of a server, and the port that they share."""

    def __init__(self, server: str, folder: Path, *options: str, port: int = 0) -> None:
        self.port = port or free_ports(1)[0]
        script = folder / "names_itself.py"
        script.write_text(NAMES_ITSELF)
        settings = [f"confdir={folder / 'mitmproxy'}", "flow_detail=0"]
        settings += [] if AUTO in options else ["think_server=generic"]
        arguments = ["-s", str(ADDON), "-s", str(script), *options]
        for setting in settings:
            arguments += ["--set", setting]
        mode = f"reverse:{server}@127.0.0.1:{self.port}"
        command = [sys.executable, "-c", RUN, *arguments, "--mode", mode]
        super().__init__(command, folder / "log", cwd=ADDON.parent)

    def ask(self, dialect: Dialect = OPENAI) -> tuple[int, View]:
        """Ask on a new connection; return the process that has answered, and the answer."""
        with Client(self.port) as client:
            answer = client.ask(dialect.path, question(stream=True))
        assert answer.status == 200, answer
        return int(answer.headers["x-process"]), dialect.read_stream(answer.body)

    def ask_all(self, dialect: Dialect = OPENAI, count: int = 2) -> dict[int, int]:
        """Ask until so many processes have answered; return how often each has."""
        answered: dict[int, int] = {}
        for _ in range(ENOUGH):
            process, reply = self.ask(dialect)
            assert (reply.thinking, reply.text) == ("I consider it.", "Done.")
            answered[process] = answered.get(process, 0) + 1
            if len(answered) == count:
                return answered
        raise AssertionError(f"{ENOUGH} connections, answered by {answered}")


@contextmanager
def workers(server: ByPathServer, folder: Path, *options: str) -> Iterator[Workers]:
    with Workers(server.address, folder, *options) as started:
        started.wait_for("listening at", 2)
        yield started
    assert not FAULTS.search(started.output), started.output


def test_both_workers_answer_keep_apart_what_they_keep_and_end_in_good_order(
    server: ByPathServer, tmp_path: Path
) -> None:
    kept, events = tmp_path / "kept", tmp_path / "events.jsonl"
    options = ["--set", f"think_record={kept}", "--set", f"think_events={events}"]
    options += ["--set", f"think_metrics={tmp_path}/metrics-{{worker}}.prom"]
    with workers(server, tmp_path, *options, "-w", str(tmp_path / "flows-{worker}")) as crew:
        answered = [crew.ask_all(dialect) for dialect in (OPENAI, ANTHROPIC)]
        assert set(answered[0]) == set(answered[1])
        assert crew.pid not in answered[0]
        ends_in_good_order(crew, signal.SIGTERM, answered[0])
    count = sum(sum(times.values()) for times in answered)
    assert len(Library(kept).names()) == count
    assert len([json.loads(line) for line in events.read_text().splitlines()]) == count
    assert all((tmp_path / f"flows-{number}").stat().st_size for number in (1, 2))
    metrics = [(tmp_path / f"metrics-{number}.prom").read_text() for number in (1, 2)]
    assert sum(map(requests, metrics)) == count
    assert all(map(requests, metrics))


def requests(metrics: str) -> int:
    """The requests that a process has counted."""
    return total(metrics, "think_requests_total")


def test_a_worker_that_dies_is_replaced_and_each_counts_at_a_port_of_its_own(
    server: ByPathServer, tmp_path: Path
) -> None:
    tens = next(tens for tens in iter(lambda: random.choice(BELOW), 0) if two_are_free(tens))
    with workers(server, tmp_path, "--set", f"think_metrics={tens}{{worker}}") as crew:
        answered = crew.ask_all()
        counted = [urlopen(f"http://127.0.0.1:{tens}{number}/metrics") for number in (1, 2)]
        assert sum(requests(reply.read().decode()) for reply in counted) == sum(answered.values())
        os.kill(min(answered), signal.SIGKILL)
        crew.wait_for("has ended .exit code -9.; another takes its place")
        crew.wait_for("listening at", 3)
        processes = crew.ask_all()
        assert len(processes.keys() - answered.keys()) == 1
        ends_in_good_order(crew, signal.SIGHUP, processes)


def ends_in_good_order(crew: Workers, number: signal.Signals, processes: Iterable[int]) -> None:
    os.kill(crew.pid, number)
    assert crew.exit_status() == 0
    assert not [process for process in processes if is_there(process)]


def two_are_free(tens: int) -> bool:
    """Return True if no process has the two ports that end in 1 and 2, of these ten."""
    try:
        for last in (1, 2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", tens * 10 + last))
    except OSError:
        return False
    return True


def test_no_worker_outlives_the_process_that_started_it(
    server: ByPathServer, tmp_path: Path
) -> None:
    with workers(server, tmp_path) as crew:
        processes = crew.ask_all()
        crew.kill()
        deadline = time.monotonic() + SECONDS_TO_STOP
        while any(map(is_there, processes)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [process for process in processes if is_there(process)]


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
