"""Faults of a file or of a server: no answer is wrong, no entry that was reported as kept is lost,
and the memory recovers by itself.
"""

import asyncio
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import redis

from converter.addon.memory import store_waits, stores
from converter.addon.memory.sqlite_store import SqliteStore
from converter.addon.memory.store_waits import StoreElsewhere
from converter.core.model.memory import AwayError, Bounds, Memory, Store
from converter.extras.redis.redis_store import RedisStore
from tests.support import addon_flows
from tests.support.addon_flows import CHAT
from tests.support.harness import TESTS
from tests.support.redis_server import RedisServer
from tests.support.relay import Relay

pytestmark = pytest.mark.slow

BOUNDS = Bounds(100_000, 1 << 26)
SECONDS = 1.0
"""For which an answer is waited: a healthy store, too, is late on a busy machine."""
LARGE = b"x" * 300_000
"""More than what a full store still takes."""
HOLDS = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
WRITES = """
import sys
from pathlib import Path
from converter.core.model.memory import Bounds, Memory
from converter.extras.redis.redis_store import RedisStore
from converter.addon.memory.sqlite_store import SqliteStore

place, bounds = sys.argv[1], Bounds(100_000, 1 << 26)
store = RedisStore(place, bounds) if "//" in place else SqliteStore(Path(place), bounds)
memory = Memory(store=store)
for number in range(100_000):
    memory.keep(f"a{number}", b"x" * 1000, "begun", moving_name="talk")
    print(number, flush=True)
"""


@dataclass
class StorePlan:
    """The medium of a store's entries. `open`: opens a store there, as each process does."""

    name: str
    open: Callable[[], Store]


@dataclass
class File(StorePlan):
    """A file, through a link to its folder that may lead elsewhere."""

    path: Path
    link: Path

    @contextmanager
    def leads_to(self, folder: str) -> Iterator[None]:
        before = self.link.readlink()
        try:
            self.link.unlink()
            self.link.symlink_to(folder)
            yield
        finally:
            self.link.unlink()
            self.link.symlink_to(before)


@dataclass
class Server(StorePlan):
    """A server, with another in between."""

    server: RedisServer
    relay: Relay

    def does(self, *command: object) -> None:
        with redis.Redis.from_url(self.server.address) as client:
            client.execute_command(*command)


@contextmanager
def file_plan() -> Iterator[File]:
    with TemporaryDirectory() as name:
        link = Path(name) / "disk"
        (Path(name) / "real").mkdir()
        link.symlink_to("real")
        path = link / "memory.sqlite"
        yield File(str(path), lambda: SqliteStore(path, BOUNDS, SECONDS), path, link)


@contextmanager
def server_plan() -> Iterator[Server]:
    with RedisServer() as server, Relay(server.port) as relay:
        address = relay.address.replace("http", "redis")
        yield Server(address, lambda: RedisStore(address, BOUNDS, SECONDS), server, relay)


@contextmanager
def locked(file: File) -> Iterator[None]:
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.close()


