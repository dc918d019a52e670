"""mitmweb and its page in a browser, started for the first test that needs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.by_path_server import ByPathServer, owned_by
from tests.support.mitmweb import Mitmweb, Page
from tests.support.think_page import ThinkPage


@pytest.fixture(scope="session")
def web_server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("llamacpp")) as server:
        yield server


@pytest.fixture(scope="session")
def used_web(web_server: ByPathServer, proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(web_server.address, proxy_folder) as web:
        yield web
        web.check()


@pytest.fixture
def web(used_web: Mitmweb) -> Mitmweb:
    """mitmweb without flows."""
    used_web.clear()
    return used_web


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    with Page() as page:
        yield page


@pytest.fixture(scope="module")
def used_page() -> Iterator[ThinkPage]:
    with ThinkPage() as page:
        yield page


@pytest.fixture
def think(used_page: ThinkPage) -> Iterator[ThinkPage]:
    """The page, which may ask no other host for anything, nor complain on the console."""
    used_page.leave()  # what it still asks of an exchange that goes would be a complaint
    used_page.complaints()
    yield used_page
    assert used_page.complaints() == []
    assert {host.partition(":")[0] for host in used_page.hosts()} <= {"127.0.0.1"}
