"""Questions carried to a server: a real one, on loopback, that answers well, badly or not at all."""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import create_ca

from converter.servers.probes import Probe, ProbeRequest, Reply
from converter.servers.profiles import GENERIC, by_name
from converter.settings import Start
from converter.shell import upstream_client as network
from converter.shell.upstream_client import KnownServers, Upstream, answered
from tests.support.scripted_server import JSON, Asked, Drop, Framing, ScriptedServer
from tests.support.scripted_server import Reply as Scripted

HOST = "127.0.0.1"
SOMETHING = ProbeRequest("/x")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted
        scripted.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "PATIENCE", 0.05)


def _one(ask: ProbeRequest) -> Probe[Reply | None]:
    return (yield ask)


def _ask(upstream: Upstream, ask: ProbeRequest = SOMETHING, **headers: str) -> Reply | None:
    return asyncio.run(answered(_one(ask), upstream, headers))


def _at(
    port: int, prefix: str = "", scheme: str = "http", host: str = HOST, insecure: bool = False
) -> Upstream:
    return Upstream(scheme, host, port, prefix, insecure)


def _exchanged(
    server: ScriptedServer, reply: Scripted, ask: ProbeRequest = SOMETHING, **headers: str
) -> tuple[Reply | None, Asked]:
    server.answer(reply)
    got = _ask(_at(server.server_port), ask, **headers)
    return got, server.asked[-1]


@contextmanager
def _speaking(*said: bytes) -> Iterator[int]:
    """The port of a server that says this to each that connects, whatever it was asked, and closes;
    with nothing: at once.
    """
    with socket.create_server((HOST, 0)) as listener, ExitStack() as connections:
        thread = threading.Thread(target=_speak, args=(listener, said, connections), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def _speak(listener: socket.socket, said: tuple[bytes, ...], connections: ExitStack) -> None:
    connection = connections.enter_context(listener.accept()[0])
    with suppress(
        OSError
    ):  # who reads it may give up in the middle: that is what these answers are for
        if said:
            connection.recv(65536)
            connection.sendall(b"".join(said))
        connection.shutdown(socket.SHUT_WR)


GOOD = Scripted([b'{"a":', b"1}"], JSON)


def test_an_ask_without_a_body_is_a_get(server: ScriptedServer) -> None:
    _, asked = _exchanged(server, GOOD, ProbeRequest("/v1/models"))
    assert (asked.method, asked.target, asked.body) == ("GET", "/v1/models", b"")


def test_an_ask_with_a_body_is_a_post(server: ScriptedServer) -> None:
    _, asked = _exchanged(server, GOOD, ProbeRequest("/tokenize", b'{"a":1}'))
    assert (asked.method, asked.target, asked.body) == ("POST", "/tokenize", b'{"a":1}')
    assert asked.headers["content-type"] == "application/json"


def test_an_empty_body_is_a_post(server: ScriptedServer) -> None:
    assert _exchanged(server, GOOD, ProbeRequest("/x", b""))[1].method == "POST"


def test_a_path_begins_after_the_prefix(server: ScriptedServer) -> None:
    server.answer(GOOD)
    _ask(_at(server.server_port, prefix="/gateway/small"), ProbeRequest("/v1/models"))
    assert server.asked[-1].target == "/gateway/small/v1/models"


def test_headers_are_passed(server: ScriptedServer) -> None:
    _, asked = _exchanged(server, GOOD, authorization="Bearer secret")
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.headers["accept"] == "application/json"


@pytest.mark.parametrize(
    "framing", [Framing.CHUNKED, Framing.LENGTH, Framing.CLOSE], ids=lambda framing: framing.value
)
def test_the_whole_answer_comes_back(server: ScriptedServer, framing: Framing) -> None:
    reply, _ = _exchanged(
        server, Scripted(GOOD.steps, {"Server": "llama.cpp", "X-Odd": "A"}, 203, framing)
    )
    assert reply is not None
    assert (reply.status, reply.body, reply.headers["server"], reply.headers["x-odd"]) == (
        203,
        b'{"a":1}',
        "llama.cpp",
        "A",
    )


@pytest.mark.parametrize("status", [301, 404, 500])
def test_an_error_is_an_answer_and_nobody_is_followed(server: ScriptedServer, status: int) -> None:
    reply, _ = _exchanged(server, Scripted([b"{}"], {"location": "/y"}, status))
    assert reply is not None
    assert (reply.status, reply.value(), len(server.asked)) == (status, None, 1)


def _two() -> Probe[list[int]]:
    first = yield ProbeRequest("/1")
    second = yield ProbeRequest("/2")
    return [reply.status for reply in (first, second) if reply]


def test_a_question_may_ask_twice(server: ScriptedServer) -> None:
    server.answer(GOOD)
    assert asyncio.run(answered(_two(), _at(server.server_port), {})) == [200, 200]
    assert [asked.target for asked in server.asked] == ["/1", "/2"]


def test_nobody_listening_is_an_error_of_its_own() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionError, match="refused"):
        _ask(_at(port, prefix="/p"))


def test_no_answer_is_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with _speaking() as port:
        assert _ask(_at(port, prefix="/p")) is None
    assert [
        record.getMessage().partition(" no answer")[0]
        for record in caplog.records
        if record.name == network.__name__
    ] == ["think: /p/x:"]


