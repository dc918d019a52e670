"""All exchanges of a client: one timer, one end, and our layer where mitmproxy chose its own."""

import asyncio
import itertools
from collections.abc import Generator
from typing import Any

import pytest
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.exceptions import OptionsError
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.layers import ClientTLSLayer, TCPLayer
from mitmproxy.proxy.layers.modes import HttpProxy, ReverseProxy

from converter.addon.layers.connection import (
    LIVE_LAYERS,
    LONGEST_JOINED,
    Quit,
    ReplyLayer,
    join_writes,
    replace_layer,
)
from converter.addon.layers.guard import HttpLayer, HTTPMode
from tests.support.proxy_core import END, HEAD, REQUEST, Core, Marker, Says, chunk


def test_one_timer_serves_all_exchanges_of_a_client() -> None:
    with Core() as core:
        for _ in range(3):
            core.ask()
            core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        assert len(core.timers) == 1


def test_without_exchanges_the_timer_stops() -> None:
    with Core() as core:
        core.ask()
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        core.tick()
        assert len(core.timers) == 1
        core.ask()
        assert len(core.timers) == 2


def test_no_silence_is_too_long_when_pings_are_off() -> None:
    with Core(Says(seconds_of_silence=0)) as core:
        core.ask()
        assert core.timers == []


def reset_at_once(server: Server) -> None:
    """Set the state that mitmproxy leaves behind when a connection's task has broken."""
    server.state = ConnectionState.OPEN


def test_a_connection_that_was_reset_at_once_is_reported() -> None:
    with Core() as core:
        core.opens_never = reset_at_once
        core.ask()
        assert core.received() == b""
        core.happens(events.Wakeup(core.watches[-1]))
        assert core.received().endswith(b"{server closed connection}")
        assert len(core.watches) == 1


def test_a_connection_that_takes_long_is_waited_for() -> None:
    with Core() as core:
        opening: list[Server] = []
        core.opens_never = opening.append
        core.ask()
        core.happens(events.Wakeup(core.watches[-1]))
        assert len(core.watches) == 2
        assert core.received() == b""


def test_a_connection_that_was_opened_is_watched_no_more() -> None:
    with Core() as core:
        core.ask()
        core.happens(events.Wakeup(core.watches[-1]))
        assert len(core.watches) == 1
        assert core.layer._opening_commands == {}


def test_when_mitmproxy_ends_every_stream_ends_properly() -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD + chunk(b"a"))
        core.received()
        core.happens(Quit("bye"))
        assert core.received() == chunk(b"<held><abort: bye>") + END
        core.answer(chunk(b"b"))
        assert core.received() == b""
        assert core.layer.streams == {}


def test_when_mitmproxy_ends_waiting_clients_get_an_error() -> None:
    with Core() as core:
        core.ask()
        core.happens(Quit("bye"))
        assert core.received().endswith(b"{bye}")


def test_layers_of_open_connections_are_listed() -> None:
    with Core() as core:
        assert core.layer in LIVE_LAYERS


def tunnel(core: Core, seconds_of_silence: float = 0, handler: object = None) -> ReplyLayer:
    """A layer of ours within a tunnel of ours, as in regular mode; `seconds_of_silence`: of the outer.
    `handler`: of both, once the tunnel stands.
    """
    context = Context(core.client, core.layer.context.options)
    HttpProxy(context)
    listener = Says(seconds_of_silence=seconds_of_silence)
    core.layer = outer = ReplyLayer(context, HTTPMode.regular, listener)

    def choose(nextlayer: NextLayer) -> None:
        nextlayer.layer = HttpLayer(nextlayer.context, HTTPMode.transparent)
        replace_layer(nextlayer, core.listener, handler)

    core.choose = choose
    core.happens(events.Start())
    core.ask(b"CONNECT 127.0.0.1:8000 HTTP/1.1\r\nhost: x\r\n\r\n")
    assert core.received().startswith(b"HTTP/1.1 200 ")
    outer.connection_handler = handler
    return outer


