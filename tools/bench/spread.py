"""Check that processes on two machines share their memory: spread conversations over them.

Each machine is a Linux network namespace with a `think-addon` of two workers. The first also has
HAProxy with the manual's configuration, Redis and the model server; the second reaches them over a
virtual cable. Each turn goes out on a new connection, so that HAProxy may send it to any process.
Instead of the history, a request names an id: `previous_response_id`, a conversation of the
Conversations API, or a thread of the Messages API; a third of the conversations each.

The model's answer is a digest of all texts that it received. A turn is *exact* if this is the
digest of all texts of the conversation, thoughts too, in order: then the addon has put the history
together from the shared memory.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Any

import redis

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import whole
from tests.support.harness import Program
from tests.support.namespaces import CLIENT, GATEWAY, SERVER, Networks
from tests.support.redis_server import RedisServer
from tests.support.scripted_server import ReceivedRequest
from tools.bench.processes import PROJECT, PinnedProcess, cores, wait_for_port

WORKERS = 2
"""How many workers each machine has."""
_AT_A_TIME = 8
"""How many turns are sent at the same time."""
_KEPT = 20_000
"""How many replies the memory may keep: more than there are turns, so that none is dropped."""
_SECONDS_TO_START = 60
"""How long HAProxy may take to listen."""
_MODEL_PORT, _BALANCER_PORT, _FIRST_PORT, _SECOND_PORT = 8001, 8080, 8081, 8082
_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
"""Folders in which HAProxy is looked for."""
_PROCESS_HEADER_ADDON = """
import os

def responseheaders(flow):
    flow.response.headers["x-process"] = f"{os.getpid()}"
"""
"""An addon that writes the id of its process into a header of each response."""
_REDIS_COUNTS = ("total_commands_processed", "total_net_input_bytes", "total_net_output_bytes")
"""Counters of Redis that the report has."""


class ByLastReply:
    """How a request names its history by an id, and how its reply is read.

    This class sends the id of the last reply (`previous_response_id`); subclasses send others.
    """

    path = "/v1/responses"
    """The path of the requests."""

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the fields with which the next request sends `text` and names the history."""
        return {"input": text, "previous_response_id": conversation.previous}

    def reply_texts(self, reply: Any) -> list[str]:
        """Return the thought and the answer in a reply's JSON."""
        items = reply.get("output", ())
        return [(item.get("content") or item["summary"])[0]["text"] for item in items]

    def next_id(self, conversation: "Conversation", reply: Any) -> str | None:
        """Return the id by which the next request names the history up to this reply."""
        name: str | None = reply.get("id", conversation.previous)
        return name


class ByConversation(ByLastReply):
    """Sends the id of a conversation of the Conversations API, which the first turn creates."""

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the fields of the next request; first create a conversation if there is none."""
        if conversation.previous is None:
            conversation.previous = _post("/v1/conversations", {})[1]["id"]
        return {"input": text, "conversation": conversation.previous}

    def next_id(self, conversation: "Conversation", reply: Any) -> str | None:  # noqa: ARG002
        """Return the id of the conversation, which does not change."""
        return conversation.previous


class ByThread(ByLastReply):
    """Continues a thread of the Messages API: sends the id of its last message."""

    path = "/v1/messages"
    """The path of the requests."""

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the fields of the next request, which continues the thread or creates it."""
        goes_on = {"type": "continue", "previous_message_id": conversation.previous}
        thread = goes_on if conversation.previous else {"type": "create"}
        texts = [{"role": "user", "content": text}]
        return {"max_tokens": 100, "messages": texts, "thread": thread}

    def reply_texts(self, reply: Any) -> list[str]:
        """Return the thought and the answer in a message's JSON."""
        return [block.get("thinking") or block["text"] for block in reply.get("content", ())]


KINDS = {
    "by the last reply": ByLastReply(),
    "conversations": ByConversation(),
    "threads": ByThread(),
}
"""Name of a kind -> how its conversations name their history."""


@dataclass
class Conversation:
    """A conversation, with all that its next request needs."""

    name: str
    """A name that stands in each text, so that no two conversations are equal."""
    kind: ByLastReply
    """How the requests name the history."""
    turns: list[str] = field(default_factory=list)
    """The texts of user and model in turn."""
    previous: str | None = None
    """The id by which the next request names the history; `None` before the first one."""
    process: str = ""
    """The id of the process that answered the last turn; empty before the first one."""


