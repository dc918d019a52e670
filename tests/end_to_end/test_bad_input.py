"""Whatever a server sends, the client gets it or a clear error of its own dialect, the log says it
in one line, all goes on.
"""

import pytest

from tests.conftest import Complaints
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, anthropic_failure, question
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.scripted_server import JSON, STREAM, Framing, Reply, ScriptedServer

MEGABYTES = 20 * 2**20

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
    "message a string": b'{"choices": [{"index": 0, "message": "Hello", "finish_reason": "stop"}]}',
    "content a number": b'{"choices": [{"index": 0, "message": {"content": 5}, "finish_reason": "stop"}]}',
    "nothing": b"",
}
GARBAGE = {
    "no field": b"garbage without a colon\n\n",
    "no JSON": b"data: not JSON\n\n",
    "JSON cut short": b'data: {"choices": [{"delta"\n\n',
    "null": b"data: null\n\n",
    "no choices": b'data: {"object": "chat.completion.chunk"}\n\n',
    "choices null": b'data: {"choices": null}\n\n',
    "choices a number": b'data: {"choices": 5}\n\n',
    "choices a list of null": b'data: {"choices": [null]}\n\n',
    "delta a string": b'data: {"choices": [{"index": 0, "delta": "Hello"}]}\n\n',
    "content a number": b'data: {"choices": [{"index": 0, "delta": {"content": 5}}]}\n\n',
    "no UTF-8": b"data: \xff\xfe\n\n",
    "control characters": b"\x00\x01\x02\n\n",
    "two of them": b"data: not JSON\n\ndata: null\n\n",
}


def cases(table: dict[str, bytes]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bad", table.values(), ids=table.keys())


@cases(UNREADABLE)
def test_a_whole_reply_that_cannot_be_read_reaches_an_openai_client_as_it_is(
    client: Client, server: ScriptedServer, complaints: Complaints, bad: bytes
) -> None:
    server.answer(Reply([bad], JSON, framing=Framing.LENGTH))
    answer = client.ask(OPENAI.path, question(stream=False))
    assert (answer.status, answer.body, answer.headers["content-type"]) == (
        200,
        bad,
        "application/json",
    )
    assert len(complaints()) == 1


@cases(UNREADABLE)
def test_a_whole_reply_that_cannot_be_read_becomes_an_anthropic_error(
    client: Client, server: ScriptedServer, complaints: Complaints, bad: bytes, streamed: bool
) -> None:
    server.answer(Reply([bad], JSON, framing=Framing.LENGTH))
    answer = client.ask(ANTHROPIC.path, question(stream=streamed))
    assert anthropic_failure(answer)
    assert len(complaints()) == 1


@cases(GARBAGE)
def test_garbage_in_a_stream_reaches_an_openai_client_as_it_is_among_the_rest(
    client: Client, server: ScriptedServer, complaints: Complaints, bad: bytes
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>", "Hello"), bad, *text(" world"), *END]))
    answer = client.ask(OPENAI.path, question(stream=True))
    before, found, after = answer.body.partition(bad)
    assert found
    said = OPENAI.read_stream(before + after)
    assert (said.thinking, said.text, said.stop) == ("deep", "Hello world", "stop")
    assert len(complaints()) == 1


@cases(GARBAGE)
def test_garbage_in_a_stream_does_not_keep_the_rest_from_an_anthropic_client(
    client: Client, server: ScriptedServer, complaints: Complaints, bad: bytes, streamed: bool
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>", "Hello"), bad, *text(" world"), *END]))
    answer = client.ask(ANTHROPIC.path, question(stream=streamed))
    said = ANTHROPIC.read(answer.body, streamed)
    assert (said.thinking, said.text, said.stop) == ("deep", "Hello world", "end_turn")
    assert len(complaints()) == 1


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
    said = dialect.read(answer.body.replace(b"\xe9 ", "\ufffd ".encode()), streamed)
    assert (said.thinking, said.text) == ("deep", "caf\ufffd noir")
    assert len(complaints()) == 1


def test_a_stream_of_no_bytes_is_said_to_be_empty(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([]))
    assert client.ask(OPENAI.path, question(stream=True)).body == b""
    assert len(complaints()) == 1
    server.answer(Reply([]))
    assert "empty" in anthropic_failure(client.ask(ANTHROPIC.path, question(stream=True)))
    assert len(complaints()) == 2


def test_a_line_of_twenty_megabytes_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    words = "long " * (MEGABYTES // 5)
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


def test_a_line_of_twenty_megabytes_of_garbage_is_no_end(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    bad = b"x" * MEGABYTES + b"\n\n"
    steps = [ROLE, *text("Hello"), bad, *text(" world"), *END]
    server.answer(Reply(steps))
    body = client.ask(OPENAI.path, question(stream=True)).body
    assert body == b"".join(steps), "not shown: it is long"
    server.answer(Reply(steps))
    assert (
        ANTHROPIC.read_stream(client.ask(ANTHROPIC.path, question(stream=True)).body).text
        == "Hello world"
    )
    assert len(complaints()) == 2
