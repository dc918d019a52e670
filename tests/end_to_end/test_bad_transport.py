"""What goes wrong around a body: encodings nobody asked for, error pages, statuses without a body."""

import json

import pytest
from mitmproxy.net import encoding

from tests.conftest import Complaints
from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    Client,
    Dialect,
    anthropic_error,
    anthropic_failure,
    question,
)
from tests.support.frames import stream, whole
from tests.support.scripted_server import JSON, STREAM, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

PAGE = b"<html><head><style>p {color: red}</style></head><body><h1>Bad Gateway</h1><p>no server</p></body></html>"
HTML = {"content-type": "text/html"}


def reply_of(body: bytes, streamed: bool, **headers: str) -> Reply:
    return Reply(
        [body],
        (STREAM if streamed else JSON)
        | {name.replace("_", "-"): value for name, value in headers.items()},
    )


def good_body(streamed: bool) -> bytes:
    content = "<think>deep</think>Hello"
    return b"".join(stream(content)) if streamed else whole(content)


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate"])
def test_a_compressed_reply_is_read_though_it_was_not_asked_for(
    client: Client, server: ScriptedServer, dialect: Dialect, streamed: bool, name: str
) -> None:
    compressed = encoding.encode(good_body(streamed), name)
    assert isinstance(compressed, bytes)
    server.answer(reply_of(compressed, streamed, content_encoding=name))
    answer = client.ask(
        dialect.path,
        question(stream=streamed),
        {"accept-encoding": "gzip, br, zstd, deflate"},
    )
    said = dialect.read(answer.body, streamed)
    assert (said.thinking, said.text) == ("deep", "Hello")
    assert "content-encoding" not in answer.headers
    assert server.asked[0].headers["accept-encoding"] == "identity"


def test_a_body_that_lies_about_its_encoding_is_taken_as_it_is(
    client: Client, server: ScriptedServer, dialect: Dialect, streamed: bool, complaints: Complaints
) -> None:
    server.answer(reply_of(good_body(streamed), streamed, content_encoding="gzip"))
    answer = client.ask(dialect.path, question(stream=streamed))
    said = dialect.read(answer.body, streamed)
    assert (said.thinking, said.text) == ("deep", "Hello")
    assert len(complaints()) == 1


def test_a_compressed_reply_cut_short_becomes_an_anthropic_error(
    client: Client, server: ScriptedServer, streamed: bool, complaints: Complaints
) -> None:
    server.answer(reply_of(half_gzip(streamed), streamed, content_encoding="gzip"))
    assert anthropic_failure(client.ask(ANTHROPIC.path, question(stream=streamed)))
    assert len(complaints()) == 1


def half_gzip(streamed: bool) -> bytes:
    compressed = encoding.encode(good_body(streamed), "gzip")
    assert isinstance(compressed, bytes)
    return compressed[: len(compressed) // 2]


@pytest.mark.parametrize("status", [404, 500, 502])
def test_an_error_page_becomes_an_error_object_with_its_words(
    client: Client, server: ScriptedServer, streamed: bool, status: int, complaints: Complaints
) -> None:
    server.answer(Reply([PAGE], HTML | {"retry-after": "3"}, status, Framing.LENGTH))
    answer = client.ask(OPENAI.path, question(stream=streamed))
    assert (answer.status, answer.headers["retry-after"]) == (status, "3")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["error"]["message"] == "Bad Gateway no server"
    assert len(complaints()) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
    ],
)
def test_the_servers_own_error_keeps_status_and_words(
    client: Client, server: ScriptedServer, streamed: bool, status: int, kind: str
) -> None:
    body = json.dumps(
        {"error": {"code": status, "message": "the role is not known", "type": "own"}}
    ).encode()
    server.answer(Reply([body], JSON, status))
    plain = client.ask(OPENAI.path, question(stream=streamed))
    assert (plain.status, plain.body) == (status, body)
    answer = client.ask(ANTHROPIC.path, question(stream=streamed))
    assert (answer.status, anthropic_error(answer.body)) == (status, "the role is not known")
    assert json.loads(answer.body)["error"]["type"] == kind


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_is_an_error_and_leaves_the_connection_in_order(
    client: Client, server: ScriptedServer, dialect: Dialect, status: int, complaints: Complaints
) -> None:
    for streamed in (True, False):
        server.answer(Reply([], {}, status, Framing.NO_BODY))
        answer = client.ask(dialect.path, question(stream=streamed))
        assert answer.status == 502
        assert json.loads(answer.body)["error"]["message"]
        server.answer(Reply(stream("<think>deep</think>Hello")))
        assert (
            dialect.read_stream(client.ask(dialect.path, question(stream=True)).body).text
            == "Hello"
        )
    assert len(complaints()) == 2