@dataclass
class Result:
    """What was counted while the turns of all conversations were sent."""

    turns: int
    """The number of turns of all conversations."""
    seconds: float = 0.0
    """The time from the first request to the last reply."""
    exact: int = 0
    """How many turns reached the model with a history that was complete and in order."""
    moves: int = 0
    """How many turns another process answered than the turn before."""
    processes: set[str] = field(default_factory=set)
    """The ids of all processes that answered."""
    used: dict[str, float] = field(default_factory=dict)
    """Counter of Redis -> by how much it grew."""
    wrong: list[str] = field(default_factory=list)
    """Replies to the turns that were not exact."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report about this run."""
        yield f"{self.exact:,} of {self.turns:,} turns exact, {len(self.processes)} processes"
        yield f"{self.moves:,} turns answered by another process than the turn before"
        yield f"{self.turns / self.seconds:,.0f} turns a second"
        for name, value in self.used.items():
            yield f"{name}: {value / self.turns:,.3f} a turn"
        yield from self.wrong[:5]


def expected_texts(text: Sequence[str]) -> list[str]:
    """Return the thought and the answer of the model to a conversation of these texts.

    The thought counts the texts, the answer is their digest.
    """
    seen = hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]
    return [f"I read {len(text)} turns.", seen]


def _model_reply(request: ReceivedRequest) -> Says:
    """Return the model's reply to a request: a digest of the texts in it."""
    turns = json.loads(request.body)["messages"]
    turns = [_text(turn["content"]) for turn in turns]
    thought, texts = expected_texts(turns)
    return Says(whole(f"<think>{thought}</think>{texts}"))


def _text(content: Any) -> str:
    """Return the text of a message's content, plain or in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class _Model(ByPathServer):
    """The model server. It keeps no list of its requests, because there are many."""

    def reply(self, request: ReceivedRequest) -> Says:
        """Return the model's reply to a chat completions request."""
        return _model_reply(request) if request.target == CHAT else super().reply(request)


class TurnSender:
    """Sends the turns of all conversations, eight at a time.

    The next turn is always that of a conversation which is chosen at random.
    """

    def __init__(self, conversations: int, turns: int) -> None:
        self._turns = turns
        numbered = zip(range(conversations), cycle(KINDS.values()))
        self._waiting = [Conversation(f"c{number}", kind) for number, kind in numbered]
        self._chosen, self._lock = random.Random(10), threading.Lock()
        self.result = Result(conversations * turns)

    def run(self) -> None:
        """Send all turns of all conversations, and count them in `result`."""
        begun = time.monotonic()
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            for talk in [threads.submit(self._send_turns) for _ in range(_AT_A_TIME)]:
                talk.result()
        self.result.seconds = time.monotonic() - begun

    def _send_turns(self) -> None:
        """Send turns, one after another, until all conversations are complete."""
        while conversation := self._take_conversation():
            texts = self._send_turn(conversation)
            with self._lock:
                self._record(conversation, *texts)
                if len(conversation.turns) < 2 * self._turns:
                    self._waiting.append(conversation)

    def _take_conversation(self) -> Conversation | None:
        """Return a conversation that has turns left; `None` if none waits."""
        with self._lock:
            if not self._waiting:
                return None
            return self._waiting.pop(self._chosen.randrange(len(self._waiting)))

    def _send_turn(self, conversation: Conversation) -> tuple[list[str], str, Any]:
        """Send the next turn; return the expected texts, the answering process, and the reply."""
        text = f"{conversation.name}: turn {len(conversation.turns) // 2}"
        conversation.turns.append(text)
        body = {"model": "small", **conversation.kind.request_fields(conversation, text)}
        return expected_texts(conversation.turns), *_post(conversation.kind.path, body)

    def _record(
        self, conversation: Conversation, expected: list[str], process: str, reply: Any
    ) -> None:
        """Compare the reply with the expected texts, count the result, and add the texts to the
        conversation.
        """
        texts = conversation.kind.reply_texts(reply)
        self.result.exact += texts == expected
        if texts != expected:
            self.result.wrong.append(f"{conversation.turns[-1]}: {json.dumps(reply)[:300]}")
        self.result.moves += conversation.process not in ("", process)
        self.result.processes.add(process)
        conversation.turns.append("<think>{}</think>\n\n{}".format(*expected))
        conversation.previous = conversation.kind.next_id(conversation, reply)
        conversation.process = process


