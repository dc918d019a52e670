"""Send a measurement's requests and read the replies, with the time of each read, in a process of
its own. What is measured is an `Outcome`; `reading.py` finds the content of the replies.

`python -m tools.bench.client` reads tasks (`Task`) from stdin, one a line, as JSON. It runs each
task, then checks its replies, and prints the outcome (`Outcome`) as a line of JSON.
"""

import bisect
import dataclasses
import json
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tools.bench.reading import SENDING_TIME, fault_in_reply, join_chunks
from tools.bench.replies import WHOLE, ReplyName

READ_SIZE = 1 << 18
"""The most bytes of one read."""
END_OF_CHUNKS = b"\r\n0\r\n\r\n"
"""The last bytes of a body with chunked encoding."""
SECONDS_OF_SILENCE = 30
"""If no reply gets a byte for so long, the run ends with an error: the proxy has lost a reply."""


@dataclass(frozen=True)
class Task:
    """A number of equal requests to one proxy, and the reply that each must get."""

    port: int
    """The port of the proxy."""
    dialect: str
    """The dialect of the requests, a key of `PATHS`."""
    kind: str
    """The kind of the replies: a key of `KINDS` in replies.py, or `whole` (not streamed)."""
    tokens: int
    """The number of tokens of each reply."""
    pace: int = 0
    """How many tokens the server sends in a second; 0 for all at once."""
    total: int = 1
    """The number of requests."""
    at_a_time: int = 1
    """How many requests run at the same time, each on a connection of its own."""
    keep_alive: bool = False
    """True if a request goes over the connection of the one before; False: each on a new one."""
    apart: bool = True
    """True if thinking must come in fields or blocks of its own; False: it may stand in the text,
    between tags.
    """
    model: str = "%s"
    """The model that requests name; `%s` stands for the name of the requested reply."""
    tools: bool = False
    """True if requests offer a tool."""
    path: str = ""
    """The path of the requests; empty for the path of the dialect."""

    @property
    def name(self) -> ReplyName:
        """The name by which the server knows the requested reply: its kind, tokens and pace."""
        return ReplyName(self.kind, self.tokens, self.pace)


@dataclass
class Outcome:
    """What was measured in a task. All times are in seconds."""

    wall: float = 0.0
    """The time from the first request to the last byte of all replies."""
    first: list[float] = field(default_factory=list)
    """For each reply the time until the first byte of its body. It begins before the connection is
    made; on a connection that exists, before the request is sent.
    """
    whole: list[float] = field(default_factory=list)
    """For each reply the time until its last byte, from the same beginning."""
    lateness: tuple[float, float] | None = None
    """Median and 99th percentile of the times from a token's sending to its arrival. Only tokens of
    paced replies hold the time of their sending; `None` if there are fewer than two of them.
    """
    faults: list[str] = field(default_factory=list)
    """The fault of each wrong reply."""


PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "ollama": "/api/chat",
}
"""Dialect -> the path of its requests."""
HEADERS = {
    "openai": "authorization: Bearer none",
    "anthropic": "anthropic-version: 2023-06-01\r\nx-api-key: none",
    "responses": "authorization: Bearer none",
    "ollama": "authorization: Bearer none",
}
"""Dialect -> the headers that its clients send, with a key that nobody checks."""

_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
"""The parameters of the tool `write`."""
TOOLS: dict[str, object] = {
    "openai": {"type": "function", "function": {"name": "write", "parameters": _SCHEMA}},
    "anthropic": {"name": "write", "input_schema": _SCHEMA},
    "responses": {"type": "function", "name": "write", "parameters": _SCHEMA},
}
"""Dialect -> the tool `write`, as a request in this dialect offers it. The calls in replies use it.
No task with tools is in Ollama's dialect.
"""


