"""`think-addon URL --workers 3`: any worker answers any turn, also after a restart."""

import json
import os
import re
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from converter.addon.exchange import settings
from converter.addon.memory.shared_lessons import _entry_key
from converter.addon.memory.stores import open_store
from converter.addon.servers.known_servers import Upstream, read_lessons
from converter.addon.servers.probes import IDENTITY_PATHS
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import stream, whole
from tests.support.harness import ADDON, FAULTS, Program, free_ports
from tests.support.redis_server import RedisServer
from tests.support.scripted_server import ReceivedRequest
from tests.support.talks import (
    KEY,
    MORE,
    RESTORED,
    TALKS,
    Talk,
    from_response,
    in_conversation,
    in_thread,
    openai_at,
    responds,
)

pytestmark = pytest.mark.slow

WORKERS = 3
TURNS = 3
"""Of each talk, before the restart and after it."""
TELLS_ITSELF = """
import os

def response(flow):
    print("answered by", os.getpid(), flush=True)
"""
PASSWORD = "password-of-redis"


def thought(turn: int) -> str:
    return f"I count {turn}."


def counts(request: ReceivedRequest) -> Says:
    """A server that thinks of the number of user turns that it received, and answers with it."""
    body = json.loads(request.body)
    count = len([turn for turn in body["messages"] if turn["role"] == "user"])
    reply = f"<think>{thought(count)}</think>{count}"
    return Says(steps=stream(reply)) if body.get("stream") else Says(whole(reply))


class Crew:
    """The command with three workers. `kept`: the folder of their files. `silenced`: seconds for
    which their memory is silent. `kind`: the option for the kind of server.
    """

    def __init__(self, server: str, folder: Path, kind: str) -> None:
        self.kept = folder / "state"
        self.memory = f"sqlite:{self.kept}/think-addon/memory.sqlite"
        self.silenced: Callable[[], AbstractContextManager[None]] = self._locked
        port = free_ports(1)[0]
        script = folder / "tells_itself.py"
        script.write_text(TELLS_ITSELF)
        options = ["--dump", "--workers", str(WORKERS), "--port", str(port)]
        options += ["--set", f"confdir={folder / 'mitmproxy'}", "--set", f"think_server={kind}"]
        command = [sys.executable, "-m", "converter.command", server, *options]
        self._command = [*command, "--", "-s", str(script)]
        self._log = folder / "log"
        self.address = f"http://127.0.0.1:{port}"

    def start(self) -> None:
        self._program = Program(self._command, self._log, cwd=ADDON.parent)
        self._program.wait_for("listening at", WORKERS)

    def stop(self) -> None:
        self._program.stop()
        assert not FAULTS.search(self._program.output), self._program.output

    def answered(self) -> list[int]:
        """The processes that have answered something, the last one first."""
        workers = re.findall(r"answered by (\d+)\n", self._program.output)
        return list(dict.fromkeys(map(int, reversed(workers))))

    def kill_one(self) -> None:
        self._program.wait_for(r"answered by \d+\n")
        os.kill(self.answered()[0], signal.SIGKILL)
        self._program.wait_for("another takes its place")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with sqlite3.connect(self.kept / "think-addon" / "memory.sqlite") as other:
            other.execute("BEGIN EXCLUSIVE")
            yield
        other.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer({CHAT: counts}) as serving:
        yield serving


@contextmanager
def crew_of(store: str, server: str, folder: Path, kind: str = "generic") -> Iterator[Crew]:
    """The memory is in the usual file, or with a server."""
    crew = Crew(server, folder, kind)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("XDG_STATE_HOME", str(crew.kept))
        patch.delenv("THINK_MEMORY", raising=False)  # of a crew that another test still has
        if store == "redis":
            redis = stack.enter_context(RedisServer("--requirepass", PASSWORD))
            crew.memory = redis.address.replace("//", f"//:{PASSWORD}@")
            patch.setenv("THINK_MEMORY", crew.memory)
            crew.kept, crew.silenced = redis.folder, redis.paused
        crew.start()
        stack.callback(crew.stop)
        yield crew


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def crew(
    request: pytest.FixtureRequest, server: ByPathServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Crew]:
    folder = tmp_path_factory.mktemp(request.param)
    with crew_of(request.param, server.address, folder) as crew:
        yield crew


@pytest.mark.long
def test_any_worker_answers_any_turn_also_after_a_restart(server: ByPathServer, crew: Crew) -> None:
    left: dict[Talk, Any] = dict.fromkeys(TALKS)
    for turn in range(1, 2 * TURNS + 1):
        for talk in TALKS:
            answer, left[talk] = talk(crew.address, left[talk])
            assert answer == str(turn), talk.__name__
            if talk in RESTORED:
                thoughts = re.findall(r"I count \d+\.", server.requests[-1].body.decode())
                assert thoughts == [thought(earlier) for earlier in range(1, turn)]
        if turn == TURNS:
            assert len(crew.answered()) > 1
            crew.stop()
            crew.start()
    assert len(crew.answered()) > 1


@pytest.mark.long
def test_who_reads_what_is_kept_finds_no_key(crew: Crew) -> None:
    for talk in TALKS:
        talk(crew.address, None)
    kept = b"".join(file.read_bytes() for file in crew.kept.rglob("*") if file.is_file())
    assert b"I count 1." in kept
    assert KEY.encode() not in kept