@contextmanager
def paused_while_it_writes(file: File) -> Iterator[None]:
    """Another process, stopped by a signal; then it is killed."""
    command = [sys.executable, "-c", HOLDS, str(file.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:  # type: ignore[call-overload]
        assert other.stdout.readline() == "held\n"
        other.send_signal(signal.SIGSTOP)
        yield
        other.kill()


@contextmanager
def full_disk(file: File) -> Iterator[None]:
    """No file may become larger than the present file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.path.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only_disk(file: File) -> Iterator[None]:
    """Linux's `/sys`, where not even root can make a file."""
    with file.leads_to("/sys"):
        yield


@contextmanager
def no_disk(file: File) -> Iterator[None]:
    with file.leads_to("nowhere"):
        yield


@contextmanager
def killed(server: Server) -> Iterator[None]:
    server.server.kill()
    yield
    server.server.start()


@contextmanager
def logged(server: Server, begin: str, end: str) -> Iterator[None]:
    server.does(*begin.split())
    yield
    server.does(*end.split())


@contextmanager
def another_password(server: Server) -> Iterator[None]:
    """All have to connect again."""
    with redis.Redis.from_url(server.server.address) as client:
        client.config_set("requirepass", "another")
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        yield
        client.config_set("requirepass", "")


FAULTS: dict[str, tuple[Callable[[], Any], Callable[[Any], AbstractContextManager[None]]]] = {
    "a locked file": (file_plan, locked),
    "a process paused in mid write": (file_plan, paused_while_it_writes),
    "a full disk": (file_plan, full_disk),
    "a read-only disk": (file_plan, read_only_disk),
    "a disk that has gone": (file_plan, no_disk),
    "a killed server": (server_plan, killed),
    "a paused server": (server_plan, lambda plan: plan.server.paused()),
    "a full server": (
        server_plan,
        partial(logged, begin="CONFIG SET maxmemory 1", end="CONFIG SET maxmemory 0"),
    ),
    "a read-only server": (
        server_plan,
        partial(logged, begin="REPLICAOF 127.0.0.1 1", end="REPLICAOF NO ONE"),
    ),
    "another password": (server_plan, another_password),
    "half an answer and an end": (server_plan, lambda plan: plan.relay.half_answers(True)),
    "half an answer and silence": (server_plan, lambda plan: plan.relay.half_answers(False)),
}


JUST_STARTED = {"a read-only disk", "a disk that has gone"}
"""Faults that a process meets only when it opens its file."""


class Process:
    """The memory at `plan` as a process of the addon uses it."""

    def __init__(self, plan: StorePlan) -> None:
        self._store = plan.open()
        self.memory = Memory(store=StoreElsewhere(self._store))

    def close(self) -> None:
        self._store.close()

    def keep(self, key: str, value: bytes, *names: str) -> None:
        """Keep it as the next of the talk, at once."""
        self.memory.store.keep(key, value, "", names, "talk")

    def talk(self) -> list[bytes] | None:
        return self.memory.history(self.memory.find("talk"))


def answer(question: Callable[[], object]) -> object:
    try:
        return question()
    except AwayError:
        return AwayError


@pytest.mark.parametrize("just_started", [False, True], ids=["running", "just started"])
@pytest.mark.parametrize("fault", list(FAULTS))
def test_no_wrong_value_is_returned_and_none_is_lost(
    fault: str, just_started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it lasts, each answer is right or `AwayError`; afterwards all entries are there."""
    monkeypatch.setattr(store_waits, "REST", 0.0)
    at, begin = FAULTS[fault]
    with at() as plan:
        process = Process(plan)
        process.keep("a", b"0", "talk", "name")
        process.keep("b", b"1")
        if just_started or fault in JUST_STARTED:
            process.close()
            process = Process(plan)
        memory = process.memory
        with begin(plan):
            answers = [
                answer(lambda: memory.history("b")),
                answer(lambda: memory.get("a")),
                answer(lambda: memory.find("name")),
                answer(lambda: memory.forget("nobody")),
                answer(lambda: process.keep("c", LARGE)),
            ]
        right = [[b"0", b"1"], b"0", "a", False, None]
        assert all(one in (AwayError, other) for one, other in zip(answers, right, strict=True)), (
            answers
        )
        assert AwayError in answers
        kept = [b"0", b"1", LARGE]
        assert process.talk() in ([kept] if answers[-1] is None else [kept[:2], kept])
        process.keep("d", b"3")
        talk = process.talk()
        process.close()
        again = Process(plan)
        assert again.talk() == talk
        again.close()


@pytest.mark.parametrize("at", [file_plan, server_plan])
def test_a_process_killed_in_mid_write_takes_nothing_along(
    at: Callable[[], AbstractContextManager[StorePlan]],
) -> None:
    with at() as plan:
        process = Process(plan)
        process.keep("begun", b"0", "talk")
        with writer(plan) as other:
            lines = [other.stdout.readline() for _ in range(50)]
            other.kill()
            lines += other.stdout.readlines()
        whole = [line for line in lines if line.endswith("\n")]
        talk = process.talk()
        assert talk
        assert len(talk) >= 1 + len(whole) > 50
        assert set(talk[1:]) == {b"x" * 1000}
        process.keep("next", b"1")
        assert process.talk() == [*talk, b"1"]
        process.close()


def test_a_server_killed_while_it_writes_has_all_that_it_has_confirmed() -> None:
    with server_plan() as plan:
        process = Process(plan)
        process.keep("begun", b"0", "talk")
        with writer(plan) as other:
            lines = [other.stdout.readline() for _ in range(50)]
            plan.server.kill()
            lines += other.stdout.readlines()  # it ends with an error
        plan.server.start()
        talk = process.talk()
        assert talk
        assert 1 + len(lines) <= len(talk) <= 2 + len(lines)
        process.close()


def writer(plan: StorePlan) -> Any:
    """A process that keeps one entry after another, and says so."""
    command = [sys.executable, "-c", WRITES, plan.name]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=TESTS.parent, text=True, **pipes)


@pytest.mark.parametrize("fault", ["a locked file", "a paused server"])
def test_other_requests_go_on_while_one_waits(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store answers only after another request was made ready: the loop has not waited."""
    monkeypatch.setattr(store_waits, "PATIENCE", 60.0)
    monkeypatch.setattr(stores, "ANSWER", 30.0)
    at, begin = FAULTS[fault]
    refers = {"model": "small", "input": "more", "previous_response_id": "resp_nobody"}
    with at() as plan:
        process = Process(plan)
        process.keep("a", b"0")
        process.close()
        address = plan.name if "//" in plan.name else f"sqlite:{plan.name}"
        with addon_flows.running(memory=address) as (addon, _):

            async def both() -> None:
                one, other = addon_flows.request("/v1/responses", refers), addon_flows.request(CHAT)
                for flow in (one, other):
                    addon.requestheaders(flow)
                with begin(plan):
                    waits = asyncio.create_task(addon.request(one))
                    await asyncio.sleep(0)
                    await addon.request(other)
                    assert not waits.done()
                await waits
                assert other.response is None
                assert one.response
                assert one.response.status_code == 400

            addon_flows.wait(both())
