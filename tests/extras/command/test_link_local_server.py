"""The local server that is taken where the command names none."""

import socket
from collections.abc import Iterator

import pytest

from converter.addon.servers.probes import ADDON_PATH, addon_identity
from converter.extras.command import link
from converter.extras.command.addresses import CommandError
from converter.extras.command.link import find_local_server
from tests.support.by_path_server import ByPathServer, Says, owned_by

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    with ByPathServer(owned_by("vllm")) as listening:
        yield listening


@pytest.fixture
def nobody() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_the_first_that_lists_models_is_taken_and_printed(
    server: ByPathServer,
    nobody: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ByPathServer() as another:  # it lists none
        ports = {nobody: "none", another.server_port: "none", server.server_port: "ours"}
        monkeypatch.setattr(link, "USUAL_PORTS", ports)
        assert find_local_server() == server.address
    assert capsys.readouterr().err == f"found {server.address}\n"


def test_the_addon_itself_is_passed_over_and_named(
    server: ByPathServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = {ADDON_PATH: Says(addon_identity("http://gpu-box:8000"))}
    with ByPathServer({**owned_by("vllm"), **identity}) as proxy:
        ports = {proxy.server_port: "a proxy", server.server_port: "ours"}
        monkeypatch.setattr(link, "USUAL_PORTS", ports)
        assert find_local_server() == server.address
    assert "think-addon itself, in front of http://gpu-box:8000" in capsys.readouterr().err


def test_without_one_the_ports_are_named(nobody: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "USUAL_PORTS", {nobody: "none"})
    with pytest.raises(CommandError) as caught:
        find_local_server()
    assert str(caught.value) == (
        f"no model server at the local ports {nobody} (none): start one, or give its URL, "
        "such as http://gpu-box:8000"
    )
