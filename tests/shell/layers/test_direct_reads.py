"""Reads from socket to socket: only while nothing is to be waited for, and in order."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from mitmproxy.proxy.events import DataReceived

from converter.shell.layers.direct_reads import DirectReads, read_directly
from converter.shell.layers.turns import LONG_READ

SECONDS = 5.0


@dataclass
class Short:
    """A short way that marks what it takes; `ends` is the read with the reply's end."""

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
        read_directly(self.handler, self.connection, self.short)  # type: ignore[arg-type]

    def say(self, data: bytes) -> None:
        self.server.send(data)

    async def heard(self, length: int) -> bytes:
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
        assert await ends.heard(10) == b"<a>"
        assert ends.long == []


async def test_a_read_without_words_for_the_client_writes_nothing() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"nothing")
        await asyncio.sleep(0.01)
        ends.say(b"b")
        assert await ends.heard(10) == b"<b>"


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
        heard = b""
        while heard.count(b"x") < 3 * LONG_READ:
            heard += await ends.heard(1 << 20)
        assert max(map(len, ends.short.taken)) <= LONG_READ
        ends.say(b"end")
        assert await ends.heard(10) == b"<end>"
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
        assert await ends.heard(10) == b"<b>"


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
        assert await ends.heard(10) == b"<end>"
        assert [(event.connection, event.data) for event in ends.events] == [(ends.connection, b"")]
        ends.say(b"more")
        await ends.until(b"more")


async def test_a_server_that_closes_is_heard_of() -> None:
    async with two_ends() as ends:
        ends.begin()
        ends.say(b"a")
        ends.server.shutdown(socket.SHUT_WR)
        assert await ends.heard(10) == b"<a>"
        await ends.until(b"")


async def test_a_second_reply_takes_the_place_of_the_first() -> None:
    async with two_ends() as ends:
        ends.begin()
        first, ends.short = ends.short, Short()
        ends.begin()
        ends.say(b"a")
        assert await ends.heard(10) == b"<a>"
        assert first.taken == []
        transport = ends.handler.transports[ends.connection].writer.transport
        assert not isinstance(transport.get_protocol().theirs, DirectReads)


async def test_a_connection_that_is_no_socket_is_left_alone() -> None:
    async with two_ends() as ends:
        ends.handler.transports[ends.handler.client].writer = object()
        ends.begin()
        ends.say(b"a")
        await ends.until(b"a")
