"""mitmproxy's layers without sockets: bytes in, bytes out, and the hooks called at once."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.http import HTTPFlow, Request, Response
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.mode_specs import ProxyMode

from converter.addon.hooks.exchange_listener import ExchangeListener
from converter.addon.layers.connection import SECONDS_TO_OPEN, ReplyLayer
from converter.addon.layers.guard import HTTPMode

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Marker:
    """A stream function that puts marks around its chunks. `calls`: the chunks; `beside_calls`:
    those of calls beside the loop.
    """

    calls: list[bytes] = field(default_factory=list)
    silent: bool = False
    is_long: bool = False
    holds: bool = False
    stopped: bool = False
    wants_next_request: bool = False
    may_leave_server: bool = False
    beside_calls: list[bytes] = field(default_factory=list)

    def __call__(self, chunk: bytes) -> list[bytes]:
        self.calls.append(chunk)
        if self.silent:
            return []
        return [b"<", chunk, b">"] if chunk else [b"<end>"]

    async def call_in_thread(self, chunk: bytes) -> list[bytes]:
        self.beside_calls.append(chunk)
        await asyncio.sleep(0.01)
        return self(chunk)

    def abort(self, reason: str) -> list[bytes]:
        return [b"<held>", b"<abort: " + reason.encode() + b">"]

    def next_request(self, possible: bool) -> Request | None:
        raise NotImplementedError

    def ping(self) -> list[bytes]:
        return [] if self.silent else [b"<ping>"]


@dataclass
class Says(ExchangeListener):
    """A listener that answers with plain texts."""

    seconds_of_silence: float = 10.0
    starts_early: Marker | None = None
    fails: bool = True
    longest_request: int = 1 << 30
    hosts: WeakKeyDictionary[HTTPFlow, str] = field(default_factory=WeakKeyDictionary)

    def allows_size(self, flow: HTTPFlow, size: int) -> bool:  # noqa: ARG002
        return size <= self.longest_request

    def make_error(self, flow: HTTPFlow, reason: str) -> Response | None:
        if not self.fails or flow.request.path == "/unknown":
            return None
        return Response.make(502, b"{" + reason.encode() + b"}", {"content-type": "a/json"})

    def early_head(self, flow: HTTPFlow) -> Response | None:
        if self.starts_early is None or flow.request.path == "/unknown":
            return None
        return streamed(self.starts_early)

    def body_reader(self, flow: HTTPFlow) -> None:  # noqa: ARG002
        return None

    def last_pieces(self, flow: HTTPFlow, begun: object) -> list[bytes]:
        assert begun is self.starts_early
        assert flow.response
        return [b"<late: %d " % flow.response.status_code, flow.response.content or b"", b">"]


def streamed(function: Any) -> Response:
    head = Response.make(200, headers={"content-type": "x", "transfer-encoding": "chunked"})
    head.stream = function
    return head


class Core:
    """A client, our layer, and servers whose answers the test gives.

    `hooks`: called by the hook's name; `refuse`: the error of the next connections; `queued`:
    hooks wait until `release()` where `hold` names them.
    """

    def __init__(self, listener: Says | None = None, **options: Any) -> None:
        chosen = Options()
        Proxyserver().load(chosen)  # which only calls `add_option`
        chosen.update(connection_strategy="lazy", **options)
        mode = ProxyMode.parse("reverse:http://127.0.0.1:8000")
        client = Client(
            peername=("c", 1), sockname=("p", 2), timestamp_start=0.0, state=ConnectionState.OPEN
        )
        client.proxy_mode = mode
        context = Context(client, chosen)
        context.server.address = ("127.0.0.1", 8000)
        self.client = client
        self.listener = listener or Says()
        self.layer = ReplyLayer(context, HTTPMode.transparent, self.listener)
        self.servers: list[Server] = []
        self.hooks: dict[str, Callable[[HTTPFlow], object]] = {}
        self.named: list[str] = []
        self.flows: list[HTTPFlow] = []
        self.writes: list[bytes] = []
        self.sent: list[bytes] = []
        self.timers: list[commands.RequestWakeup] = []
        self.watches: list[commands.RequestWakeup] = []
        self.closed: list[object] = []
        self.refuse = ""
        self.opens_never: Callable[[Server], object] | None = None
        self.choose: Callable[[NextLayer], object] = lambda _: None
        self.hold = ""
        self.held: list[commands.StartHook] = []
        self.happens(events.Start())

    def __enter__(self) -> "Core":
        return self

    def __exit__(self, *_: object) -> None:
        assert not self.held

    def happens(self, event: events.Event) -> None:
        """Give the layer an event, and execute its commands at once."""
        waiting = [event]
        while waiting:
            for command in self.layer.handle_event(waiting.pop(0)):
                waiting += self._does(command)

    def _does(self, command: commands.Command) -> list[events.Event]:
        match command:
            case commands.OpenConnection():
                opened = self._opens(command)
                return [opened] if opened else []
            case commands.SendData():
                (self.writes if command.connection is self.client else self.sent).append(
                    command.data
                )
            case commands.RequestWakeup():
                watches = command.delay == SECONDS_TO_OPEN
                (self.watches if watches else self.timers).append(command)
            case commands.CloseConnection():
                self.closed.append(command.connection)
                command.connection.state = ConnectionState.CLOSED
            case commands.StartHook():
                return self._calls(command)
            case _:
                assert isinstance(command, commands.Log), command
        return []

    def _opens(self, command: commands.OpenConnection) -> events.Event | None:
        server = command.connection
        if self.opens_never:
            self.opens_never(server)
            return None
        if self.refuse:
            server.error = self.refuse
            return events.OpenConnectionCompleted(command, self.refuse)
        server.state = ConnectionState.OPEN
        server.peername = ("127.0.0.1", 8000)
        self.servers.append(server)
        return events.OpenConnectionCompleted(command, None)

    def _calls(self, hook: commands.StartHook) -> list[events.Event]:
        self.named.append(hook.name)
        (flow,) = hook.args()
        if isinstance(flow, NextLayer):
            self.choose(flow)
            return [events.HookCompleted(hook)]
        if isinstance(flow, HTTPFlow) and flow not in self.flows:
            self.flows.append(flow)
        if hook.name in self.hooks:
            self.hooks[hook.name](flow)
        if hook.name == self.hold:
            self.held.append(hook)
            return []
        return [events.HookCompleted(hook)]

    def release(self) -> None:
        """Let the held hooks end."""
        held, self.held, self.hold = self.held, [], ""
        for hook in held:
            self.happens(events.HookCompleted(hook))

    def ask(self, request: bytes = REQUEST) -> None:
        self.happens(events.DataReceived(self.client, request))

    def answer(self, data: bytes) -> None:
        """One read from the server connected last."""
        self.happens(events.DataReceived(self.servers[-1], data))

    def server_closes(self) -> None:
        self.servers[-1].state &= ~ConnectionState.CAN_READ
        self.happens(events.ConnectionClosed(self.servers[-1]))

    def client_leaves(self) -> None:
        self.client.state &= ~ConnectionState.CAN_READ
        self.happens(events.ConnectionClosed(self.client))

    def tick(self) -> None:
        """Fire the timer that was set last."""
        self.happens(events.Wakeup(self.timers[-1]))

    def streams_with(self, function: Any) -> None:
        def head(flow: HTTPFlow) -> None:
            assert flow.response
            flow.response.stream = function

        self.hooks["responseheaders"] = head

    def received(self) -> bytes:
        """Return the bytes that the client received since the last call, with their framing."""
        writes, self.writes = self.writes, []
        return b"".join(writes)