def test_in_a_tunnel_pings_and_the_end_reach_the_client(clock: list[float]) -> None:
    with Core() as core:
        tunnel(core)
        core.streams_with(Marker())
        core.ask(REQUEST)
        core.answer(HEAD + chunk(b"a"))
        core.answer(chunk(b"b"))
        assert core.received().endswith(chunk(b"<a>") + chunk(b"<b>"))
        clock[0] += 10
        core.tick()
        assert core.received() == chunk(b"<ping>")
        core.happens(Quit("bye"))
        assert core.received() == chunk(b"<held><abort: bye>") + END


def test_a_tunnel_keeps_no_timer(clock: list[float]) -> None:
    """Each look counts as activity, so that mitmproxy would never close an idle connection."""
    with Core() as core:
        tunnel(core, seconds_of_silence=10)
        clock[0] += 10
        core.tick()
        assert len(core.timers) == 1


def test_an_exchange_whose_hook_waits_is_looked_at_seldom_and_sent_nothing(
    clock: list[float],
) -> None:
    """A person may hold it for hours."""
    with Core() as core:
        core.hold = "request"
        core.ask()
        for _ in range(3):
            clock[0] += 10
            core.tick()
            assert core.timers[-1].delay == 10
        assert not core.layer.streams[1]._paused_event_queue
        core.release()


def chosen(*kinds: type) -> tuple[NextLayer, Context]:
    """A decision of mitmproxy's, for some layers one within another."""
    client = Client(
        peername=("c", 1), sockname=("p", 2), timestamp_start=0.0, state=ConnectionState.OPEN
    )
    context = Context(client, Core().layer.context.options)
    ReverseProxy(context)
    nextlayer = NextLayer(context)
    layers: list[Any] = [
        kind(context, HTTPMode.regular) if kind is HttpLayer else kind(context) for kind in kinds
    ]
    for outer, inner in itertools.pairwise(layers):
        outer.child_layer = inner
    nextlayer.layer = layers[0]
    return nextlayer, context


def test_our_layer_stands_where_mitmproxys_stood() -> None:
    nextlayer, context = chosen(HttpLayer)
    replace_layer(nextlayer, Says())
    assert type(nextlayer.layer) is ReplyLayer
    assert nextlayer.layer.mode is HTTPMode.regular
    assert [type(layer) for layer in context.layers] == [ReverseProxy, ReplyLayer]


def test_our_layer_stands_within_tls() -> None:
    nextlayer, context = chosen(ClientTLSLayer, HttpLayer)
    replace_layer(nextlayer, Says())
    assert isinstance(nextlayer.layer, ClientTLSLayer)
    assert [type(layer) for layer in context.layers][1:] == [ClientTLSLayer, ReplyLayer]
    assert nextlayer.layer.child_layer is context.layers[-1]


def test_what_is_no_http_is_left_alone() -> None:
    nextlayer, _ = chosen(TCPLayer)
    replace_layer(nextlayer, Says())
    assert type(nextlayer.layer) is TCPLayer


def test_connections_that_are_over_are_forgotten() -> None:
    with Core() as core:
        for _ in range(20):
            core.ask()
            core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
            core.server_closes()
        assert len(core.servers) == 20
        assert len(core.layer.connections) <= 3  # the client's, the context's, the last


def test_a_stream_that_broke_off_leaves_no_connection() -> None:
    with Core() as core:
        core.streams_with(Marker())
        for _ in range(5):
            core.ask()
            core.answer(HEAD)
            core.answer(chunk(b"a"))
            core.server_closes()
        assert core.received().count(b"<abort") == 5
        assert len(core.layer.connections) <= 3


