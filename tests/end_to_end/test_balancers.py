"""The manual's configurations of HAProxy and nginx in front of two proxies: as the manual has them,
but for ports and for the files that a daemon would write.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, Live, question
from tests.support.frames import END, ROLE, delta, stream, text
from tests.support.harness import Program, Proxy, free_ports, start_proxy

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
FOLDERS = f"{os.environ['PATH']}:/usr/sbin:/sbin"
NAMES_ITSELF = """
import os

def responseheaders(flow):
    flow.response.headers["x-process"] = str(os.getpid())
"""
ANSWER = Says(steps=stream("<think>", "I consider it.", "</think>", "Done."))
ENOUGH = 40


def program(name: str) -> str:
    program = shutil.which(name, path=FOLDERS)
    assert program, f"{name} is missing: make programs installs it"
    return program


def haproxy(config: Path, _: Path) -> list[str]:
    return [program("haproxy"), "-db", "-f", str(config)]


def nginx(config: Path, folder: Path) -> list[str]:
    """nginx wants to write its temporary files, its log and its number somewhere."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    config.write_text(config.read_text().replace("http {", f"http {{ {folders}"))
    own = f"daemon off; pid {folder / 'pid'}; error_log {folder / 'errors'} warn;"
    return [program("nginx"), "-c", str(config), "-p", str(folder), "-g", own]


BALANCERS: dict[str, Callable[[Path, Path], list[str]]] = {
    "haproxy.cfg": haproxy,
    "nginx.conf": nginx,
}


class Balanced:
    """A balancer's port, and the proxies behind it."""

    def __init__(self, port: int, server: ByPathServer, proxies: list[Proxy]) -> None:
        self.port, self.server, self.proxies = port, server, proxies

    def ask(self, dialect: Dialect) -> str:
        """Ask on a new connection; return which process answered."""
        with Client(self.port) as client:
            answer = client.ask(dialect.path, question(stream=True))
        reply = dialect.read_stream(answer.body)
        assert (reply.thinking, reply.text) == ("I consider it.", "Done.")
        return answer.headers["x-process"]


@pytest.fixture(scope="module")
def server() -> Iterator[ByPathServer]:
    with ByPathServer() as serving:
        yield serving


@pytest.fixture(scope="module")
def proxies(
    server: ByPathServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Proxy]]:
    folder = tmp_path_factory.mktemp("proxies")
    script = folder / "names_itself.py"
    script.write_text(NAMES_ITSELF)
    options = ["-s", str(script), "--set", "think_server=generic"]
    modes = [f"reverse:{server.address}"]
    with (
        start_proxy(modes, options, folder, "one") as one,
        start_proxy(modes, options, folder, "two") as two,
    ):
        yield [one, two]


@pytest.fixture(scope="module", params=BALANCERS)
def balanced(
    request: pytest.FixtureRequest,
    server: ByPathServer,
    proxies: list[Proxy],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Balanced]:
    folder = tmp_path_factory.mktemp("balancer")
    [port] = free_ports(1)
    config = folder / request.param
    written = (DEPLOY / request.param).read_text()
    for usual, here in zip((8080, 8081, 8082), [port, *(p.ports[0] for p in proxies)], strict=True):
        written = written.replace(f"127.0.0.1:{usual}", f"127.0.0.1:{here}")
    config.write_text(written)
    with Program(BALANCERS[request.param](config, folder), folder / "log") as balancer:
        wait_until_it_listens(port, balancer)
        yield Balanced(port, server, proxies)


def wait_until_it_listens(port: int, balancer: Program) -> None:
    check = ["bash", "-c", f"until echo > /dev/tcp/127.0.0.1/{port}; do sleep 0.05; done"]
    subprocess.run(check, timeout=60, check=True, stderr=subprocess.DEVNULL)
    os.kill(balancer.pid, 0)


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=lambda dialect: dialect.name)
def test_both_proxies_work(balanced: Balanced, dialect: Dialect) -> None:
    balanced.server.rows[CHAT] = ANSWER
    assert len({balanced.ask(dialect) for _ in range(ENOUGH)}) == 2


def test_a_token_comes_before_the_server_says_the_next(balanced: Balanced) -> None:
    pieces = [f" word{number}" for number in range(20)]
    gates = [Event() for _ in pieces]
    steps: list[bytes | Event] = [ROLE, *text("<think>")]
    for word, gate in zip(pieces, gates, strict=True):
        steps += [delta(content=word), gate]
    balanced.server.rows[CHAT] = Says(steps=[*steps, *text("</think>", "Done."), *END])
    with Client(balanced.port) as client:
        reply = Live(client.send(OPENAI.path, question(stream=True)))
        for word, gate in zip(pieces, gates, strict=True):
            reply.until(word.encode())
            gate.set()
        answer = OPENAI.read_stream(reply.rest())
    assert (answer.thinking, answer.text) == ("".join(pieces), "Done.")


def test_a_request_with_pictures_gets_through(balanced: Balanced) -> None:
    balanced.server.rows[CHAT] = ANSWER
    picture = "A" * 3_000_000
    with Client(balanced.port) as client:
        answer = client.ask(OPENAI.path, question(stream=True, picture=picture))
    assert answer.status == 200
    assert balanced.server.bodies()[-1]["picture"] == picture
