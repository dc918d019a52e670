"""Whatever a server sends, the client gets it or a clear error of its own dialect, the log says it
in one line, all goes on.
"""

import pytest

from tests.conftest import Complaints
from tests.support.clients import ANTHROPIC, OPENAI, Client, Dialect, question
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.scripted_server import JSON, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow

MEGABYTES = 20 * 2**20
LINE = 3 * 2**20


def test_a_line_of_three_megabytes_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    long = "long " * (LINE // 5)
    server.answer(Reply(stream("<think>deep</think>", long)))
    reply = dialect.read_stream(client.ask(dialect.path, question(stream=True)).body)
    assert (reply.thinking, len(reply.text), reply.text == long) == ("deep", len(long), True)
    assert complaints() == []


def test_a_whole_reply_of_twenty_megabytes_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect, complaints: Complaints
) -> None:
    long = "long " * (MEGABYTES // 5)
    server.answer(Reply([whole(f"<think>deep</think>{long}")], JSON, framing=Framing.LENGTH))
    reply = dialect.read_whole(client.ask(dialect.path, question(stream=False)).body)
    assert (reply.thinking, len(reply.text), reply.text == long) == ("deep", len(long), True)
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
