"""Every mode of mitmproxy, over HTTP and TLS, for each dialect: a reply is the same in all.

mitmproxy nests its layers differently in each mode: within a tunnel, behind SOCKS, with TLS around
them. Where a hook waits, it has to find its way back through them.
"""

import json
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.hostile_server import BOTH, HELLO
from tests.faults.judge import CLIENTS, CUT, FULL, SECONDS, Client, Verdict, hear_on, verdict_of
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.frames import stream, whole
from tests.support.harness import ADDON, FAULTS, TESTS, Program, start_proxy
from tests.support.namespaces import ALSO_REDIRECTED, PROXY, SERVER, Networks, networks_or_skip
from tests.support.private_authority import PrivateAuthority, private_authority
from tests.support.relay import Relay
from tests.support.scripted_server import Drop
from tests.support.waiting_hooks import WAITED, WAITS

pytestmark = pytest.mark.slow

FORWARD = ("regular", "tunnel", "socks5", "upstream")
"""Modes in which a client names the server. `tunnel`: by CONNECT also for http://."""
SCHEMES = ("http", "https")
TALKS = [(scheme, name) for scheme in SCHEMES for name in CLIENTS]
ROWS = [(mode, *talk) for mode in (*FORWARD, "reverse", "transparent") for talk in TALKS]
OPTIONS = ["ssl_insecure=true", "flow_detail=0"]
KEPT = ["think_memory=sqlite:{}", "think_history=tags"]
LONG = "word " * 40_000
"""More than the 128 KiB that are read on mitmproxy's loop."""


@dataclass(frozen=True)
class Route:
    """A client's route to a server. `ports`: of the proxy without a memory in a file, and of the
    proxy with one. `networks`: the client is in one of them, and connects to the server's own
    address.
    """

    mode: str
    scheme: str
    client: Client
    server: ByPathServer
    ports: tuple[int, int] = (0, 0)
    networks: Networks | None = None

    def connect(self, kept: bool = False) -> socket.socket:
        """Return a connection over which requests to the server can go."""
        host, port = str(self.server.server_address[0]), self.server.server_port
        if self.networks:
            peer = self.networks.at_client(lambda: socket.create_connection((host, port), SECONDS))
        else:
            peer = socket.create_connection(("127.0.0.1", self.ports[kept]), SECONDS)
        if self.mode == "socks5":  # RFC 1928: no password, then CONNECT to an IPv4 address
            _exchange(peer, b"\5\1\0", b"\5\0")
            _exchange(peer, b"\5\1\0\1" + socket.inet_aton(host) + port.to_bytes(2), b"\0" * 6)
        elif self.mode == "tunnel" or (self.mode in FORWARD and self.scheme == "https"):
            _exchange(peer, f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode(), b"\r\n\r\n")
        return _unverified().wrap_socket(peer) if self.scheme == "https" else peer

    @property
    def target(self) -> str:
        """The request's target: a whole address for a proxy of http://."""
        is_whole = self.mode in ("regular", "upstream") and self.scheme == "http"
        return (self.server.address if is_whole else "") + self.client.path

    def ask(self, turns: Sequence[dict[str, str]], is_stream: bool = True, **how: Any) -> Verdict:
        """Ask, and say what came."""
        body = json.loads(self.client.question(is_stream))
        body |= {"input" if "input" in body else "messages": turns}
        with self.connect(how.pop("kept", False)) as peer:
            reply = hear_on(peer, self.target, json.dumps(body).encode(), **how)
        return verdict_of(reply, self.client, is_stream)