def _post(path: str, body: object) -> tuple[str, Any]:
    """Send a request to HAProxy; return the id of the process that answered, and its JSON."""
    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    with closing(HTTPConnection("127.0.0.1", _BALANCER_PORT, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.headers.get("x-process", ""), json.loads(response.read())


def run(conversations: int, turns: int) -> Result:
    """Run `conversations` conversations of `turns` turns each on two machines; return the counts.

    Raises NotPermittedError if this machine may not make network namespaces.
    """
    talking = TurnSender(conversations, turns)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spread")))
        networks = stack.enter_context(Networks())
        here, there = networks.at_gateway, networks.at_client
        open_to_all = ("--bind", "0.0.0.0", "--protected-mode", "no", "--appendfsync", "everysec")
        kept = RedisServer(*open_to_all)
        stack.push(kept)
        here(kept.start)
        stack.enter_context(here(lambda: _Model(None, _MODEL_PORT, SERVER)))
        memory = f"redis://{GATEWAY}:{kept.port}/0"
        for start, host, port in ((here, "127.0.0.1", _FIRST_PORT), (there, CLIENT, _SECOND_PORT)):
            crew = stack.enter_context(_start_workers(start, host, port, memory, folder))
            crew.wait_for("listening at", WORKERS)
        log = folder / "haproxy.log"
        balancer = stack.enter_context(
            here(lambda: PinnedProcess(_balancer_command(folder), cores()[0], log))
        )
        here(lambda: wait_for_port(_BALANCER_PORT, balancer, _SECONDS_TO_START))
        with closing(here(lambda: redis.Redis(port=kept.port))) as client:
            before = here(client.info)
            here(talking.run)
            talking.result.used = _growth_of_counts(before, here(client.info))
    return talking.result


def _start_workers(
    start: Callable[[Callable[[], Program]], Program],
    host: str,
    port: int,
    memory: str,
    folder: Path,
) -> Program:
    """Start `think-addon` on one machine. `start`: calls a function, which starts a program, on that
    machine; `memory`: the address of Redis.
    """
    own = folder / f"machine{port}"
    own.mkdir()
    script = own / "names_itself.py"
    script.write_text(_PROCESS_HEADER_ADDON)
    options = ["--dump", "--workers", f"{WORKERS}", "--host", host, "--port", f"{port}"]
    limits = f"think_limits=replies={_KEPT}"
    for value in (f"confdir={own}", "think_server=generic", f"think_memory={memory}", limits):
        options += ["--set", value]
    program = [
        sys.executable,
        "-m",
        "converter.extras.command",
        f"http://{SERVER}:{_MODEL_PORT}",
        *options,
    ]
    command = [*program, "--", "-s", str(script)]
    return start(lambda: Program(command, own / "log", cwd=PROJECT))


def _balancer_command(folder: Path) -> list[str]:
    """Return the command of HAProxy with the manual's configuration."""
    config = folder / "haproxy.cfg"
    manual = (PROJECT / "docs" / "deploy" / "haproxy.cfg").read_text()
    config.write_text(manual.replace(f"127.0.0.1:{_SECOND_PORT}", f"{CLIENT}:{_SECOND_PORT}"))
    haproxy = shutil.which("haproxy", path=_PATH)
    assert haproxy, "haproxy is missing: make programs installs it"
    return [haproxy, "-db", "-f", str(config)]


def _growth_of_counts(before: Any, after: Any) -> dict[str, float]:
    """Return by how much Redis' counters, processor time and memory grew in the run."""
    used = {name: float(after[name] - before[name]) for name in _REDIS_COUNTS}
    worked = ("used_cpu_user", "used_cpu_sys")
    used["microseconds of a core"] = 1e6 * sum(after[name] - before[name] for name in worked)
    used["bytes in memory"] = float(after["used_memory"] - before["used_memory"])
    return used
