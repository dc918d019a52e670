"""Requests and replies to the byte: the parts that pass and the parts that change."""

import socket

import pytest

from tests.support.clients import ANTHROPIC, OPENAI, SECONDS, Client, Dialect, question
from tests.support.frames import DONE, END, ROLE, USAGE, delta, finish, stream, text, whole
from tests.support.harness import Proxy
from tests.support.scripted_server import JSON, STREAM, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

GOOD = Reply(stream("<think>\ndeep\n</think>\n\nHello"))
ODD = [
    b'data:{"x" : 1, "choices":[{"index":0,"delta":{"role":"assistant","content":null},"logprobs":null}]}\r\n\r\n',
    b'id: 7\nretry: 10\ndata: {"choices": [{"delta": {"content": "caf\\u00e9 <b>1 < 2</b>"}, "index": 0}], "own": [1.0, 1e3]}\n\n',
    b": ping\n\n",
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"n":1}}\n\n',
    b"data: [DONE]\n\n",
]
COUNTED = {"stream_options": {"include_usage": True}}
"""Counts that the client itself requested, so that the client gets their frame."""


def test_a_stream_without_thinking_passes_to_the_byte(
    client: Client, server: ScriptedServer
) -> None:
    """But for the blank line behind a comment, which ends an event of a stream that has ids."""
    server.answer(Reply(ODD))
    expected = b"".join(ODD).replace(b": ping\n\n", b": ping\n")
    assert client.ask(OPENAI.path, question(stream=True)).body == expected


def test_a_stream_whose_thinking_is_where_it_belongs_passes_to_the_byte(
    client: Client, server: ScriptedServer
) -> None:
    frames = [
        ROLE,
        delta(reasoning_content="\nI see <think>"),
        *text("About </think> and <think>: nothing."),
        *END,
    ]
    server.answer(Reply(frames))
    assert client.ask(OPENAI.path, question(stream=True, **COUNTED)).body == b"".join(frames)


def test_only_the_frames_with_thinking_change(client: Client, server: ScriptedServer) -> None:
    calls = delta(
        tool_calls=[
            {
                "index": 0,
                "id": "c",
                "type": "function",
                "function": {"name": "f", "arguments": "{}"},
            }
        ]
    )
    behind = [calls, *ODD[:1], finish("tool_calls"), USAGE, DONE]
    server.answer(Reply([ROLE, *text("<think>deep</think>"), *behind]))
    body = client.ask(OPENAI.path, question(stream=True, **COUNTED)).body
    assert body.startswith(ROLE)
    assert body.endswith(b"".join(behind))
    assert OPENAI.read_stream(body).thinking == "deep"


def test_a_whole_reply_to_a_streaming_messages_request_is_streamed(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(Reply([whole("<think>deep</think>Hello")], JSON, framing=Framing.LENGTH))
    answer = client.ask(ANTHROPIC.path, question(stream=True))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert ANTHROPIC.read_stream(answer.body).blocks == (("thinking", "deep"), ("text", "Hello"))


def test_a_stream_to_a_whole_messages_request_is_one_message(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(GOOD)
    answer = client.ask(ANTHROPIC.path, question(stream=False))
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["content-length"] == str(len(answer.body))
    assert ANTHROPIC.read_whole(answer.body).blocks == (("thinking", "deep"), ("text", "\n\nHello"))


def test_an_openai_client_gets_the_requested_form(
    client: Client, server: ScriptedServer, streamed: bool
) -> None:
    server.answer(GOOD if streamed else Reply([whole("<think>deep</think>Hello")], JSON))
    answer = client.ask(OPENAI.path, question(stream=not streamed))
    kind = (JSON if streamed else STREAM)["content-type"]
    assert answer.headers["content-type"].startswith(kind)
    assert OPENAI.read(answer.body, not streamed).thinking == "deep"


@pytest.mark.parametrize(
    "framing",
    [Framing.LENGTH, Framing.CHUNKED, Framing.CLOSE],
    ids=lambda framing: framing.name.lower(),
)
def test_the_connection_can_be_used_again_however_the_server_frames(
    client: Client, server: ScriptedServer, dialect: Dialect, streamed: bool, framing: Framing
) -> None:
    content = "<think>deep</think>Hello"
    steps, headers = (stream(content), STREAM) if streamed else ([whole(content)], JSON)
    server.answer(Reply(steps, headers, framing=framing))
    for _ in range(3):
        answer = client.ask(dialect.path, question(stream=streamed))
        assert dialect.read(answer.body, streamed).text == "Hello"
    assert ("content-length" in answer.headers) != ("transfer-encoding" in answer.headers)


def test_no_second_request_goes_to_a_connection_that_had_a_stream(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    server.answer(Reply(GOOD.steps, once=True))
    reply = [
        dialect.read_stream(client.ask(dialect.path, question(stream=True)).body) for _ in range(5)
    ]
    assert [one.text for one in reply] == ["\n\nHello"] * 5


def test_nor_when_the_stream_is_not_the_addons_own(client: Client, server: ScriptedServer) -> None:
    server.answer(Reply(GOOD.steps, once=True))
    assert {client.ask("/v1/embeddings", b"{}").status for _ in range(5)} == {200}


def test_whole_replies_share_a_connection(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    server.answer(Reply([whole("Hello")], JSON))
    before = server.connections
    for _ in range(5):
        client.ask(dialect.path, question(stream=False))
    assert server.connections - before <= 1


def test_a_client_of_http_1_0_gets_a_body_without_chunks(
    proxy: Proxy, server: ScriptedServer, dialect: Dialect
) -> None:
    server.answer(GOOD)
    body = question(stream=True)
    head = f"POST {dialect.path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.ports[0]), SECONDS) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    headers, _, got = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in headers
    assert dialect.read_stream(got).text == "\n\nHello"
