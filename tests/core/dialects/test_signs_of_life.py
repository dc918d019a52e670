"""Signs of life for chat clients: the form that each takes."""

import json

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import begin
from converter.core.dialects.signs_of_life import AUTO, COMMENT, DELTA, FORMS, NONE, form_of
from converter.core.dialects.table import COMMON, DIALECTS, Dialect, Form, ReplyContext
from converter.core.model.events import Own, Start, Text
from laws.reply_parser import parse_reply
from tests.support.frames import chat_stream
from tests.support.recordings_of import recording


@pytest.mark.parametrize(
    ("agent", "form"),
    [
        ("", COMMENT),
        ("OpenAI/Python 3.57.0", COMMENT),
        ("Mistral-Vibe/2.1.0", DELTA),
        ("mistralvibe/1", DELTA),
        ("req/0.5.15", DELTA),
        ("node-req/1", COMMENT),
    ],
)
def test_a_client_is_recognised_by_its_user_agent(agent: str, form: str) -> None:
    assert form_of(AUTO, agent) == form
    for chosen in set(FORMS) - {AUTO}:
        assert form_of(chosen, agent) == chosen


def test_an_exchange_of_a_chat_client_has_its_form() -> None:
    headers = {"user-agent": "Mistral-Vibe/2.1.0"}
    for path, form in (("/v1/chat/completions", DELTA), ("/v1/messages", COMMENT)):
        exchange = begin("POST", path, headers, settings.read({}), "x", reverse=True)
        assert exchange
        assert exchange.alive == form


@pytest.mark.parametrize(("form", "expected"), [(COMMENT, [b": ping\n"]), (NONE, [])])
def test_a_comment_or_nothing(form: str, expected: list[bytes]) -> None:
    encoder = COMMON.wire.encoder(ReplyContext(alive=form), False)
    assert encoder.ping() == expected


def test_an_empty_delta_has_the_replys_own_head() -> None:
    encoder = COMMON.wire.encoder(ReplyContext("m", "early", created_at=7, alive=DELTA), False)
    heads = [{"id": "early", "created": 7, "model": "m"}, {"id": "c", "created": 1, "model": "n"}]
    for head in heads:
        [frame] = encoder.ping()
        parsed = json.loads(frame.removeprefix(b"data: "))
        assert parsed == {
            **head,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": None}],
        }
        own = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "n"}
        encoder.feed([Start("c", "n", Own(COMMON.name, own)), Text("a")])
    assert COMMON.wire.encoder(ReplyContext(alive=DELTA), True).ping() == []


CALL = ['<tool_call>{"name": "save", "arguments": {"a": "', *"word", '"}}', "</tool_call>"]
SAVE = {"type": "function", "function": {"name": "save", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("client", DIALECTS, ids=lambda client: client.name)
def test_while_a_call_is_held_each_client_gets_signs_of_life(client: Dialect) -> None:
    stream = chat_stream({"content": piece} for piece in ("Look.\n", *CALL))
    recorded = recording(stream, tools=[SAVE])
    rewriter, out, silent = recorded.rewriter(client, Form.STREAM), list[bytes](), list[int]()
    for at, frame in enumerate(recorded.body.split(b"\n\n")[: 1 + len(CALL)]):
        emitted, signs = rewriter.feed(frame + b"\n\n"), rewriter.ping()
        assert signs
        silent += [] if emitted else [at]
        out += [*emitted, *signs]
    assert silent == [*range(1, len(CALL))]
    ended = rewriter.feed(chat_stream([], "stop"))
    reply = parse_reply(b"".join([*out, *ended, *rewriter.close()]), Form.STREAM, client).choice()
    assert [call["arguments"] for call in reply.calls.values()] == ['{"a": "word"}']
