"""Talking to a server, and what stands in the way."""

import socket

import pytest

from converter.extras.command.addresses import CommandError
from converter.extras.command.link import ServerLink, StreamedReply
from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.private_authority import PrivateAuthority, private_authority
from tests.support.scripted_server import STREAM

pytestmark = pytest.mark.slow

BODY = {"stream": True, "messages": []}


def never(_: StreamedReply) -> bool:
    return False


def test_a_stream_is_read_to_its_end_and_the_key_goes_along() -> None:
    with ByPathServer({CHAT: Says(steps=frames.stream("<think>a</think>b"))}) as server:
        streamed = ServerLink(server.address, "secret").stream(BODY, never)
        assert (streamed.text, streamed.refusal) == ("<think>a</think>b", "")
        assert server.requests[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (Says({"error": {"message": "no such model"}}, 404), "no such model"),
        (Says(b"<html>", 502), "HTTP 502"),
        (Says(b"data: " + b'{"error": {"message": "gone"}}\n\n', headers=STREAM), "gone"),
    ],
)
def test_a_refusal_has_the_servers_message(says: Says, message: str) -> None:
    with ByPathServer({CHAT: says}) as server:
        assert ServerLink(server.address).stream(BODY, never).refusal == message


def test_a_server_that_hangs_up_has_not_replied() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        streamed = ServerLink(
            f"http://127.0.0.1:{silent.getsockname()[1]}", patience_seconds=0.2
        ).stream(BODY, never)
    assert streamed.refusal == "no reply: no answer in time"


def test_an_unreachable_server_is_reported_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(CommandError, match=f"no model server at {address}: Connection refused"):
        ServerLink(address).json_at("/v1/models")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> PrivateAuthority:
    return private_authority(tmp_path_factory.mktemp("authority"))


def test_a_certificate_of_ones_own_is_named_with_what_takes_it(authority: PrivateAuthority) -> None:
    with ByPathServer(owned_by("vllm")) as server:
        authority.secure(server)
        address = server.address.replace("http:", "https:")
        with pytest.raises(CommandError, match=r"is not trusted .*--set ssl_insecure=true"):
            ServerLink(address).json_at("/v1/models")
        assert ServerLink(address, insecure=True).json_at("/v1/models")
        assert ServerLink(address, authority_file=str(authority.file)).json_at("/v1/models")


def test_http_for_https_is_reported(authority: PrivateAuthority) -> None:
    with ByPathServer(owned_by("vllm")) as server:
        authority.secure(server)
        with pytest.raises(
            CommandError, match=rf"speaks TLS: write https://.*{server.server_port}"
        ):
            ServerLink(server.address).json_at("/v1/models")
