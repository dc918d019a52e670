"""A client's request as the server receives it."""

import pytest

from tests.support.clients import ANTHROPIC, OPENAI, Client, question
from tests.support.frames import stream
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>deep</think>Hello"))


@pytest.mark.parametrize(
    ("target", "reaches"),
    [
        ("/v1/messages", "/v1/chat/completions"),
        ("/v1/messages?beta=true", "/v1/chat/completions"),
        ("/some/prefix/v1/messages?beta=true", "/some/prefix/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions?api-version=2&x=/y", "/v1/chat/completions?api-version=2&x=/y"),
        ("/openai/deployments/own/chat/completions", "/openai/deployments/own/chat/completions"),
        ("/chat/completions", "/chat/completions"),
    ],
)
def test_any_prefix_and_query_is_acted_on(
    client: Client, server: ScriptedServer, target: str, reaches: str
) -> None:
    server.answer(GOOD)
    dialect = ANTHROPIC if "messages" in target else OPENAI
    assert dialect.read_stream(client.ask(target, question(stream=True)).body).thinking == "deep"
    assert (server.requests[0].method, server.requests[0].target) == ("POST", reaches)


OTHERS = [
    ("GET", "/v1/messages"),
    ("GET", "/v1/chat/completions"),
    ("PUT", "/v1/messages"),
    ("GET", "/v1/models"),
]


@pytest.mark.parametrize(("method", "path"), OTHERS)
def test_another_method_or_path_is_not(
    client: Client, server: ScriptedServer, method: str, path: str
) -> None:
    server.answer(Reply([b'{"choices": [{"message": {"content": "<think>"}}]}'], JSON))
    answer = client.ask(path, b"", method=method)
    assert answer.body == server.reply.steps[0]
    assert (server.requests[0].method, server.requests[0].target) == (method, path)


def test_a_chat_request_reaches_the_server_to_the_byte(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(GOOD)
    body = b' {"model": "caf\\u00e9", "stream" : true, "own": 1.0, "messages": [],'
    body += b' "stream_options": {}} '
    client.ask(OPENAI.path, body, {"authorization": "Bearer key", "x-own": "kept"})
    headers = server.requests[0].headers
    assert server.requests[0].body == body
    assert (headers["authorization"], headers["x-own"], headers["accept-encoding"]) == (
        "Bearer key",
        "kept",
        "identity",
    )


def test_the_headers_of_a_messages_request_fit_what_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(GOOD)
    client.ask(
        ANTHROPIC.path, question(stream=True), {"x-api-key": "key", "accept-encoding": "gzip, br"}
    )
    sent = server.requests[0]
    assert sent.headers["content-length"] == str(len(sent.body))
    assert (sent.headers["content-type"], sent.headers["accept-encoding"]) == (
        "application/json",
        "identity",
    )
    assert sent.headers["authorization"] == "Bearer key"
