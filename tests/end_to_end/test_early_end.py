"""Replies that end too early or say that they failed: what had come is with the client, and then
the truth.
"""

from threading import Event

import pytest

from tests.conftest import Complaints
from tests.support.clients import (
    ANTHROPIC,
    Client,
    Dialect,
    Live,
    anthropic_error,
    payloads,
    question,
)
from tests.support.frames import ROLE, text, whole
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


def test_a_whole_message_is_not_made_of_a_stream_without_an_end(
    client: Client, server: ScriptedServer, complaints: Complaints
) -> None:
    server.answer(Reply([ROLE, *text("<think>deep</think>Hello")]))
    answer = client.ask(ANTHROPIC.path, question(stream=False))
    assert answer.status >= 500
    assert "cut short" in anthropic_error(answer.body)
    assert len(complaints()) == 1
