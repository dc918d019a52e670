"""As a forward proxy the addon acts on this machine and private networks, unless `think_flows` says
otherwise.

No test uses the network: a proxy in upstream mode sends requests for any host to the scripted
server.
"""

from collections.abc import Iterator

import pytest

from tests.support.clients import Client, Dialect, question
from tests.support.frames import stream
from tests.support.harness import Proxy
from tests.support.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>deep</think>Hello"))
REVERSE, REGULAR, UPSTREAM = range(3)
PUBLIC = ["8.8.8.8", "1.1.1.1:8000", "no-such-host.invalid"]


@pytest.fixture
def upstream(proxy: Proxy) -> Iterator[Client]:
    with Client(proxy.ports[UPSTREAM]) as client:
        yield client


@pytest.mark.parametrize("host", ["10.9.8.7", "192.168.0.7:8000", "100.64.0.1"])
def test_private_addresses_are_acted_on(
    upstream: Client, server: ScriptedServer, dialect: Dialect, host: str
) -> None:
    server.answer(GOOD)
    reply = dialect.read_stream(
        upstream.ask(f"http://{host}{dialect.path}", question(stream=True)).body
    )
    assert reply.thinking == "deep"
    assert server.requests[0].target == f"http://{host}/v1/chat/completions"


@pytest.mark.parametrize("host", PUBLIC)
@pytest.mark.parametrize("claimed", ["", "localhost"])
def test_others_are_left_alone_whatever_the_request_says_of_its_host(
    upstream: Client, server: ScriptedServer, dialect: Dialect, host: str, claimed: str
) -> None:
    server.answer(GOOD)
    headers = {"accept-encoding": "gzip"} | ({"host": claimed} if claimed else {})
    answer = upstream.ask(f"http://{host}{dialect.path}", question(stream=True), headers)
    assert answer.body == b"".join(step for step in GOOD.steps if isinstance(step, bytes))
    assert server.requests[0].target.endswith(dialect.path)
    assert (server.requests[0].body, server.requests[0].headers["accept-encoding"]) == (
        question(stream=True),
        "gzip",
    )
