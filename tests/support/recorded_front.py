"""A proxy in front of a server of all recordings, for clients that ask by a recording's name.

A test module takes the fixture with `pytest_plugins = ["tests.support.recorded_front"]`.
It is not to be imported as well: pytest could then not rewrite its asserts.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from converter.extras.recordings.library import Library
from converter.extras.recordings.server import FAST, RecordedServer
from tests.support.harness import Proxy, start_proxy
from tests.support.recorded import FOLDER


@pytest.fixture(scope="session")
def recorded_proxy(proxy_folder: Path) -> Iterator[Proxy]:
    library = Library(FOLDER)
    with (
        RecordedServer([library.load(name) for name in library.names()], 0, FAST) as server,
        start_proxy([f"reverse:{server.address}"], [], proxy_folder, "recorded") as proxy,
    ):
        yield proxy


@pytest.fixture
def recorded(recorded_proxy: Proxy) -> Iterator[Callable[[str], str]]:
    """Return the base of the addresses at which a recording alone answers, by its name."""
    mark = recorded_proxy.mark()
    yield lambda name: f"http://127.0.0.1:{recorded_proxy.ports[0]}/{name}"
    recorded_proxy.check(mark)
