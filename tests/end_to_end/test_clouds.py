"""Forward and transparent mode act by the address that is connected to: a private one is at home, a
cloud is not, whatever name a client calls it.
"""

import http.client
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.clients import OPENAI
from tests.support.harness import ADDON, FAULTS, Program
from tests.support.namespaces import (
    CLOUD,
    GATEWAY,
    HOME,
    PROXY,
    REDIRECTED,
    Networks,
    networks_or_skip,
)

pytestmark = pytest.mark.slow

FORWARD = 8082
SAYS = Says(steps=frames.stream("<think>I add.</think>", "84"))
ROWS = {**owned_by("llamacpp"), CHAT: SAYS}
BODY = json.dumps({"model": "small", "stream": True, "messages": []})
ACTED_ON, LEFT_ALONE = ("I add.", "84"), ("", "<think>I add.</think>84")


@pytest.fixture(scope="module")
def networks() -> Iterator[Networks]:
    with networks_or_skip("no cloud was tried") as ours:
        yield ours


@pytest.fixture(scope="module")
def servers(networks: Networks) -> Iterator[dict[str, ByPathServer]]:
    with ExitStack() as stack:
        rows = {}
        for address in (HOME, CLOUD):
            server = networks.at_gateway(partial(ByPathServer, ROWS, REDIRECTED, address))
            rows[address] = stack.enter_context(server)
        yield rows


@pytest.fixture(scope="module")
def proxy(networks: Networks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("clouds")
    modes = [f"transparent@{PROXY}", f"regular@{FORWARD}"]
    options = [part for mode in modes for part in ("--mode", mode)]
    command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(ADDON), *options]
    command += ["--set", f"confdir={folder}", "--set", "block_global=false"]
    with networks.at_gateway(lambda: Program(command, folder / "log", copied=False)) as program:
        program.wait_for("listening at", 2)
        yield program
        assert not FAULTS.search(program.output), program.output


def read(networks: Networks, address: tuple[str, int], target: str, host: str) -> tuple[str, str]:
    """The thinking and text of a reply."""
    connection = http.client.HTTPConnection(*address, timeout=30)
    networks.at_client(connection.connect)
    headers = {"content-type": "application/json", "host": host}
    with closing(connection):
        connection.request("POST", target, BODY, headers)
        with connection.getresponse() as reply:
            shown = OPENAI.read_stream(reply.read())
    return shown.thinking, shown.text


@pytest.mark.usefixtures("proxy", "servers")
@pytest.mark.parametrize("mode", ["forward", "transparent"])
@pytest.mark.parametrize("host", ["", "localhost", f"127.0.0.1:{REDIRECTED}", HOME, CLOUD])
@pytest.mark.parametrize(("address", "becomes"), [(HOME, ACTED_ON), (CLOUD, LEFT_ALONE)])
def test_the_address_decides_and_no_name(
    networks: Networks, mode: str, host: str, address: str, becomes: tuple[str, str]
) -> None:
    named = f"{address}:{REDIRECTED}"
    where = (GATEWAY, FORWARD) if mode == "forward" else (address, REDIRECTED)
    target = f"http://{named}{CHAT}" if mode == "forward" else CHAT
    assert read(networks, where, target, host or named) == becomes


@pytest.mark.usefixtures("proxy")
def test_a_cloud_gets_no_request_of_the_addons_own(
    networks: Networks, servers: dict[str, ByPathServer]
) -> None:
    servers[CLOUD].requests.clear()
    read(networks, (GATEWAY, FORWARD), f"http://{CLOUD}:{REDIRECTED}{CHAT}", "localhost")
    assert servers[CLOUD].paths() == [CHAT]
