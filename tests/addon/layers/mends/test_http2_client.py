"""An HTTP/2 client: who reads slowly is waited for, and no stream waits for another."""

import asyncio
from types import SimpleNamespace
from typing import Any

import h2.config
import h2.connection
import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.http import Response
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer

from converter.addon.layers.guard import (
    ReceiveHttp,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from converter.addon.layers.mends import http2_client
from converter.addon.layers.mends.http2_client import (
    MOST_STREAMS,
    UNTAKEN,
    ClientConnection,
    let_all_streams_in,
    note_prior_knowledge,
)

HEAD = [(":method", "GET"), (":scheme", "http"), (":authority", "x"), (":path", "/")]
WINDOW = 100


def context_of(client: Client) -> Context:
    options = Options()
    Proxyserver().load(options)  # which only calls `add_option`
    return Context(client, options)


def client_of(alpn: bytes | None = b"h2") -> Client:
    return Client(
        peername=("c", 1),
        sockname=("p", 2),
        timestamp_start=0.0,
        state=ConnectionState.OPEN,
        alpn=alpn,
    )


class Reads:
    """A server's socket, which is read or not."""

    def __init__(self) -> None:
        self.goes_on = True

    def pause_reading(self) -> None:
        self.goes_on = False

    def resume_reading(self) -> None:
        self.goes_on = True


class Talk:
    """A client with small windows, and what the connection tells the layers of it."""

    def __init__(self, reads: dict[int, Reads]) -> None:
        self.client = client_of()
        self.theirs = h2.connection.H2Connection(h2.config.H2Configuration())
        self.theirs.local_settings.initial_window_size = WINDOW
        self.theirs.local_settings.acknowledge()
        found: Any = reads.get
        self.connection = ClientConnection(context_of(self.client), found)
        self.told: list[Any] = []
        self.theirs.initiate_connection()
        self._happens(events.Start())
        self._pass_on()

    def ask(self, stream: int) -> None:
        self.theirs.send_headers(stream, HEAD, end_stream=True)
        self._pass_on()
        head = Response.make(200, headers={"content-type": "x"})
        del head.headers["content-length"]
        self._happens(ResponseHeaders(stream, head, end_stream=False))

    def says(self, stream: int, data: bytes) -> None:
        self._happens(ResponseData(stream, data))

    def ends(self, stream: int) -> None:
        self._happens(ResponseEndOfMessage(stream))

    def takes(self, stream: int, size: int) -> None:
        self.theirs.increment_flow_control_window(size, stream)
        self._pass_on()

    def cancels(self, stream: int) -> None:
        self.theirs.reset_stream(stream)
        self._pass_on()

    def _pass_on(self) -> None:
        self._happens(events.DataReceived(self.client, self.theirs.data_to_send()))

    def _happens(self, event: events.Event) -> None:
        for command in self.connection.handle_event(event):
            if isinstance(command, commands.SendData):
                self.theirs.receive_data(command.data)
            elif isinstance(command, ReceiveHttp):
                self.told.append(command.event)


def test_a_server_is_read_no_further_while_its_client_takes_nothing() -> None:
    reads = {1: Reads(), 3: Reads()}
    talk = Talk(reads)
    talk.ask(1)
    talk.ask(3)
    talk.says(1, b"x" * WINDOW)
    assert reads[1].goes_on
    talk.says(1, b"y")
    assert (reads[1].goes_on, reads[3].goes_on) == (False, True)
    reads[1].goes_on = True  # asyncio's reader has its own reasons
    talk.says(1, b"y")
    assert not reads[1].goes_on
    talk.takes(1, 1)
    assert not reads[1].goes_on
    talk.takes(1, 1)
    assert reads[1].goes_on


def test_a_client_that_wants_no_more_of_a_stream_holds_up_nothing() -> None:
    reads = {1: Reads()}
    talk = Talk(reads)
    talk.ask(1)
    talk.says(1, b"x" * WINDOW * 2)
    talk.cancels(1)
    assert reads[1].goes_on


def test_a_server_of_other_streams_as_well_is_read_on_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http2_client, "BODY_LIMIT", 50)
    talk = Talk({})
    talk.ask(1)
    talk.says(1, b"x" * WINDOW)
    for size in (1, 50):
        talk.says(1, b"y" * size)
    assert [type(event) for event in talk.told[-1:]] == [ResponseProtocolError]
    assert talk.told[-1].message == UNTAKEN


def test_what_a_client_has_taken_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_client, "BODY_LIMIT", 50)
    talk = Talk({})
    talk.ask(1)
    talk.says(1, b"x" * WINDOW)
    for _ in range(10):
        talk.says(1, b"y" * 20)
        talk.takes(1, 10)
        talk.says(1, b"y" * 10)
        talk.takes(1, 20)
    assert not any(isinstance(event, ResponseProtocolError) for event in talk.told)


def test_streams_that_are_over_are_forgotten() -> None:
    talk = Talk({})
    for stream in (1, 3, 5):
        talk.ask(stream)
        talk.ends(stream)
    assert talk.connection.streams == {}


@pytest.mark.parametrize(
    ("alpn", "data", "after"),
    [
        (None, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"h2"),
        (None, b"POST / HTTP/1.1\r\n", None),
        (b"http/1.1", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"http/1.1"),
    ],
)
def test_a_client_of_prior_knowledge_is_one_of_http_2(
    alpn: bytes | None, data: bytes, after: bytes | None
) -> None:
    client = client_of(alpn)
    nextlayer = NextLayer(context_of(client))
    nextlayer.events = [events.DataReceived(client, data)]
    note_prior_knowledge(nextlayer)
    assert client.alpn == after


def test_as_many_connections_are_opened_as_a_client_has_streams() -> None:
    handler = SimpleNamespace(max_conns={})
    let_all_streams_in(handler)
    opened: asyncio.Semaphore = handler.max_conns["a server"]
    assert opened._value == MOST_STREAMS
    let_all_streams_in(None)
