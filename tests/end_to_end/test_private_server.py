"""A server of limited access: the addon's probes get in wherever mitmproxy itself does, and a
server that answers none delays requests once.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says, owned_by
from tests.support.clients import Client, read_openai_stream
from tests.support.frames import stream, whole
from tests.support.harness import Proxy, start_proxy
from tests.support.private_authority import PrivateAuthority, private_authority

pytestmark = pytest.mark.slow

REQUEST = {"model": "small", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]}
THINKING = {**REQUEST, "thinking": {"type": "enabled", "budget_tokens": 2048}}
OPENED = {"count": 5, "token_strs": ["<|im_start|>", "assistant", "<think>"]}
ROWS = {
    **owned_by("vllm"),
    CHAT: Says(whole("<think>deep</think>Hello")),
    "/tokenize": Says(OPENED),
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> PrivateAuthority:
    return private_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def secure(authority: PrivateAuthority) -> Iterator[ByPathServer]:
    """A server that talks to those only whose certificate it knows."""
    with ByPathServer(ROWS) as server:
        authority.secure(server, wants_client=True)
        yield server


@contextmanager
def _proxy(server: ByPathServer, folder: Path, scheme: str, **options: object) -> Iterator[Proxy]:
    mode = f"reverse:{scheme}://127.0.0.1:{server.server_port}"
    settings = [part for name in options for part in ("--set", f"{name}={options[name]}")]
    with start_proxy([mode], settings, folder, "private") as proxy:
        yield proxy


def _status(proxy: Proxy, path: str = MESSAGES, **fields: object) -> int:
    with Client(proxy.ports[0]) as client:
        return client.ask(path, json.dumps({**THINKING, **fields}).encode()).status


@pytest.mark.parametrize("trust", ["ca", "folder", "insecure"])
def test_the_questions_get_in_where_mitmproxy_does(
    secure: ByPathServer, authority: PrivateAuthority, tmp_path: Path, trust: str
) -> None:
    trusted: dict[str, dict[str, object]] = {
        "ca": {"ssl_verify_upstream_trusted_ca": authority.file},
        "folder": {"ssl_verify_upstream_trusted_confdir": authority.folder},
        "insecure": {"ssl_insecure": "true"},
    }
    options = {**trusted[trust], "client_certs": authority.client}
    with _proxy(secure, tmp_path, "https", **options) as proxy:
        assert _status(proxy) == 200
        assert proxy.troubles() == []
    assert "chat_template_kwargs" in secure.bodies()[-1]


def test_a_reply_that_starts_inside_the_thought_is_read_rightly(
    secure: ByPathServer, authority: PrivateAuthority, tmp_path: Path
) -> None:
    tokenized = threading.Event()

    def tell(_: object) -> Says:
        tokenized.set()
        return Says(OPENED)

    def answer(_: object) -> Says:
        assert tokenized.wait(30)
        return Says(steps=stream("hm, ", "so</think>", "Yes"))

    secure.rows |= {"/tokenize": tell, CHAT: answer}
    options = {"ssl_verify_upstream_trusted_ca": authority.file, "client_certs": authority.client}
    with _proxy(secure, tmp_path, "https", **options) as proxy, Client(proxy.ports[0]) as client:
        body = client.ask(CHAT, json.dumps({**REQUEST, "stream": True}).encode()).body
    reply = read_openai_stream(body)
    assert (reply.thinking, reply.text) == ("hm, so", "Yes")


def test_a_server_that_answers_no_question_holds_requests_up_once(tmp_path: Path) -> None:
    let_go = threading.Event()
    hangs = Says(steps=[let_go, b"{}"])
    paths = ("/v1/metadata", "/v1/models", "/version", "/api/version")
    with (
        ByPathServer({CHAT: ROWS[CHAT], **dict.fromkeys(paths, hangs)}) as server,
        _proxy(server, tmp_path, "http") as proxy,
    ):
        for _ in range(4):
            assert _status(proxy) == 200
        let_go.set()
        lines = [line for line in proxy.troubles() if "could not be probed" in line]
    # one more beside the second request, which nothing waits for
    assert [server.paths().count(path) for path in paths] == [2, 2, 2, 2]
    assert len(lines) == 1