def insists(crew: Crew, previous: str) -> tuple[str, Any]:
    """Ask until there is an answer; only one of the addon's own counts as a refusal."""
    while True:
        try:
            return from_response(crew.address, previous)
        except openai.APIStatusError:
            raise
        except Exception as error:
            print(f"again, because a worker has gone: {error!r}")


@pytest.mark.long
def test_a_worker_killed_in_the_middle_takes_nothing_along(crew: Crew) -> None:
    """Whatever it was doing: who had an answer goes on from it, with another worker."""

    def talks(turns: int) -> list[str]:
        answers, previous = list[str](), ""
        for _ in range(turns):
            answer, previous = insists(crew, previous)
            answers.append(answer)
        return answers

    with ThreadPoolExecutor(3) as talking:
        pending = [talking.submit(talks, 12) for _ in range(3)]
        crew.kill_one()
        for talk in pending:
            assert talk.result() == [str(turn) for turn in range(1, 13)]


def refusal(ask: Callable[[], Any], kind: type[Exception]) -> Any:
    """The errors of a memory that is away."""
    with pytest.raises(kind, match="memory is away") as refused:
        ask()
    return refused.value.response  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_memory_that_is_silent_keeps_nobody_waiting_and_comes_back(crew: Crew) -> None:
    _, previous = from_response(crew.address, None)
    _, conversation = in_conversation(crew.address, None)
    _, message = in_thread(crew.address, None)
    with openai_at(crew.address) as client:
        with crew.silenced():
            refused = [
                refusal(lambda: from_response(crew.address, previous), openai.InternalServerError),
                refusal(
                    lambda: client.conversations.retrieve(conversation), openai.InternalServerError
                ),
                refusal(client.conversations.create, openai.InternalServerError),
                refusal(lambda: in_thread(crew.address, message), anthropic.InternalServerError),
            ]
            assert {response.status_code for response in refused} == {503}
            assert {response.headers["retry-after"] for response in refused} == {"1"}
            assert [responds(client, streamed).output_text for streamed in (True, False)] == [
                "1"
            ] * 2
            reply = client.chat.completions.create(model="small", messages=[MORE])
            assert reply.choices[0].message.content == "1"
        trying = client.with_options(max_retries=9)
        assert responds(trying, previous_response_id=previous).output_text == "2"


TOOL: Any = {
    "type": "function",
    "function": {"name": "f", "parameters": {"properties": {"a": {"pattern": "[0-9]+"}}}},
}
REFUSED = {"error": {"message": "The provided JSON schema is not supported by xgrammar."}}
PROMPT = {"count": 2, "token_strs": ["<think>", "\u010a"]}
LEARNT = {"server", "prompt", "refuses"}


def refuses_patterns(request: ReceivedRequest) -> Says:
    return Says(REFUSED, 400) if b"pattern" in request.body else Says(whole("thought</think>Done."))


def says_with_tool(crew: Crew) -> None:
    with openai_at(crew.address) as client:
        request: Any = {"messages": [MORE], "tools": [TOOL]}
        message: Any = client.chat.completions.create(model="small", **request).choices[0].message
        assert (message.reasoning_content, message.content) == ("thought", "Done.")


def lessons(crew: Crew, server: ByPathServer) -> set[str]:
    """The kinds of what is kept of the server, by the place where a worker looks for it."""
    if crew.memory.startswith("sqlite:") and not Path(crew.memory.removeprefix("sqlite:")).exists():
        return set()  # it is made for the first lesson
    key = _entry_key(Upstream("http", "127.0.0.1", server.server_port))
    with closing(open_store(settings.read({"memory": crew.memory}))) as store:
        return {name.split()[0] for name in read_lessons(store.get(key), time.time())}


def until(is_so: Callable[[], bool], step: Callable[[], None]) -> None:
    """Take as many steps as it needs, within a bound that is out of the question."""
    for _ in range(10_000):
        if is_so():
            return
        step()
    raise AssertionError("10,000 steps")


def for_a_client(request: ReceivedRequest) -> bool:
    """Tell a question from those for the command's start lines, which have no client's key."""
    return KEY in request.headers.get("authorization", "")


@pytest.mark.long
def test_a_server_is_probed_once_for_all_workers(tmp_path: Path) -> None:
    """Once, because the first worker has shared its lessons before another gets a request. Workers
    that begin at the same instant probe each for themselves, because none waits for another; so
    does one that waits in vain for a store on a busy machine, of which there may be some here.
    """
    rows: Any = {**owned_by("vllm"), "/tokenize": Says(PROMPT), CHAT: refuses_patterns}
    with ByPathServer(rows) as server, crew_of("sqlite", server.address, tmp_path, "auto") as crew:
        says_with_tool(crew)
        until(lambda: lessons(crew, server) >= LEARNT, partial(time.sleep, 0.05))
        until(lambda: len(crew.answered()) == WORKERS, partial(says_with_tool, crew))
        crew.kill_one()
        until(lambda: len(crew.answered()) > WORKERS, partial(says_with_tool, crew))
        requests = [*filter(for_a_client, server.requests)]
        questions = [one.target for one in requests if one.target != CHAT]
        refused = ["refused" for one in requests if one.target == CHAT and b"pattern" in one.body]
        times = Counter([*questions, *refused])
        assert times.keys() == {*IDENTITY_PATHS, "/tokenize", "refused"}
        assert max(times.values()) <= WORKERS - 1, times  # four workers were asked
