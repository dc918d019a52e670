"""Reads from socket to socket: only while nothing is to be waited for, and in order."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.events import DataReceived

from converter.addon.layers.splice import Splice, make_carrier, start_splice
from converter.addon.layers.stream_turns import LONG_READ
from tests.support.proxy_core import END, HEAD, REQUEST, Core, Marker, chunk

SECONDS = 60.0  # only when a test has failed


@dataclass
class Short:
    """A carrier that marks what it takes; `ends` is the read with the reply's end."""

    ends: bytes = b"end"
    open: bool = True
    goes_on: bool = True
    taken: list[bytes] = field(default_factory=list)

    def is_open(self) -> bool:
        return self.open

    def take(self, data: bytes) -> bytes:
        self.taken.append(data)
        self.goes_on = data != self.ends
        return b"" if data == b"nothing" else b"<" + data + b">"


@dataclass
class Ends:
    """A server's socket and a client's, with mitmproxy's between them; `long` is what went its way.

    `busy`: mitmproxy's task works at a read until it is set.
    """

    handler: Any
    connection: object
    server: socket.socket
    client: socket.socket
    short: Short
    long: list[bytes]
    events: list[DataReceived]
    busy: asyncio.Event

    def begin(self) -> None:
        start_splice(self.handler, self.connection, self.short)  # type: ignore[arg-type]

    def say(self, data: bytes) -> None:
        self.server.send(data)

    async def received(self, length: int) -> bytes:
        async with asyncio.timeout(SECONDS):
            return await asyncio.get_running_loop().sock_recv(self.client, length)

    async def until(self, *long: bytes) -> None:
        """Wait until so much went the long way."""
        async with asyncio.timeout(SECONDS):
            while self.long != list(long):
                await asyncio.sleep(0.001)


class Peer:
    """A client, as far as it has a name."""

    peername = ("127.0.0.1", 1)


@contextmanager
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


@asynccontextmanager
async def two_ends() -> AsyncIterator[Ends]:
    with sockets() as (server, to_server), sockets() as (client, to_client):
        connection, events, long = object(), list[DataReceived](), list[bytes]()
        peer = Peer()
        reading = await asyncio.open_connection(sock=to_server)
        writing = await asyncio.open_connection(sock=to_client)
        transports = {
            connection: SimpleNamespace(reader=reading[0], writer=reading[1]),
            peer: SimpleNamespace(reader=writing[0], writer=writing[1]),
        }
        busy = asyncio.Event()
        busy.set()

        async def server_event(event: DataReceived) -> None:
            events.append(event)

        async def reads() -> None:
            while data := await reading[0].read(65535):
                long.append(data)
                await busy.wait()
            long.append(b"")

        handler = SimpleNamespace(
            transports=transports,
            client=peer,
            server_event=server_event,
            timeout_watchdog=SimpleNamespace(register_activity=lambda: None),
        )
        task = asyncio.ensure_future(reads())
        await asyncio.sleep(0)
        try:
            yield Ends(handler, connection, server, client, Short(), long, events, busy)
        finally:
            task.cancel()
            for _, writer in (reading, writing):
                writer.transport.abort()
            await asyncio.sleep(0.01)


async def test_a_read_goes_from_socket_to_socket() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"a")
        assert await ends.received(10) == b"<a>"
        assert ends.long == []


async def test_a_read_without_data_for_the_client_writes_nothing() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"nothing")
        while not ends.short.taken:
            await asyncio.sleep(0.001)
        ends.say(b"b")
        assert await ends.received(10) == b"<b>"


async def test_a_read_behind_one_that_is_still_worked_at_waits_for_it() -> None:
    async with two_ends() as ends:
        ends.busy.clear()
        ends.say(b"first")
        await ends.until(b"first")
        ends.begin()
        ends.say(b"second")
        await asyncio.sleep(0.01)
        assert ends.short.taken == []
        ends.busy.set()
        await ends.until(b"first", b"second")


async def test_a_client_that_takes_nothing_holds_the_reads() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.handler.transports[ends.handler.client].writer.write(b"x" * 8_000_000)
        ends.say(b"a")
        await ends.until(b"a")
        assert ends.short.taken == []


async def test_a_reply_is_read_in_short_pieces_and_the_next_as_ever() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"x" * (3 * LONG_READ))
        received = b""
        while received.count(b"x") < 3 * LONG_READ:
            received += await ends.received(1 << 20)
        assert max(map(len, ends.short.taken)) <= LONG_READ
        ends.say(b"end")
        assert await ends.received(10) == b"<end>"
        transport = ends.handler.transports[ends.connection].writer.transport
        assert transport.max_size == type(transport).max_size


async def test_a_long_read_of_another_loop_leaves_others_their_turn() -> None:
    async with two_ends() as ends:
        ends.begin()
        transport = ends.handler.transports[ends.connection].writer.transport
        transport.get_protocol().data_received(b"x" * (LONG_READ + 1))
        await ends.until(b"x" * (LONG_READ + 1))
        assert ends.short.taken == []