def request_of(task: Task) -> bytes:
    """Return the bytes of a task's request, head and body."""
    turns = [{"role": "user", "content": "How many streams are open?"}]
    fields: dict[str, object] = {
        "model": task.model % task.name,
        "stream": task.kind != WHOLE,
    }
    if task.tools:
        fields["tools"] = [TOOLS[task.dialect]]
    if task.dialect == "anthropic":
        fields["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    if task.dialect == "responses":
        body = json.dumps({**fields, "max_output_tokens": 2000, "input": turns}).encode()
    else:
        body = json.dumps({**fields, "max_tokens": 2000, "messages": turns}).encode()
    head = f"POST {task.path or PATHS[task.dialect]} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}{HEADERS[task.dialect]}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


class Reply:
    """A request that was sent, and its reply as far as it has arrived.

    Times are those of `time.monotonic()`, in seconds.
    """

    def __init__(self, body: bytes, port: int, connection: socket.socket | None = None) -> None:
        """Send a request to `port`, over `connection` or, if that is None, over a new one.

        `body`: the whole request, with its head.
        """
        self.begun = time.monotonic()
        """When the exchange began, before its connection was made."""
        self.first = self.ended = 0.0
        """When the first bytes of the body arrived; when the last bytes arrived, or the connection
        ended. Each is 0.0 before that.
        """
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        """The socket of the exchange."""
        self.head = b""
        """The response's status line and headers."""
        self.pieces: list[bytes] = []
        """The bytes of the body, as each read returned them."""
        self.read_times: list[float] = []
        """For each of `pieces` the time at which it was read."""
        self._in_body = False
        # bytes that the body still lacks; None for a body with chunked encoding, whose length
        # nobody knows before its end
        self._missing: int | None = None
        # the last bytes of a chunked body, as many as END_OF_CHUNKS has: reads may cut that end
        self._tail = b""
        self.connection.sendall(body)

    def read(self) -> bool:
        """Read the bytes that have arrived. Return True at the reply's end: if it is complete, or
        if the peer has closed the connection.
        """
        data = self.connection.recv(READ_SIZE)
        now = time.monotonic()
        if not data:
            self.ended = now
            return True
        if not self._in_body:
            data = self._without_head(data)
        if not data:
            return False
        self.first = self.first or now
        self.pieces.append(data)
        self.read_times.append(now)
        if self._is_last(data):
            self.ended = now
            return True
        return False

    def _without_head(self, data: bytes) -> bytes:
        """Return the part of `data` that belongs to the body; the rest is added to `head`."""
        self.head += data
        head, separator, body = self.head.partition(b"\r\n\r\n")
        if not separator:
            return b""
        self.head, self._in_body = head, True
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        self._missing = int(length) if length else None
        return body

    def _is_last(self, data: bytes) -> bool:
        """Return True if the body is complete with `data`, the newest bytes of it."""
        if self._missing is not None:
            self._missing -= len(data)
            return self._missing <= 0
        self._tail = data[-7:] if len(data) > 7 else (self._tail + data)[-7:]
        return self._tail == END_OF_CHUNKS

    @property
    def body(self) -> bytes:
        """The body without its chunked encoding.

        If that encoding is invalid: head and body as received, for the message of the fault.
        """
        joined = b"".join(self.pieces)
        try:
            return joined if b"content-length:" in self.head.lower() else join_chunks(joined)
        except (ValueError, IndexError):
            return self.head + joined

    def lateness(self) -> Iterator[float]:
        """Yield for each token of a paced reply the seconds from its sending to its arrival.

        The text of such a token holds the time of its sending. Each time counts once, because a
        Responses stream repeats all tokens in its last event.
        """
        joined, ends, length = b"".join(self.pieces), list[int](), 0
        seen = set[bytes]()
        for piece in self.pieces:
            length += len(piece)
            ends.append(length)
        for match in SENDING_TIME.finditer(joined):
            if match[1] in seen:
                continue
            seen.add(match[1])
            yield self.read_times[bisect.bisect_left(ends, match.end())] - float(match[1])


class RunningTask:
    """A task while it runs: its connections, and the replies so far."""

    def __init__(self, task: Task) -> None:
        self._task, self._request = task, request_of(task)
        self._waiting = selectors.DefaultSelector()
        self.replies: list[Reply] = []

    def run(self) -> float:
        """Send all requests and read their replies.

        Returns the seconds from the first request to the last byte of all replies. Raises
        RuntimeError after `SECONDS_OF_SILENCE`.
        """
        begun, task = time.monotonic(), self._task
        for _ in range(min(task.at_a_time, task.total)):
            self._send_next()
        while self._waiting.get_map():
            ready = self._waiting.select(SECONDS_OF_SILENCE)
            if not ready:
                raise RuntimeError(
                    f"{len(self._waiting.get_map())} replies do not come to their end"
                )
            for key, _ in ready:
                if key.data.read():
                    self._finish(key.data)
        for reply in self.replies:
            reply.connection.close()
        self._waiting.close()
        return max(reply.ended for reply in self.replies) - begun

    def _send_next(self, connection: socket.socket | None = None) -> None:
        """Send the next request, over `connection` or, if that is None, over a new one."""
        reply = Reply(self._request, self._task.port, connection)
        self.replies.append(reply)
        self._waiting.register(reply.connection, selectors.EVENT_READ, reply)

    def _finish(self, reply: Reply) -> None:
        """Stop waiting for this reply, which has ended; send the next request if one is left."""
        self._waiting.unregister(reply.connection)
        if not self._task.keep_alive:
            reply.connection.close()
        if len(self.replies) < self._task.total:
            self._send_next(reply.connection if self._task.keep_alive else None)


def run_task(task: Task) -> Outcome:
    """Run a task, then check each of its replies; return its times and faults."""
    running = RunningTask(task)
    wall, replies = running.run(), running.replies
    first = [reply.first - reply.begun for reply in replies]
    whole = [reply.ended - reply.begun for reply in replies]
    lateness = lateness_of(replies) if task.pace else None
    return Outcome(wall, first, whole, lateness, faults(task, replies))


def lateness_of(replies: Iterable[Reply]) -> tuple[float, float] | None:
    """Return median and 99th percentile of the seconds from a token's sending to its arrival.

    Returns None if fewer than two tokens hold the time of their sending.
    """
    late = [second for reply in replies for second in reply.lateness()]
    return (
        (statistics.median(late), statistics.quantiles(late, n=100)[98]) if len(late) > 1 else None
    )


def faults(task: Task, replies: Iterable[Reply]) -> list[str]:
    """Return the fault of each wrong reply. To save time, equal replies are checked only once."""
    seen: dict[bytes, str] = {}
    tokens = []
    for reply in replies:
        body = reply.body
        if body not in seen:
            seen[body] = fault_in_reply(task.name, task.dialect, task.apart, body)
        tokens.append(seen[body])
    return [token for token in tokens if token]


def main() -> None:
    """Run the task of each line of stdin, and print its outcome as a line of JSON."""
    for line in sys.stdin:
        print(json.dumps(dataclasses.asdict(run_task(Task(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