def _exchange(peer: socket.socket, sent: bytes, end: bytes) -> None:
    """Say something, and wait for an answer with this end."""
    peer.sendall(sent)
    answer = piece = peer.recv(1)
    while piece and not answer.endswith(end):
        answer += (piece := peer.recv(1))
    assert piece, f"expected an answer to {sent!r}, got {answer!r}"


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def says(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


HI = [says("user", "hi")]


def on_the_first_request(route: Route) -> None:
    """The server is probed, and the request waits for the answer."""
    assert route.ask(HI) == Verdict(FULL, BOTH)
    assert ("/v1/models" in route.server.paths()) is (route.mode != "upstream")


def where_a_hook_waits(route: Route) -> None:
    assert route.ask(HI, more=f"{WAITS}: yes\r\n") == Verdict(FULL, BOTH)
    [request] = [request for request in route.server.requests if WAITED in request.headers]
    assert request.target.endswith(CHAT)  # a question of the addon's own may have come later


def with_long_bodies(route: Route) -> None:
    route.server.rows[CHAT] = Says(whole(f"<think>deep</think>{LONG}"))
    assert route.ask([says("user", LONG)], is_stream=False) == Verdict(FULL, ("deep", LONG))
    assert LONG in json.dumps(route.server.bodies()[-1])


def with_a_memory_in_a_file(route: Route) -> None:
    """Each request waits for the file; the thought that a client has dropped is there again."""
    assert route.ask(HI, kept=True) == Verdict(FULL, BOTH)
    later = [*HI, says("assistant", BOTH[1]), says("user", "more")]
    assert route.ask(later, kept=True) == Verdict(FULL, BOTH)
    assert BOTH[0] in json.dumps(route.server.bodies()[-1])


def when_a_stream_is_cut(route: Route) -> None:
    route.server.rows[CHAT] = Says(steps=[*stream(*HELLO)[:-3], Drop()])
    verdict = route.ask(HI)
    assert (verdict.word, verdict.parts) == (CUT, BOTH)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> PrivateAuthority:
    return private_authority(tmp_path_factory.mktemp("authority"))


def served(authority: PrivateAuthority, scheme: str, port: int = 0, host: str = "") -> ByPathServer:
    """A server without facts so far."""
    server = ByPathServer(owned_by("llamacpp"), port, host or "127.0.0.1")
    if scheme == "https":
        authority.secure(server)
    server.scheme = scheme
    return server


def arguments(kept: Path | None) -> list[str]:
    """Of a proxy, with the file of its memory, if it has one."""
    chosen = OPTIONS + [option.format(kept) for option in KEPT if kept]
    script = ["-s", str(TESTS / "support" / "waiting_hooks.py")]
    return [*script, *(part for option in chosen for part in ("--set", option))]


@dataclass(frozen=True)
class Fronts:
    """Two proxies in all modes that need no rights. `reversed`: the servers behind the reverse ones."""

    ports: list[tuple[int, int]]
    reversed: list[ByPathServer]


@pytest.fixture(scope="module")
def fronts(authority: PrivateAuthority, proxy_folder: Path) -> Iterator[Fronts]:
    """One without a memory in a file, and one with it."""
    with ExitStack() as stack:
        servers = [stack.enter_context(served(authority, scheme)) for scheme, _ in TALKS]
        upstream = stack.enter_context(Relay())
        forward = ["regular", "regular", "socks5", f"upstream:{upstream.address}"]
        modes = [*forward, *(f"reverse:{server.address}" for server in servers)]
        proxies = [
            stack.enter_context(
                start_proxy(modes, arguments(kept), proxy_folder, f"modes-{kept is None}")
            )
            for kept in (None, proxy_folder / "modes.sqlite")
        ]
        yield Fronts([*zip(*(proxy.ports for proxy in proxies), strict=True)], servers)


@pytest.fixture(scope="module")
def networks(proxy_folder: Path) -> Iterator[Networks]:
    """With a transparent proxy, which has a memory in a file."""
    command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(ADDON)]
    command += ["--mode", f"transparent@{PROXY}", "--set", f"confdir={proxy_folder / 'mitmproxy'}"]
    command += arguments(proxy_folder / "transparent.sqlite")
    with networks_or_skip("transparent mode was NOT tried") as nets:
        log = proxy_folder / "transparent.log"
        with nets.at_gateway(lambda: Program(command, log, copied=False)) as program:
            program.wait_for("listening at")
            yield nets
            assert not FAULTS.search(program.output), program.output


@pytest.fixture(scope="module", params=ROWS, ids="-".join)
def standing(request: pytest.FixtureRequest, authority: PrivateAuthority) -> Iterator[Route]:
    mode, scheme, name = request.param
    talk = TALKS.index((scheme, name))
    if mode == "transparent":
        networks = request.getfixturevalue("networks")
        port = ALSO_REDIRECTED[talk]
        with networks.at_gateway(lambda: served(authority, scheme, port, SERVER)) as server:
            yield Route(mode, scheme, CLIENTS[name], server, networks=networks)
        return
    fronts: Fronts = request.getfixturevalue("fronts")
    if mode == "reverse":
        ports = fronts.ports[len(FORWARD) + talk]
        yield Route(mode, scheme, CLIENTS[name], fronts.reversed[talk], ports)
        return
    with served(authority, scheme) as server:
        yield Route(mode, scheme, CLIENTS[name], server, fronts.ports[FORWARD.index(mode)])


@pytest.fixture
def route(standing: Route) -> Route:
    """Modes whose server answers well."""
    standing.server.rows[CHAT] = Says(steps=stream(*HELLO))
    return standing


@pytest.mark.parametrize(
    "case",
    [
        on_the_first_request,
        where_a_hook_waits,
        with_long_bodies,
        with_a_memory_in_a_file,
        when_a_stream_is_cut,
    ],
    ids=lambda case: case.__name__,
)
def test_a_reply_is_the_same_in_every_mode(route: Route, case: Callable[[Route], None]) -> None:
    case(route)
