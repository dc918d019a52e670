"""Signs of life for chat clients: the form that each takes."""

import json

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import begin
from converter.core.dialects.signs_of_life import AUTO, COMMENT, DELTA, FORMS, NONE, form_for
from converter.core.dialects.table import COMMON, ReplyContext
from converter.core.model.events import Own, Start, Text


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
    assert form_for(AUTO, agent) == form
    for chosen in set(FORMS) - {AUTO}:
        assert form_for(chosen, agent) == chosen


def test_an_exchange_of_a_chat_client_has_its_form() -> None:
    headers = {"user-agent": "Mistral-Vibe/2.1.0"}
    for path, form in (("/v1/chat/completions", DELTA), ("/v1/messages", COMMENT)):
        exchange = begin("POST", path, headers, settings.read({}), "x", reverse=True)
        assert exchange
        assert exchange.sign_of_life == form


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