async def test_a_paused_exchange_holds_the_reads() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.short.open = False
        ends.say(b"a")
        await ends.until(b"a")
        ends.short.open = True
        await asyncio.sleep(0)
        ends.say(b"b")
        assert await ends.received(10) == b"<b>"


async def test_a_client_that_leaves_gets_nothing_more() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.handler.transports[ends.handler.client].writer.close()
        ends.say(b"a")
        await ends.until(b"a")


async def test_the_end_is_the_layers_and_later_reads_are_mitmproxys() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"end")
        assert await ends.received(10) == b"<end>"
        assert [(event.connection, event.data) for event in ends.events] == [(ends.connection, b"")]
        ends.say(b"more")
        await ends.until(b"more")


async def test_a_server_that_closes_is_noticed() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"a")
        ends.server.shutdown(socket.SHUT_WR)
        assert await ends.received(10) == b"<a>"
        await ends.until(b"")


async def test_a_second_reply_replaces_the_first() -> None:
    async with two_ends() as ends:
        ends.begin()
        first, ends.short = ends.short, Short()
        ends.begin()
        ends.say(b"a")
        assert await ends.received(10) == b"<a>"
        assert first.taken == []
        transport = ends.handler.transports[ends.connection].writer.transport
        assert not isinstance(transport.get_protocol().theirs, Splice)


async def test_a_connection_that_is_no_socket_is_left_alone() -> None:
    async with two_ends() as ends:
        ends.handler.transports[ends.handler.client].writer = object()
        ends.begin()
        ends.say(b"a")
        await ends.until(b"a")


def carry(core: Core, data: bytes) -> None:
    """One read from the server, as sockets would be given it; a part of it that ends the reply is the
    layers'.
    """
    (stream,) = core.layer.streams.values()
    carrier = make_carrier(core.layer, stream)
    assert carrier
    if not carrier.is_open():
        core.answer(data)
        return
    if sent := carrier.take(data):
        core.writes.append(sent)
    if not carrier.goes_on:
        core.answer(b"")


def test_a_read_is_one_call_and_one_write() -> None:
    with Core() as core:
        function = Marker()
        core.streams_with(function)
        core.ask()
        core.answer(HEAD)
        core.received()
        carry(core, chunk(b"a") + chunk(b"b") + chunk(b"c"))
        assert function.calls == [b"abc"]
        assert core.writes == [chunk(b"<abc>")]


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_carried_is_kept_where_streams_are(kept: bool) -> None:
    with Core(store_streamed_bodies=kept) as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD)
        carry(core, chunk(b"a"))
        core.answer(END)
        [flow] = core.flows
    assert flow.response
    assert flow.response.raw_content == (b"<a><end>" if kept else None)


def test_data_with_the_end_is_sent_before_it() -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD)
        core.received()
        carry(core, chunk(b"a") + END)
        assert core.received() == chunk(b"<a>") + chunk(b"<end>") + END


def test_a_stream_that_is_passed_on_is_carried_too() -> None:
    with Core() as core:
        core.streams_with(True)
        core.ask()
        core.answer(HEAD)
        core.received()
        carry(core, chunk(b"a") + chunk(b"b"))
        assert core.writes == [chunk(b"ab")]


@pytest.mark.parametrize(
    ("function", "options"),
    [(lambda data: data, {}), (Marker(), {"proxy_debug": True})],
    ids=["another addon's", "debugged"],
)
def test_what_needs_more_work_is_not_carried(function: Any, options: dict[str, Any]) -> None:
    with Core(**options) as core:
        core.streams_with(function)
        core.ask()
        core.answer(HEAD)
        assert make_carrier(core.layer, core.layer.streams[1]) is None


def test_a_client_of_http_1_0_gets_bytes_without_framing() -> None:
    def head(flow: HTTPFlow) -> None:
        assert flow.response
        flow.response.stream = Marker()
        flow.response.headers.pop("transfer-encoding")

    with Core() as core:
        core.hooks["responseheaders"] = head
        core.ask(REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0"))
        core.answer(HEAD)
        core.received()
        carry(core, chunk(b"a") + chunk(b"b"))
        assert core.received() == b"<ab>"
        core.answer(END)
        assert core.received() == b"<end>"
        assert core.client in core.closed


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.booleans()), max_size=6),
    st.lists(st.integers(0, 200), max_size=6),
    st.sampled_from([END, b"", b"zz\r\n", b"3\r\nab"]),
)
def test_the_client_hears_the_same_in_both_lanes(
    rows: list[tuple[bytes, bool]], cuts: list[int], end: bytes
) -> None:
    """Reads take the first lane, the second, or both in alternation."""
    body = b"".join(chunk(data) for data, _ in rows) + end
    at = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    chosen = [which for _, which in rows] or [True]
    received = []
    for carried in ([False], [True], chosen):
        with Core() as core:
            function = Marker()
            core.streams_with(function)
            core.ask()
            core.answer(HEAD)
            lanes = itertools.cycle(carried)
            for begin, stop in itertools.pairwise(at):
                on_splice = next(lanes) and core.layer.streams
                (carry if on_splice else Core.answer)(core, body[begin:stop])
            core.server_closes()
            received.append((core.received(), function.calls))
    assert received[1:] == received[:1] * 2