GARBAGE = {
    "a closed connection": (),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n",),
    "a status that is no number": (b"HTTP/1.1 OK fine\r\n\r\n",),
    "an endless first line": (b"H" * 100_000,),
    "too many headers": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n",),
    "a body cut short": (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}",),
    "a chunk without its size": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}",),
    "a chunked body cut short": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
    ),
}


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_no_answer(said: tuple[bytes, ...]) -> None:
    with _speaking(*said) as port:
        assert _ask(_at(port)) is None


def test_a_connection_dropped_in_mid_body_is_no_answer(server: ScriptedServer) -> None:
    assert _exchanged(server, Scripted([b"{", Drop()], JSON))[0] is None


UNSAYABLE: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "a header of other letters": ({"authorization": "Bearer \u4f60"}, {}),
    "a header of bytes that are no UTF-8": ({"authorization": "Bearer \udcff"}, {}),
    "a header of two lines": ({"authorization": "a\r\nb: c"}, {}),
    "a path with a blank": ({}, {"prefix": "/a b"}),
    "a path of other letters": ({}, {"prefix": "/\u4f60"}),
    "a host that is no name": ({}, {"host": "a" * 300}),
}


@pytest.mark.parametrize(("headers", "fields"), UNSAYABLE.values(), ids=UNSAYABLE)
def test_what_cannot_be_asked_has_no_answer(
    server: ScriptedServer, headers: Mapping[str, Any], fields: Mapping[str, Any]
) -> None:
    server.answer(GOOD)
    assert _ask(_at(**{"port": server.server_port, **fields}), **headers) is None


@pytest.mark.usefixtures("impatient")
def test_a_server_that_says_nothing_is_waited_for_no_longer_than_patience() -> None:
    with socket.create_server(
        (HOST, 0)
    ) as listener:  # connections are taken by the system, and nobody reads them
        assert _ask(_at(listener.getsockname()[1])) is None


@pytest.mark.usefixtures("impatient")
def test_a_server_that_falls_silent_is_waited_for_no_longer_than_patience(
    server: ScriptedServer,
) -> None:
    silence = threading.Event()
    assert _exchanged(server, Scripted([b"{", silence], JSON))[0] is None
    server.release()


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
    assert _exchanged(server, GOOD)[0] is not None


class _SecureServer(ScriptedServer):
    """The same over TLS, with a certificate that nobody has signed but its owner."""

    def secured(self, certificate: Path) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        return self


def _certificate() -> bytes:
    key, certificate = create_ca("nobody", HOST, 2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_SecureServer]:
    certificate = tmp_path_factory.mktemp("tls") / "server.pem"
    certificate.write_bytes(_certificate())
    with _SecureServer() as scripted:
        yield scripted.secured(certificate)
        scripted.shutdown()


def _asked_securely(secure: _SecureServer, **fields: Any) -> Reply | None:
    secure.answer(GOOD)
    return _ask(_at(secure.server_port, scheme="https", **fields), authorization="Bearer secret")


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_said(
    secure: _SecureServer,
) -> None:
    assert _asked_securely(secure) is None
    assert secure.asked == []


def test_any_certificate_will_do_when_the_user_says_so(secure: _SecureServer) -> None:
    reply = _asked_securely(secure, insecure=True)
    assert reply is not None
    assert reply.value() == {"a": 1}


def test_an_encrypted_server_asked_in_the_clear_has_no_answer(secure: _SecureServer) -> None:
    secure.answer(GOOD)
    assert _ask(_at(secure.server_port)) is None


def test_a_server_in_the_clear_asked_encrypted_has_no_answer(server: ScriptedServer) -> None:
    assert _ask(_at(server.server_port, scheme="https", insecure=True)) is None


def test_whatever_goes_wrong_in_finding_out_where_a_reply_begins_changes_only_the_guess(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("broken")

    async def asked() -> tuple[Start, Start]:
        servers, body = KnownServers(), {"model": "qwq-32b"}
        servers.ask_start(_at(1), {}, body, None)
        return await servers.start(_at(1), body), await servers.start(_at(1), {"model": "small"})

    monkeypatch.setattr(KnownServers, "recognise", broken)
    assert asyncio.run(asked()) == (Start.THINKING, Start.TEXT)


def test_a_server_that_was_not_there_yet_is_asked_again_where_its_replies_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[object] = [ConnectionError("refused"), GENERIC, by_name("vllm")]

    async def recognised(*_: object) -> object:
        row = rows.pop(0)
        if isinstance(row, Exception):
            raise row
        return row

    async def told(*_: object) -> Start:
        return Start.THINKING if not rows else Start.TEXT

    async def asked() -> list[Start]:
        servers, begun = KnownServers(), []
        for _ in range(4):
            servers.ask_start(_at(1), {}, {"model": "m"}, None)
            begun.append(await servers.start(_at(1), {"model": "m"}))
        return begun

    monkeypatch.setattr(KnownServers, "recognise", recognised)
    monkeypatch.setattr(network, "answered", told)
    assert asyncio.run(asked()) == [Start.TEXT, Start.TEXT, Start.THINKING, Start.THINKING]


def test_a_server_that_is_gone_counts_nothing() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    assert asyncio.run(KnownServers().count(_at(port), {}, by_name("vllm"), {"model": "m"})) is None
