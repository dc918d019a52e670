"""Replies that end too early or say that they failed: what had come is with the client, and then
the truth.
"""

import json
from threading import Event

import pytest

from tests.conftest import Complaints
from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    Client,
    Dialect,
    Live,
    Said,
    anthropic_deltas,
    anthropic_error,
    anthropic_stream_error,
    payloads,
    question,
)
from tests.support.frames import DONE, ROLE, data, finish, text, whole
from tests.support.scripted_server import JSON, Drop, Reply, ScriptedServer

pytestmark = pytest.mark.slow


def test_a_server_that_dies_leaves_the_client_with_what_had_arrived_and_an_error(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    go_on = Event()
    server.answer(Reply([ROLE, *text("<think>", "deep"), go_on, Drop()]))
    live = Live(client.send(dialect.path, question(stream=True)))
    live.until(b"deep")
    go_on.set()
    error = next(payload["error"] for payload in payloads(live.rest()) if "error" in payload)
    assert error["message"] == f"the model server at {server.address} broke off its answer"
    assert len(complaints()) == 1


def test_a_server_that_dies_in_a_whole_reply_is_an_error(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    server.answer(Reply([whole("Hello")[:20], Drop()], JSON))
    assert client.ask(dialect.path, question(stream=False)).status == 502
    assert len(complaints()) == 1


def test_a_client_that_leaves_does_no_harm(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    never = Event()
    server.answer(Reply([ROLE, *text("<think>", "deep"), never, *text("never seen")]))
    live = Live(client.send(dialect.path, question(stream=True)))
    live.until(b"deep")
    client.close()
    assert len(complaints()) <= 1


CUT_SHORT = [
    (["<think>deep"], "deep", ""),
    (["<think>deep</thi"], "deep</thi", ""),
    (["Hello <thi"], "", "Hello <thi"),
    (["<think>deep</think>", "Hello"], "deep", "Hello"),
]


@pytest.mark.parametrize(("pieces", "thinking", "answer"), CUT_SHORT)
def test_a_stream_without_an_end_gives_all_that_came_and_then_an_anthropic_error(
    client: Client, server: ScriptedServer, pieces: list[str], thinking: str, answer: str
) -> None:
    server.answer(Reply([ROLE, *text(*pieces)]))
    body = client.ask(ANTHROPIC.path, question(stream=True)).body
    assert "cut short" in anthropic_stream_error(body)
    assert anthropic_deltas(body) == (thinking, answer)


@pytest.mark.parametrize(("pieces", "thinking", "answer"), CUT_SHORT)
def test_a_stream_without_an_end_gives_all_that_came_and_then_an_openai_error(
    client: Client, server: ScriptedServer, pieces: list[str], thinking: str, answer: str
) -> None:
    server.answer(Reply([ROLE, *text(*pieces)]))
    body = client.ask(OPENAI.path, question(stream=True)).body
    *_, error, end = body.split(b"\n\n")
    assert OPENAI.read_stream(body.replace(error, b"")) == Said(thinking, answer, None)
    assert "cut short" in json.loads(error.removeprefix(b"data: "))["error"]["message"]
    assert end == b""


def test_a_stream_without_an_end_is_logged(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("Hello")]))
    client.ask(ANTHROPIC.path, question(stream=True))
    assert len(complaints()) == 1


def test_a_whole_message_is_not_made_of_a_stream_without_an_end(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>Hello")]))
    answer = client.ask(ANTHROPIC.path, question(stream=False))
    assert answer.status >= 500
    assert "cut short" in anthropic_error(answer.body)
    assert len(complaints()) == 1


def test_done_alone_is_no_end(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>Hello"), DONE]))
    body = client.ask(dialect.path, question(stream=True)).body
    [error] = [said["error"] for said in payloads(body) if "error" in said]
    assert "cut short" in error["message"]
    assert len(complaints()) == 1


def test_a_finish_alone_is_an_end(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>Hello"), finish("length")]))
    said = ANTHROPIC.read_stream(client.ask(ANTHROPIC.path, question(stream=True)).body)
    assert (said.thinking, said.text, said.stop) == ("deep", "Hello", "max_tokens")
    assert complaints() == []


FAILURE = data(
    {"error": {"message": "the grammar is wrong", "type": "BadRequestError", "code": 400}}
)


def test_an_error_in_a_stream_ends_it_with_the_servers_words(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep", "</thi"), FAILURE, DONE]))
    body = client.ask(ANTHROPIC.path, question(stream=True)).body
    assert anthropic_stream_error(body) == "the grammar is wrong"
    assert anthropic_deltas(body) == ("deep</thi", "")
    assert len(complaints()) == 1


def test_an_error_in_a_stream_reaches_an_openai_client_as_it_is(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(Reply([ROLE, *text("Hello <thi"), FAILURE, DONE]))
    body = client.ask(OPENAI.path, question(stream=True)).body
    assert body.endswith(FAILURE + DONE)
    assert OPENAI.read_stream(body.removesuffix(FAILURE + DONE)).text == "Hello <thi"
