"""Spread conversations over proxies on two machines that share one Redis: count the turns for which
the model got the whole history, and the cost of a turn. `memory.py` runs this.

Each machine is a Linux network namespace with a `think-addon` of two workers. The first also has
HAProxy with the manual's configuration, Redis and the model server; the second reaches them over a
virtual cable. Each turn goes out on a new connection, so that HAProxy may send it to any process.

A request has only the newest text, and an id in place of the history. It is the id of the last
response, of a conversation of the Conversations API, or of the last message in a thread of the
Messages API. Each of these kinds has a third of the conversations.

The model's answer is a digest of all texts that it received. A turn is *exact* if the answer is the
digest of all texts of the conversation in order, with the thoughts. Then the addon has put the
history together from the shared memory.
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
"""How many replies the memory may keep: more than there are turns, so that it drops none."""
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
"""A script for mitmproxy that writes its process id into each response's header `x-process`, so
that the client sees which worker answered.
"""
_REDIS_COUNTS = ("total_commands_processed", "total_net_input_bytes", "total_net_output_bytes")
"""Counters that Redis reports of itself, and whose growth the report of a run shows."""


class ByLastReply:
    """Builds requests that name their history by the last response's id, and reads the replies.

    The id goes into the field `previous_response_id` of the Responses API. The subclasses name the
    history by the id of a conversation, or of the last message in a thread.
    """

    path = "/v1/responses"
    """The path to which the requests are sent."""

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the next request's fields that hold the user's `text` and name the history."""
        return {"input": text, "previous_response_id": conversation.previous}

    def reply_texts(self, reply: Any) -> list[str]:
        """Return the thought and the answer in a response's JSON; an empty list for an error."""
        items = reply.get("output", ())
        return [(item.get("content") or item["summary"])[0]["text"] for item in items]

    def next_id(self, conversation: "Conversation", reply: Any) -> str | None:
        """Return the id by which the next request names the history up to this reply.

        An error has no id: then return the id of the reply before it, or None if there was none.
        """
        name: str | None = reply.get("id", conversation.previous)
        return name


class ByConversation(ByLastReply):
    """Builds requests that name their history by the id of a conversation of the Conversations API.

    The conversation is created before its first turn.
    """

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the fields of the next request that hold the user's `text` and name the history.

        Before the first request, create the conversation.
        """
        if conversation.previous is None:
            conversation.previous = _post("/v1/conversations", {})[1]["id"]
        return {"input": text, "conversation": conversation.previous}

    def next_id(self, conversation: "Conversation", reply: Any) -> str | None:  # noqa: ARG002
        """Return the conversation's id, which is the same for all turns."""
        return conversation.previous


class ByThread(ByLastReply):
    """Builds requests that name their history by the last message's id in a thread of the Messages
    API.
    """

    path = "/v1/messages"
    """The path to which the requests are sent."""

    def request_fields(self, conversation: "Conversation", text: str) -> dict[str, object]:
        """Return the fields of the next request that hold the user's `text` and name the history.

        The first request creates the thread, each other one continues it.
        """
        goes_on = {"type": "continue", "previous_message_id": conversation.previous}
        thread = goes_on if conversation.previous else {"type": "create"}
        texts = [{"role": "user", "content": text}]
        return {"max_tokens": 100, "messages": texts, "thread": thread}

    def reply_texts(self, reply: Any) -> list[str]:
        """Return the thought and the answer in a message's JSON; an empty list for an error."""
        return [block.get("thinking") or block["text"] for block in reply.get("content", ())]


KINDS = {
    "by the last reply": ByLastReply(),
    "conversations": ByConversation(),
    "threads": ByThread(),
}
"""Name of a kind of conversation -> the object that builds its requests and reads its replies."""


@dataclass
class Conversation:
    """A conversation: its texts so far, and what its next request needs."""

    name: str
    """A name that stands in each of the user's texts, so that no two conversations are equal."""
    kind: ByLastReply
    """Builds the requests and reads the replies: a value of `KINDS`."""
    turns: list[str] = field(default_factory=list)
    """The texts so far: user, model, user ... A text of the model has its thought between tags."""
    previous: str | None = None
    """The id by which the next request names the history; `None` as long as there is none."""
    process: str = ""
    """The id of the process that answered the last turn; empty before the first reply."""


