"""What reaches the server of a client's request."""

import gzip
import json

import pytest

from tests.conftest import Complaints
from tests.support.clients import ANTHROPIC, OPENAI, Client, anthropic_error, question
from tests.support.frames import stream
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>deep</think>Hello"))


@pytest.mark.parametrize(
    ("asked", "reaches"),
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
    client: Client, server: ScriptedServer, asked: str, reaches: str
) -> None:
    server.answer(GOOD)
    dialect = ANTHROPIC if "messages" in asked else OPENAI
    assert dialect.read_stream(client.ask(asked, question(stream=True)).body).thinking == "deep"
    assert (server.asked[0].method, server.asked[0].target) == ("POST", reaches)


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
    assert (server.asked[0].method, server.asked[0].target) == (method, path)


def test_a_chat_request_reaches_the_server_to_the_byte(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(GOOD)
    body = b' {"model": "caf\\u00e9", "stream" : true, "own": 1.0, "messages": [],'
    body += b' "stream_options": {}} '
    client.ask(OPENAI.path, body, {"authorization": "Bearer key", "x-own": "kept"})
    headers = server.asked[0].headers
    assert server.asked[0].body == body
    assert (headers["authorization"], headers["x-own"], headers["accept-encoding"]) == (
        "Bearer key",
        "kept",
        "identity",
    )


def test_a_messages_request_becomes_a_chat_request(client: Client, server: ScriptedServer) -> None:
    server.answer(GOOD)
    thinking = {"type": "thinking", "thinking": "I see.", "signature": "s"}
    body = {
        "model": "small",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello"}]},
            {"role": "user", "content": "and?"},
        ],
        "stop_sequences": ["END"],
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": True,
    }
    client.ask(ANTHROPIC.path, json.dumps(body).encode())
    sent = json.loads(server.asked[0].body)
    said = [
        (message["role"], message["content"].replace("\n", "")) for message in sent.pop("messages")
    ]
    assert said == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "<think>I see.</think>Hello"),
        ("user", "and?"),
    ]
    assert sent == {
        "model": "small",
        "max_tokens": 9,
        "stop": ["END"],
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_headers_of_a_messages_request_fit_what_is_sent(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(GOOD)
    client.ask(
        ANTHROPIC.path,
        question(stream=True),
        {"x-api-key": "key", "accept-encoding": "gzip, br"},
    )
    asked = server.asked[0]
    assert asked.headers["content-length"] == str(len(asked.body))
    assert (asked.headers["content-type"], asked.headers["accept-encoding"]) == (
        "application/json",
        "identity",
    )
    assert asked.headers["authorization"] == "Bearer key"


def test_a_compressed_messages_request_is_read(client: Client, server: ScriptedServer) -> None:
    server.answer(GOOD)
    answer = client.ask(
        ANTHROPIC.path, gzip.compress(question(stream=True)), {"content-encoding": "gzip"}
    )
    assert ANTHROPIC.read_stream(answer.body).text == "Hello"
    assert "content-encoding" not in server.asked[0].headers
    assert json.loads(server.asked[0].body)["max_tokens"] == 200


BROKEN = {
    "no JSON": b"{bad",
    "nothing": b"",
    "a list": b"[]",
    "no messages": b'{"model": "small", "max_tokens": 5}',
    "messages a string": b'{"model": "small", "max_tokens": 5, "messages": "hi"}',
    "a message without role": b'{"model": "small", "max_tokens": 5, "messages": [{"content": "hi"}]}',
    "a thought of the user's": b'{"model": "small", "max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "thinking"}]}]}',
    "max_tokens a string": b'{"model": "small", "max_tokens": "5", "messages": [{"role": "user", "content": "hi"}]}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_messages_request_that_breaks_the_format_is_refused_and_goes_nowhere(
    client: Client, server: ScriptedServer, complaints: Complaints, body: bytes
) -> None:
    server.answer(GOOD)
    answer = client.ask(ANTHROPIC.path, body)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (
        400,
        "invalid_request_error",
    )
    assert anthropic_error(answer.body)
    assert server.asked == []
    assert (
        ANTHROPIC.read_stream(client.ask(ANTHROPIC.path, question(stream=True)).body).text
        == "Hello"
    )
    assert len(complaints()) == 1


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_chat_request_that_breaks_the_format_is_the_servers_to_refuse(
    client: Client, server: ScriptedServer, body: bytes
) -> None:
    refusal = b'{"error": {"message": "no"}}'
    server.answer(Reply([refusal], JSON, 400))
    answer = client.ask(OPENAI.path, body)
    assert (answer.status, answer.body, server.asked[0].body) == (400, refusal, body)
