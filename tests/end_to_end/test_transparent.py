"""Transparent mode: a client that knows of no proxy, in a network whose gateway redirects it to one."""

import http.client
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, Step, owned_by
from tests.support.clients import OPENAI
from tests.support.harness import ADDON, FAULTS, Program
from tests.support.namespaces import PROXY, REDIRECTED, SERVER, Networks, networks_or_skip

pytestmark = pytest.mark.slow

BESIDE = 8001
"""A port that nothing redirects."""
FIRST, *REST = frames.stream("<think>I ", "add.</think>", "84")
BODY = {
    "model": "small",
    "stream": True,
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "12 * 7"}],
}


@pytest.fixture(scope="module")
def networks() -> Iterator[Networks]:
    with networks_or_skip("transparent mode was NOT tried") as made:
        yield made


@pytest.fixture(scope="module")
def proxy(networks: Networks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """mitmdump on the gateway; its user says no more than the mode."""
    folder = tmp_path_factory.mktemp("transparent")
    options = ["--mode", f"transparent@{PROXY}", "--set", f"confdir={folder}"]
    command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(ADDON), *options]
    with networks.at_gateway(lambda: Program(command, folder / "log", copied=False)) as program:
        program.wait_for("listening at")
        yield program
        assert not FAULTS.search(program.output), program.output


def served(networks: Networks, says: Says, port: int = REDIRECTED) -> ByPathServer:
    rows = {**owned_by("llamacpp"), CHAT: says}
    return networks.at_gateway(lambda: ByPathServer(rows, port, SERVER))


@contextmanager
def asked(
    networks: Networks, path: str, port: int = REDIRECTED
) -> Iterator[http.client.HTTPResponse]:
    """The reply to a client that connects to the server's own address."""
    connection = http.client.HTTPConnection(SERVER, port, timeout=30)
    networks.at_client(connection.connect)
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    with closing(connection):
        connection.request("POST", path, json.dumps(BODY), headers)
        with connection.getresponse() as reply:
            yield reply


@pytest.mark.usefixtures("proxy")
def test_a_streamed_reply_is_rewritten_as_it_comes(networks: Networks) -> None:
    go_on = threading.Event()
    steps: list[Step] = [FIRST, REST[0], go_on, *REST[1:]]
    with served(networks, Says(steps=steps)) as server, asked(networks, CHAT) as reply:
        early = b""
        while b'"reasoning_content":"I' not in early:
            early += reply.read1()
        go_on.set()
        said = OPENAI.read_stream(early + reply.read())
        assert (said.thinking, said.text) == ("I add.", "84")
        assert server.asked[-1].headers["host"] == f"{SERVER}:{REDIRECTED}"


@pytest.mark.usefixtures("proxy")
def test_what_is_not_redirected_shows_what_the_client_would_have_seen(networks: Networks) -> None:
    says = Says(steps=[FIRST, *REST])
    with served(networks, says, BESIDE), asked(networks, CHAT, BESIDE) as reply:
        said = OPENAI.read_stream(reply.read())
    assert (said.thinking, said.text) == ("", "<think>I add.</think>84")
