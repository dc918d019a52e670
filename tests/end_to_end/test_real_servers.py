"""Ollama's own server (of spring 2025) and mlx-lm, the real ones, with the small model: asked in
four dialects, streamed and whole, through the addon.

Each is installed once into .cache; where that cannot be, its tests are left out, and say why.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from converter.addon.servers.probes import IDENTITY_PATHS, recognise
from converter.extras.command.link import ServerLink
from tests.support.clients import Client
from tests.support.harness import Proxy, start_proxy
from tools.lab.installing import MissingError
from tools.lab.matrix import CASES, Case, asked
from tools.lab.servers import MODEL, Started, started

pytestmark = pytest.mark.slow
SERVERS = ("ollama", "mlx-lm")
NOT_ITS = {
    ("ollama", "thinking off"): "thinking",  # its models have no switch before 0.9
    ("ollama", "two choices"): "1 choices",
    ("mlx-lm", "two choices"): "1 choices",
    ("mlx-lm", "JSON by a schema"): "no JSON",  # it takes the schema, and reads it not
}
"""What is wrong with each answer to a question that a server cannot do what it asks for."""


@pytest.fixture(scope="session", params=SERVERS)
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(started(request.param, tmp_path_factory.mktemp("real")))
        except MissingError as missing:
            reporter = request.config.pluginmanager.get_plugin("terminalreporter")
            assert reporter is not None
            words = f"\n{request.param} is NOT tested: {missing}"
            reporter.write_line(words, yellow=True, bold=True)
            pytest.skip(str(missing))
        yield server


@pytest.fixture(scope="session")
def through(real: Started, proxy_folder: Path) -> Iterator[Proxy]:
    """The addon in front of it."""
    with start_proxy([f"reverse:{real.address}"], [], proxy_folder, real.name) as proxy:
        yield proxy


def test_it_is_recognised(real: Started) -> None:
    link = ServerLink(real.address)
    row = recognise({path: link.reply(path) for path in IDENTITY_PATHS})
    assert row
    assert row.name == real.name


ITS_OWN: tuple[tuple[str, str, dict[str, object] | None], ...] = (
    ("GET", "/api/tags", None),
    ("GET", "/api/version", None),
    ("POST", "/api/show", {"model": MODEL}),
    ("POST", "/api/embed", {"model": MODEL, "input": "a"}),
    ("POST", "/api/embeddings", {"model": MODEL, "prompt": "a"}),
)
"""What an Ollama answers itself."""
_TIMES = ("total_duration", "load_duration", "modified_at")


def _lines(value: object) -> object:
    """The lines of a text in one order: Ollama writes a model's parameters in any."""
    return sorted(value.splitlines()) if isinstance(value, str) else value


@pytest.mark.parametrize("real", ["ollama"], indirect=True)
@pytest.mark.parametrize(("method", "path", "body"), ITS_OWN)
def test_an_ollama_answers_itself(
    real: Started, through: Proxy, method: str, path: str, body: dict[str, object] | None
) -> None:
    asked = b"" if body is None else json.dumps(body).encode()
    answers = []
    for port in (int(real.address.rpartition(":")[2]), through.ports[0]):
        with Client(port) as client:
            answer = client.ask(path, asked, {"content-type": "application/json"}, method)
        assert answer.status == 200
        told = json.loads(answer.body)
        answers.append({name: _lines(told[name]) for name in told if name not in _TIMES})
    assert answers[0] == answers[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_answers_as_it_should(real: Started, through: Proxy, case: Case) -> None:
    if real.name in case.not_of:
        assert case.name == "prompt too long", "they refuse no prompt, and all else is asked"
        return
    mark = through.mark()
    expected = NOT_ITS.get((real.name, case.name), "")
    wrong = {name: words for name, words in asked(through.ports[0], case) if words != expected}
    assert not wrong
    through.check(mark)
