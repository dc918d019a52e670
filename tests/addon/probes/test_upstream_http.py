"""One request to a server on loopback: a real one, that answers well, badly or not at all."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any

import pytest

from converter.addon.probes import upstream_http
from converter.addon.probes.upstream_http import (
    NoReplyError,
    fetch,
    host_header,
    reason_of,
    tls_context,
)
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.probes import ProbeReply, ProbeRequest
from tests.support.scripted_server import JSON, Drop, Framing, ReceivedRequest, ScriptedServer
from tests.support.scripted_server import Reply as Scripted

HOST = "127.0.0.1"
SOMETHING = ProbeRequest("/x")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted
        scripted.shutdown()


@pytest.fixture(autouse=True)
def no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_http, "tls_for_host", lambda _: tls_context(insecure=True))


def _ask(upstream: Upstream, ask: ProbeRequest = SOMETHING, **headers: str) -> ProbeReply:
    return asyncio.run(fetch(upstream, headers, ask))


def _at(port: int, prefix: str = "", scheme: str = "http", host: str = HOST) -> Upstream:
    return Upstream(scheme, host, port, prefix)


def _exchanged(
    server: ScriptedServer, reply: Scripted, ask: ProbeRequest = SOMETHING, **headers: str
) -> tuple[ProbeReply, ReceivedRequest]:
    server.answer(reply)
    got = _ask(_at(server.server_port), ask, **headers)
    return got, server.requests[-1]


@contextmanager
def _speaking(*data: bytes) -> Iterator[int]:
    """Start a server that sends these bytes to each client and closes, at once without bytes; yield
    its port.
    """
    with socket.create_server((HOST, 0)) as listener, ExitStack() as connections:
        thread = threading.Thread(target=_speak, args=(listener, data, connections), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def _speak(listener: socket.socket, data: tuple[bytes, ...], connections: ExitStack) -> None:
    connection = connections.enter_context(listener.accept()[0])
    with suppress(
        OSError
    ):  # who reads it may give up in the middle: that is what these answers are for
        if data:
            connection.recv(65536)
            connection.sendall(b"".join(data))
        connection.shutdown(socket.SHUT_WR)


GOOD = Scripted([b'{"a":', b"1}"], JSON)


def test_an_ask_without_a_body_is_a_get(server: ScriptedServer) -> None:
    _, received = _exchanged(server, GOOD, ProbeRequest("/v1/models"))
    assert (received.method, received.target, received.body) == ("GET", "/v1/models", b"")


def test_an_ask_with_a_body_is_a_post(server: ScriptedServer) -> None:
    _, received = _exchanged(server, GOOD, ProbeRequest("/tokenize", b'{"a":1}'))
    assert (received.method, received.target, received.body) == ("POST", "/tokenize", b'{"a":1}')
    assert received.headers["content-type"] == "application/json"


def test_a_key_goes_out_as_the_bytes_that_came(server: ScriptedServer) -> None:
    key = "Bearer \u4f60\udcff"  # as mitmproxy holds bytes that are UTF-8, and one that is not
    _, received = _exchanged(server, GOOD, authorization=key)
    assert received.headers["authorization"].encode("latin-1") == b"Bearer \xe4\xbd\xa0\xff"


@pytest.mark.parametrize(
    ("upstream", "host"),
    [
        (_at(8000), "127.0.0.1:8000"),
        (_at(80), "127.0.0.1"),
        (_at(443), "127.0.0.1:443"),
        (_at(443, scheme="https"), "127.0.0.1"),
        (_at(8000, host="::1"), "[::1]:8000"),
        (_at(80, host="::1"), "[::1]"),
    ],
    ids=str,
)
def test_the_host_has_its_port_where_it_is_not_the_usual_one(upstream: Upstream, host: str) -> None:
    assert host_header(upstream) == host


@pytest.mark.parametrize(
    "framing", [Framing.CHUNKED, Framing.LENGTH, Framing.CLOSE], ids=lambda framing: framing.value
)
def test_the_whole_answer_comes_back(server: ScriptedServer, framing: Framing) -> None:
    reply, _ = _exchanged(
        server, Scripted(GOOD.steps, {"Server": "llama.cpp", "X-Odd": "A"}, 203, framing)
    )
    assert (reply.status, reply.body, reply.headers["server"], reply.headers["x-odd"]) == (
        203,
        b'{"a":1}',
        "llama.cpp",
        "A",
    )


@pytest.mark.parametrize("status", [301, 404, 500])
def test_an_error_is_an_answer_and_nobody_is_followed(server: ScriptedServer, status: int) -> None:
    reply, _ = _exchanged(server, Scripted([b"{}"], {"location": "/y"}, status))
    assert (reply.status, reply.value(), len(server.requests)) == (status, None, 1)


def test_nobody_listening_is_an_error_of_its_own() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionError, match="refused"):
        _ask(_at(port, prefix="/p"))


def test_an_address_that_cannot_be_reached_is_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(asyncio, "open_connection", failing)
    with pytest.raises(NoReplyError, match="unreachable"):
        _ask(_at(1))


def test_a_server_in_the_clear_gives_no_reply_to_tls(server: ScriptedServer) -> None:
    server.answer(GOOD)
    with pytest.raises(NoReplyError):
        _ask(_at(server.server_port, scheme="https"))


def test_giving_up_closes_the_connection() -> None:
    async def give_up(listener: socket.socket) -> socket.socket:
        asking = asyncio.ensure_future(fetch(_at(listener.getsockname()[1]), {}, SOMETHING))
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(listener)
        assert await loop.sock_recv(connection, 65536)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        return connection

    with socket.create_server((HOST, 0)) as listener:
        listener.setblocking(False)
        with asyncio.run(give_up(listener)) as connection, suppress(ConnectionResetError):
            connection.settimeout(10)
            assert connection.recv(65536) == b""


GARBAGE = {
    "a closed connection": (),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n",),
    "a status that is no number": (b"HTTP/1.1 OK fine\r\n\r\n",),
    "an endless first line": (b"H" * 100_000,),
    "too many headers": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000 + b"\r\n",),
    "half a head": (b"HTTP/1.1 200 OK\r\ncontent-le",),
    "a body cut short": (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}",),
    "a chunk without its size": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}",),
    "a chunked body cut short": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
    ),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_no_reply(garbage: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_http, "HANDSHAKE", 0.01)  # nobody answers one
    with _speaking(*garbage) as port, pytest.raises(NoReplyError):
        _ask(_at(port))


def test_a_connection_dropped_in_mid_body_is_no_reply(server: ScriptedServer) -> None:
    with pytest.raises(NoReplyError):
        _exchanged(server, Scripted([b"{", Drop()], JSON))


def test_a_longer_reply_than_the_limit_is_no_reply(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_http, "ANSWER_LIMIT", 7)
    assert _exchanged(server, GOOD)[0].body == b'{"a":1}'
    with pytest.raises(NoReplyError, match="at most 7 bytes"):
        _exchanged(server, Scripted([b'{"a":', b"12}"], JSON))


UNSAYABLE: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "a header of two lines": ({"authorization": "a\r\nb: c"}, {}),
    "a path with a blank": ({}, {"prefix": "/a b"}),
    "a path of other letters": ({}, {"prefix": "/\u4f60"}),
    "a host that is no name": ({}, {"host": "a" * 300}),
}


@pytest.mark.parametrize(("headers", "fields"), UNSAYABLE.values(), ids=UNSAYABLE)
def test_a_request_that_cannot_be_written_has_no_reply(
    server: ScriptedServer, headers: Mapping[str, Any], fields: Mapping[str, Any]
) -> None:
    server.answer(GOOD)
    with pytest.raises(NoReplyError):
        _ask(_at(**{"port": server.server_port, **fields}), **headers)
    assert server.requests == []


@pytest.mark.parametrize(
    "name", ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"]
)
def test_proxies_of_the_environment_are_not_used(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with socket.create_server((HOST, 0)) as listener:
        proxy = f"http://{HOST}:{listener.getsockname()[1]}"
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(name, proxy)
    assert _exchanged(server, GOOD)[0].status == 200


def _of_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] words of OpenSSL (_ssl.c:1003)")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (IncompleteRead(b""), "the connection was closed before the reply was whole"),
        (RemoteDisconnected("x"), "the connection was closed before the reply was whole"),
        (
            _of_tls("SSLV3_ALERT_HANDSHAKE_FAILURE"),
            "the TLS handshake failed: sslv3 alert handshake failure",
        ),
        (TimeoutError("timed out"), "no answer in time"),
        (OSError(113, "No route to host"), "No route to host"),
        (ValueError("expected at most 9 bytes, got more"), "expected at most 9 bytes, got more"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_reason_is_in_terms_of_the_network(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
