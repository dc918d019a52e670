"""Fixtures for the Messages API: a by-path server behind one proxy that also serves as a forward
proxy to any other server.

A test module takes them with `pytest_plugins = ["tests.support.front"]`.
It is not to be imported as well: pytest could then not rewrite its asserts.
"""

from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest

from tests.support.by_path_server import ByPathServer
from tests.support.clients import Client
from tests.support.harness import Proxy, start_proxy
from tests.support.sdks import anthropic_client

REVERSE, FORWARD = range(2)


@pytest.fixture(scope="session")
def front_server() -> Iterator[ByPathServer]:
    with ByPathServer() as server:
        yield server


@pytest.fixture(scope="session")
def front_proxy(front_server: ByPathServer, proxy_folder: Path) -> Iterator[Proxy]:
    """In front of the by-path server, and, as a forward proxy, in front of any."""
    modes = [f"reverse:{front_server.address}", "regular"]
    with start_proxy(modes, [], proxy_folder, "front") as proxy:
        yield proxy


@pytest.fixture(scope="session")
def native_proxy(proxy_folder: Path) -> Iterator[Proxy]:
    """A forward proxy that mends the Messages replies and responses of servers that have those
    endpoints themselves.
    """
    options = ["--set", "think_native=messages", "--set", "think_native=responses"]
    with start_proxy(["regular"], options, proxy_folder, "native") as proxy:
        yield proxy


@pytest.fixture
def native(native_proxy: Proxy) -> Iterator[Client]:
    """A client whose targets are whole addresses; the proxy must be in good health after each test."""
    mark = native_proxy.mark()
    with Client(native_proxy.ports[0]) as client:
        yield client
    native_proxy.check(mark)


@pytest.fixture
def unknown() -> Iterator[ByPathServer]:
    """A server without any request so far, for the forward proxy."""
    with ByPathServer() as server:
        yield server


@pytest.fixture
def model(front_server: ByPathServer) -> ByPathServer:
    """The model server: the test fills its rows."""
    front_server.rows.clear()
    front_server.requests.clear()
    return front_server


@pytest.fixture
def front(front_proxy: Proxy) -> Iterator[Client]:
    """A plain client of the proxy, which must be in good health after each test."""
    mark = front_proxy.mark()
    with Client(front_proxy.ports[REVERSE]) as client:
        yield client
    front_proxy.check(mark)


@pytest.fixture
def forward(front_proxy: Proxy) -> Iterator[Client]:
    """A client of the forward proxy: its targets are whole addresses, so each test may have a
    server without facts.
    """
    mark = front_proxy.mark()
    with Client(front_proxy.ports[FORWARD]) as client:
        yield client
    front_proxy.check(mark)


@pytest.fixture
def sdk(front_proxy: Proxy) -> Iterator[anthropic.Anthropic]:
    mark = front_proxy.mark()
    with anthropic_client(front_proxy.ports[REVERSE]) as client:
        yield client
    front_proxy.check(mark)
