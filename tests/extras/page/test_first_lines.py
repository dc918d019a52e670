"""The lines to copy on a page that has nothing to show."""

import asyncio
from types import SimpleNamespace

import pytest
from mitmproxy.test import taddons

from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import KnownServers, Upstream
from converter.addon.servers.server_key import KEY_VARIABLE
from converter.addon.start_lines import Line
from converter.extras.page import first_lines
from tests.support.by_path_server import ByPathServer, Says


class Listening:
    """The part of mitmproxy that listens."""

    name = "proxyserver"

    def __init__(self, *addresses: tuple[object, ...]) -> None:
        self._addresses = addresses

    def listen_addrs(self) -> list[tuple[object, ...]]:
        return [*self._addresses]


def _lines(mode: str, *addresses: tuple[object, ...]) -> list[Line]:
    with taddons.context() as context:
        context.master.addons.lookup["proxyserver"] = Listening(*addresses)
        context.options.mode = [mode]
        return asyncio.run(first_lines.lines_to_copy(UpstreamClient(KnownServers())))


def test_a_proxy_is_named_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    addons = {"proxyserver": Listening(("::1", 81, 0, 0))}
    monkeypatch.setattr(first_lines, "ctx", SimpleNamespace(master=SimpleNamespace(addons=addons)))
    assert first_lines.proxy_address() == "http://[::1]:81"


def test_lines_name_the_first_model_whose_name_is_safe_to_paste(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a-key")
    with ByPathServer({"/v1/models": Says({"data": [{"id": "a\nb"}, {"id": "it's"}]})}) as server:
        lines = _lines(f"reverse:{server.address}", ("127.0.0.1", 8080))
        assert server.requests[0].headers["authorization"] == "Bearer a-key"
    assert [title for title, _ in lines] == ["A question", "Claude Code", "A program with an SDK"]
    curl, claude, sdk = (line for _, line in lines)
    assert curl.startswith("curl -sN http://127.0.0.1:8080/v1/chat/completions ")
    assert '"model": "it\'"\'"\'s"' in curl
    assert claude.endswith("claude --model 'it'\"'\"'s'")
    assert "OPENAI_BASE_URL=http://127.0.0.1:8080/v1" in sdk


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reverse:https://gpu:8000@81", Upstream("https", "gpu", 8000)),
        ("regular", None),
        ("reverse:tcp://gpu:8000", None),
    ],
)
def test_the_server_is_that_of_a_reverse_proxy(mode: str, expected: Upstream | None) -> None:
    with taddons.context() as context:
        context.options.mode = [mode]
        assert first_lines.reverse_server() == expected
