"""Fixtures of the end-to-end tests: each process starts with the first test that needs it, and
stops after the last.
"""

import gc
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, question
from tests.support.frames import stream
from tests.support.harness import TESTS, VARIANTS, LlamaServer, Proxy, start_proxy
from tests.support.scripted_server import Reply, ScriptedServer
from tests.support.strategies import drawn_rows, share_of

settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, max_examples=share_of(100)
)
settings.load_profile("steady")  # a busy machine is no fault, and a run must be repeatable

# Where the machine has no Node.js, that of .venv runs Claude Code, Codex and the AI SDK.
os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)

MARKED_SLOW = "\npytestmark = pytest.mark.slow\n"
NOT_SLOW = "not slow"


HAS_SDKS = find_spec("anthropic") is not None
"""Tells the extra "dev" from "test", with which no slow test runs."""


def _leaves_slow_out(config: pytest.Config) -> bool:
    return config.option.markexpr == NOT_SLOW or not HAS_SDKS


def pytest_report_header() -> str:
    """Say why so few tests run."""
    return "" if HAS_SDKS else 'no slow tests: they need the extra "dev" (make setup)'


def pytest_configure(config: pytest.Config) -> None:
    """Ask no law 7 without slow tests: it needs more than the extra "test" brings, and the SDKs
    take seconds to load.
    """
    if _leaves_slow_out(config):
        sys.modules["laws.sdk_reading"] = None  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have no collection of garbage look at modules and tests, which all stay: each one of these
    collections takes 0.3 s.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read nothing without slow tests that is slow as a whole: what it imports may not be there."""
    if not _leaves_slow_out(config):
        return None
    tests = [collection_path] if collection_path.is_file() else collection_path.rglob("test_*.py")
    return all(_is_slow(test) for test in tests) or None


def _is_slow(file: Path) -> bool:
    return file.name.startswith("test_") and MARKED_SLOW in file.read_text()


QUICK_ROWS = 6
"""Rows that a test has in every run; one that is slow has one. With twelve `make test-fast` took 67 s
on two quiet cores.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the rows of each test, if a share is wanted (`LAW_SHARE`), and no slow test
    where a package that it needs is not installed. Slow tests come first: files without programs
    are short, so that all workers end at about the same time.
    """
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("slow") and not HAS_SDKS:
            continue
        tests[item.nodeid.partition("[")[0]].append(item)
    drawn = set[pytest.Item]()
    for rows in tests.values():
        least = 1 if rows[0].get_closest_marker("slow") else QUICK_ROWS
        drawn |= {*drawn_rows(rows, least, lambda row: row.nodeid)}
    if left := [item for item in items if item not in drawn]:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item in drawn]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


# The scripted server is asked for what a test asks, and not for what it is.
UNASKED = ["--set", "think_server=generic"]


@pytest.fixture(scope="session")
def proxy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for logs and mitmproxy's own files; its certificates are made once."""
    return tmp_path_factory.mktemp("proxies")


@dataclass(frozen=True)
class Llama:
    """One llama.cpp server and the proxy's port in front of it."""

    name: str
    address: str
    proxy: Proxy
    port: int


@pytest.fixture(scope="session")
def llamas(proxy_folder: Path) -> Iterator[dict[str, Llama]]:
    """All variants, behind one mitmdump that listens on a port for each."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(LlamaServer(variant, proxy_folder / f"llama-{number}.log"))
            for number, variant in enumerate(VARIANTS.values())
        ]
        addresses = [server.address for server in servers]
        proxy = stack.enter_context(
            start_proxy([f"reverse:{address}" for address in addresses], [], proxy_folder, "llamas")
        )
        yield {
            name: Llama(name, address, proxy, port)
            for name, address, port in zip(VARIANTS, addresses, proxy.ports, strict=True)
        }


@pytest.fixture(scope="session")
def scripted_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
        server.shutdown()


@pytest.fixture
def server(scripted_server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The server that a test tells what to answer."""
    yield scripted_server
    scripted_server.release()


def scripted_modes(server: ScriptedServer) -> list[str]:
    """Each mode that needs no rights: reverse, regular, and upstream, in which the scripted server
    stands for any host.
    """
    return [f"reverse:{server.address}", "regular", f"upstream:{server.address}"]


@pytest.fixture(scope="session")
def scripted_proxy(scripted_server: ScriptedServer, proxy_folder: Path) -> Iterator[Proxy]:
    """The one that most tests use."""
    with start_proxy(scripted_modes(scripted_server), UNASKED, proxy_folder, "scripted") as proxy:
        yield proxy


@pytest.fixture
def proxy(scripted_proxy: Proxy) -> Iterator[Proxy]:
    """The proxy with default options, which must be in good health after each test."""
    mark = scripted_proxy.mark()
    yield scripted_proxy
    scripted_proxy.check(mark)


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Client]:
    with Client(proxy.ports[0]) as client:
        yield client


type Complaints = Callable[[], list[str]]


@pytest.fixture
def complaints(proxy: Proxy, server: ScriptedServer) -> Complaints:
    """Return a function that reads the test's log so far, behind requests that must still pass."""
    mark = proxy.mark()
    return lambda: _complaints_after_good_replies(proxy, server, mark)


def _complaints_after_good_replies(proxy: Proxy, server: ScriptedServer, mark: int) -> list[str]:
    for dialect in (OPENAI, ANTHROPIC):
        server.answer(Reply(stream("<think>still", " here</think>", "fine")))
        with Client(proxy.ports[0]) as client:
            reply = dialect.read_stream(client.ask(dialect.path, question(stream=True)).body)
        assert (reply.thinking, reply.text) == ("still here", "fine")
    return proxy.troubles(mark)


@pytest.fixture(scope="session")
def changing_proxy(scripted_server: ScriptedServer, proxy_folder: Path) -> Iterator[Proxy]:
    """A proxy whose options a test may change with POST /set-options."""
    arguments = ["-s", str(TESTS / "support" / "option_setter.py"), *UNASKED]
    with start_proxy(scripted_modes(scripted_server), arguments, proxy_folder, "changing") as proxy:
        yield proxy


@pytest.fixture(params=[OPENAI, ANTHROPIC], ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    chosen = request.param
    assert isinstance(chosen, Dialect)
    return chosen


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