def test_a_connection_that_a_stream_still_uses_stays() -> None:
    with Core() as core:
        core.ask(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{}")
        core.ask(b"       ")
        core.layer._closed_servers = {core.servers[-1]}
        core.servers[-1].state = ConnectionState.CLOSED
        core.layer._drop_closed_layers()
        assert core.servers[-1] in core.layer.connections


class Handler:
    """The handler of a client's bytes, as far as it calls hooks; each hook waits for `waits`."""

    def __init__(self, core: Core, waits: asyncio.Event | None = None) -> None:
        self.core, self.waits = core, waits
        self.client, self.transports = core.client, dict[object, object]()
        self.called: list[str] = []

    async def handle_hook(self, hook: commands.StartHook) -> None:
        self.called.append(hook.name)
        if self.waits:
            await self.waits.wait()

    async def server_event(self, event: events.Event) -> None:
        self.core.happens(event)

    def log(self, *_: object) -> None:
        """Write nothing."""


OF_AN_EXCHANGE = ["requestheaders", "request", "responseheaders", "response"]
REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na"


async def test_an_exchange_in_whose_hooks_nobody_waits_goes_on_at_once() -> None:
    with Core() as core:
        core.layer.connection_handler = handler = Handler(core)
        core.ask()
        assert core.sent
        core.answer(REPLY)
        assert core.received().endswith(b"\r\n\r\na")
        assert handler.called == OF_AN_EXCHANGE
        assert core.named == []  # mitmproxy was asked for none


async def test_an_exchange_waits_for_a_hook_in_which_somebody_waits() -> None:
    with Core() as core:
        waits = asyncio.Event()
        core.layer.connection_handler = handler = Handler(core, waits)
        core.ask()
        await asyncio.sleep(0)
        assert (handler.called, core.sent) == (["requestheaders"], [])
        waits.set()
        for _ in OF_AN_EXCHANGE:
            await asyncio.sleep(0)
        assert handler.called == ["requestheaders", "request"]
        assert core.sent


async def test_an_exchange_in_a_tunnel_waits_as_well() -> None:
    """Its hooks are handed on: the layer around the tunnel has to know whose they are."""
    with Core() as core:
        waits = asyncio.Event()
        handler = Handler(core, waits)
        tunnel(core, handler=handler)
        core.ask()
        await asyncio.sleep(0)
        assert (handler.called, core.sent) == (["requestheaders"], [])
        waits.set()
        for _ in OF_AN_EXCHANGE * 2:
            await asyncio.sleep(0)
        assert core.sent
        core.answer(REPLY)
        for _ in OF_AN_EXCHANGE * 2:
            await asyncio.sleep(0)
        assert core.received().endswith(REPLY)
        assert handler.called == OF_AN_EXCHANGE


async def test_requests_behind_one_another_are_answered_in_turn() -> None:
    with Core() as core:
        core.layer.connection_handler = handler = Handler(core)
        core.ask(REQUEST * 3)
        for _ in range(3):
            core.answer(REPLY)
        assert core.received().count(REPLY) == 3
        assert handler.called == OF_AN_EXCHANGE * 3


async def test_an_error_that_mitmproxy_lets_through_is_not_swallowed() -> None:
    class Fails(Handler):
        async def handle_hook(self, hook: commands.StartHook) -> None:
            raise OptionsError(hook.name)

    with Core() as core:
        core.layer.connection_handler = Fails(core)
        with pytest.raises(OptionsError, match="requestheaders"):
            core.ask()


def test_what_goes_to_one_connection_at_once_goes_in_one_write() -> None:
    one, other = Client(peername=("a", 1), sockname=("b", 2)), Server(address=("c", 3))
    long = b"x" * LONGEST_JOINED

    def says(*parts: tuple[Any, bytes] | commands.Command) -> list[object]:
        built = (commands.SendData(*each) if isinstance(each, tuple) else each for each in parts)
        done = join_writes(each for each in built)
        return [
            (each.connection, each.data) if isinstance(each, commands.SendData) else each
            for each in done
        ]

    line = commands.Log("a line")
    assert says() == []
    assert says((one, b"a"), (one, b"b"), (one, b"c")) == [(one, b"abc")]
    assert says((one, b"a"), (other, b"b"), (one, b"c")) == [
        (one, b"a"),
        (other, b"b"),
        (one, b"c"),
    ]
    assert says((one, b"a"), line, (one, b"b")) == [(one, b"a"), line, (one, b"b")]
    assert says(line, (one, b"a"), (one, b"b"), line) == [line, (one, b"ab"), line]
    assert says((one, b"a"), (one, long), (one, b"b")) == [(one, b"a"), (one, long), (one, b"b")]


def test_data_before_a_fault_is_sent() -> None:
    client = Client(peername=("a", 1), sockname=("b", 2))

    def handling() -> Generator[commands.Command, Any, None]:
        yield commands.SendData(client, b"a")
        yield commands.SendData(client, b"b")
        raise ValueError("a script's")

    done = join_writes(handling())
    command = next(done)
    assert isinstance(command, commands.SendData)
    assert command.data == b"ab"
    with pytest.raises(ValueError, match="script"):
        next(done)
