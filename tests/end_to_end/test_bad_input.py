"""Whatever a server sends, the client gets it or a clear error of its own dialect, the log says it
in one line, all goes on.
"""

import json

import pytest

from tests.conftest import Complaints
from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    Client,
    Dialect,
    anthropic_failure,
    payloads,
    question,
)
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.scripted_server import JSON, STREAM, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

MEGABYTES = 20 * 2**20
LINE = 3 * 2**20

UNREADABLE = {
    "no JSON": b"Internal nonsense",
    "JSON cut short": whole("Hello")[:-9],
    "null": b"null",
    "a list": b"[1]",
    "a string": b'"choices"',
    "no choices": b'{"object": "chat.completion"}',
    "choices null": b'{"choices": null}',
    "choices a number": b'{"choices": 5}',
    "choices a list of null": b'{"choices": [null]}',
    "content a number": b'{"choices": [{"index": 0, "message": {"content": 5}, "finish_reason": "stop"}]}',
    "nothing": b"",
}
GARBAGE = {
    "no JSON": b"data: not JSON\n\n",
    "JSON cut short": b'data: {"choices": [{"delta"\n\n',
    "choices a number": b'data: {"choices": 5}\n\n',
    "content a number": b'data: {"choices": [{"index": 0, "delta": {"content": 5}}]}\n\n',
    "no UTF-8": b"data: \xff\xfe\n\n",
    "two of them": b"data: not JSON\n\ndata: {\n\n",
}
HARMLESS = {
    "no field": b"garbage without a colon\n\n",
    "null": b"data: null\n\n",
    "no choices": b'data: {"object": "chat.completion.chunk"}\n\n',
    "choices null": b'data: {"choices": null}\n\n',
    "choices a list of null": b'data: {"choices": [null]}\n\n',
    "control characters": b"\x00\x01\x02\n\n",
}


def cases(table: dict[str, bytes]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bad", table.values(), ids=table.keys())


@cases(UNREADABLE)
def test_a_whole_reply_that_cannot_be_read_is_an_error(
    client: Client,
    server: ScriptedServer,
    dialect: Dialect,
    complaints: Complaints,
    bad: bytes,
    streamed: bool,
) -> None:
    server.answer(Reply([bad], JSON, framing=Framing.LENGTH))
    answer = client.ask(dialect.path, question(stream=streamed))
    assert (answer.status, answer.headers["content-type"]) == (502, "application/json")
    assert json.loads(answer.body)["error"]["message"]
    assert len(complaints()) == 1


@cases(GARBAGE)
def test_a_frame_that_cannot_be_read_ends_the_reply_with_an_error(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints, bad: bytes
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>", "Hello"), bad, *text(" world"), *END]))
    body = client.ask(dialect.path, question(stream=True)).body
    errors = [said["error"]["message"] for said in payloads(body) if "error" in said]
    assert ["cannot be read" in words for words in errors] == [True]
    assert b"Hello" in body
    assert b"world" not in body
    assert len(complaints()) == 1


@cases(HARMLESS)
def test_a_frame_that_says_nothing_costs_nothing(
    client: Client,
    server: ScriptedServer,
    dialect: Dialect,
    complaints: Complaints,
    bad: bytes,
    streamed: bool,
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>", "Hello"), bad, *text(" world"), *END]))
    body = client.ask(dialect.path, question(stream=streamed)).body
    said = dialect.read(b"".join(_readable(body)) if streamed else body, streamed)
    assert (said.thinking, said.text, said.stop) == ("deep", "Hello world", dialect.finished)
    assert len(complaints()) <= 1


def _readable(body: bytes) -> list[bytes]:
    """The frames of a reply; those without choices are the server's own."""
    return [
        frame + b"\n\n"
        for frame in body.split(b"\n\n")
        if b'"choices": [' in frame or b'"choices":[' in frame or b"event:" in frame
    ]


def test_bytes_that_are_no_utf8_within_a_text_cost_one_character(
    client: Client, server: ScriptedServer, dialect: Dialect, streamed: bool, complaints: Complaints
) -> None:
    body = (
        b"".join(stream("<think>deep</think>", "caf~ noir"))
        if streamed
        else whole("<think>deep</think>caf~ noir")
    )
    server.answer(
        Reply([body.replace(b"~", b"\xe9")], STREAM if streamed else JSON, framing=Framing.LENGTH)
    )
    answer = client.ask(dialect.path, question(stream=streamed))
    said = dialect.read(answer.body, streamed)
    assert (said.thinking, said.text) == ("deep", "caf\ufffd noir")
    assert len(complaints()) == 1


def test_a_stream_of_no_bytes_is_said_to_be_empty(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([]))
    [said] = payloads(client.ask(OPENAI.path, question(stream=True)).body)
    assert "empty" in said["error"]["message"]
    assert len(complaints()) == 1
    server.answer(Reply([]))
    assert "empty" in anthropic_failure(client.ask(ANTHROPIC.path, question(stream=True)))
    assert len(complaints()) == 2


def test_a_line_of_three_megabytes_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    words = "long " * (LINE // 5)
    server.answer(Reply(stream("<think>deep</think>", words)))
    said = dialect.read_stream(client.ask(dialect.path, question(stream=True)).body)
    assert (said.thinking, len(said.text), said.text == words) == ("deep", len(words), True)
    assert complaints() == []


def test_a_whole_reply_of_twenty_megabytes_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    words = "long " * (MEGABYTES // 5)
    server.answer(Reply([whole(f"<think>deep</think>{words}")], JSON, framing=Framing.LENGTH))
    said = dialect.read_whole(client.ask(dialect.path, question(stream=False)).body)
    assert (said.thinking, len(said.text), said.text == words) == ("deep", len(words), True)
    assert complaints() == []


def test_a_line_of_three_megabytes_of_garbage_is_no_end(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    bad = b"x" * LINE + b"\n\n"
    steps = [ROLE, *text("Hello"), bad, *text(" world"), *END]
    server.answer(Reply(steps))
    counted = question(stream=True, stream_options={"include_usage": True})
    body = client.ask(OPENAI.path, counted).body
    assert body == b"".join(steps), "not shown: it is long"
    server.answer(Reply(steps))
    assert (
        ANTHROPIC.read_stream(client.ask(ANTHROPIC.path, question(stream=True)).body).text
        == "Hello world"
    )
    assert len(complaints()) == 2