@dataclass
class Result:
    """The counts of a run, in which all turns of all conversations are sent."""

    turns: int
    """How many turns are sent, in all conversations together."""
    seconds: float = 0.0
    """The time from the first request to the last reply."""
    exact: int = 0
    """How many turns reached the model with a history that was complete and in order."""
    moves: int = 0
    """How many turns were answered by another process than the conversation's turn before."""
    processes: set[str] = field(default_factory=set)
    """The ids of all processes that answered."""
    used: dict[str, float] = field(default_factory=dict)
    """Name of a counter of Redis, as the report calls it -> by how much it grew in the run."""
    wrong: list[str] = field(default_factory=list)
    """For each turn that was not exact: the user's text, and the beginning of the reply."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report about this run, with at most five of `wrong`."""
        yield f"{self.exact:,} of {self.turns:,} turns exact, {len(self.processes)} processes"
        yield f"{self.moves:,} turns answered by another process than the turn before"
        yield f"{self.turns / self.seconds:,.0f} turns a second"
        for name, value in self.used.items():
            yield f"{name}: {value / self.turns:,.3f} a turn"
        yield from self.wrong[:5]


def expected_texts(text: Sequence[str]) -> list[str]:
    """Return the thought and the answer that the model gives to a conversation of these texts.

    The thought counts the texts: `I read 3 turns.` The answer is their digest, 16 hex digits.
    """
    seen = hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]
    return [f"I read {len(text)} turns.", seen]


def _model_reply(request: ReceivedRequest) -> Says:
    """Return the model's reply to a request: thought and answer, which `expected_texts` makes from
    the texts in the request.
    """
    turns = json.loads(request.body)["messages"]
    turns = [_text(turn["content"]) for turn in turns]
    thought, texts = expected_texts(turns)
    return Says(whole(f"<think>{thought}</think>{texts}"))


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class _Model(ByPathServer):
    """The model server. Unlike its base class, it keeps no chat completions requests: too many."""

    def reply(self, request: ReceivedRequest) -> Says:
        """Return the model's reply to a chat completions request, the base class's to any other."""
        return _model_reply(request) if request.target == CHAT else super().reply(request)


class TurnSender:
    """Sends the turns of all conversations, eight at a time.

    A thread takes a conversation at random, sends its next turn, and puts it back if it has more.
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
        """Send turns of random conversations, one after another, until none waits for its next one.

        This is the work of one of the eight threads.
        """
        while conversation := self._take_conversation():
            texts = self._send_turn(conversation)
            with self._lock:
                self._record(conversation, *texts)
                if len(conversation.turns) < 2 * self._turns:
                    self._waiting.append(conversation)

    def _take_conversation(self) -> Conversation | None:
        """Take a random conversation out of those that have turns left, so that no other thread
        sends its turn. `None` if there is none: all are complete, or other threads have the rest.
        """
        with self._lock:
            if not self._waiting:
                return None
            return self._waiting.pop(self._chosen.randrange(len(self._waiting)))

    def _send_turn(self, conversation: Conversation) -> tuple[list[str], str, Any]:
        """Send the next turn; return the expected thought and answer, the id of the process that
        answered, and the reply's JSON.
        """
        text = f"{conversation.name}: turn {len(conversation.turns) // 2}"
        conversation.turns.append(text)
        body = {"model": "small", **conversation.kind.request_fields(conversation, text)}
        return expected_texts(conversation.turns), *_post(conversation.kind.path, body)

    def _record(
        self, conversation: Conversation, expected: list[str], process: str, reply: Any
    ) -> None:
        """Compare the reply with `expected` (thought and answer), and count that in `result`.

        Then put what the next turn needs into the conversation.
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
    """Send a request to HAProxy; return the id of the process that answered, and its JSON reply."""
    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    with closing(HTTPConnection("127.0.0.1", _BALANCER_PORT, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.headers.get("x-process", ""), json.loads(response.read())


def run(conversations: int, turns: int) -> Result:
    """Send `conversations` conversations of `turns` turns each through two machines; return counts.

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
    """Start the workers of `think-addon` on one machine, at `host` and `port`.

    `start`: takes a function that starts a program, and calls it on that machine; `memory`: the
    address of Redis.
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
    """Return the command of HAProxy with the manual's configuration, which is written to `folder`.

    In it, the second machine's address replaces the manual's.
    """
    config = folder / "haproxy.cfg"
    manual = (PROJECT / "docs" / "deploy" / "haproxy.cfg").read_text()
    config.write_text(manual.replace(f"127.0.0.1:{_SECOND_PORT}", f"{CLIENT}:{_SECOND_PORT}"))
    haproxy = shutil.which("haproxy", path=_PATH)
    assert haproxy, "haproxy is missing: make programs installs it"
    return [haproxy, "-db", "-f", str(config)]


def _growth_of_counts(before: Any, after: Any) -> dict[str, float]:
    """Return by how much the counters of Redis, its processor time and its memory grew in the run.

    `before`, `after`: what Redis reported of itself (`INFO`).
    """
    used = {name: float(after[name] - before[name]) for name in _REDIS_COUNTS}
    worked = ("used_cpu_user", "used_cpu_sys")
    used["microseconds of a core"] = 1e6 * sum(after[name] - before[name] for name in worked)
    used["bytes in memory"] = float(after["used_memory"] - before["used_memory"])
    return used
