"""Thoughts of earlier turns: where a request holds them."""

import json
from dataclasses import replace

import pytest

from converter.dialects.table import ANTHROPIC
from converter.exchange import settings
from converter.exchange.exchange import Exchange
from converter.exchange.read_request import read
from converter.servers.profiles import by_name
from tests.support import endpoints

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
TURNS = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Hello."}]},
    {"role": "user", "content": "again"},
]
EXCHANGE = Exchange(endpoints.MESSAGES, settings.read({}), client=ANTHROPIC)


def written(model: str, server: str = "llama.cpp", **options: object) -> dict[str, object]:
    exchange = replace(EXCHANGE, settings=settings.read(options))
    body = json.dumps({"model": model, "max_tokens": 9, "messages": TURNS}).encode()
    return dict(read(exchange, body).written(by_name(server), parses=False).body)


def earlier(body: dict[str, object]) -> object:
    messages = body["messages"]
    assert isinstance(messages, list)
    return messages[1]


IN_FIELD = {"role": "assistant", "content": "Hello.", "reasoning_content": "Hm."}
IN_TAGS = {"role": "assistant", "content": "<think>Hm.</think>\n\nHello."}


@pytest.mark.parametrize(
    ("model", "message", "switches"),
    [
        ("Kimi-K3", IN_FIELD, None),
        ("Qwen3.6-35B-A3B", IN_FIELD, {"preserve_thinking": True}),
        ("GLM-5.2", IN_FIELD, {"clear_thinking": False}),
        ("Qwen3-8B", IN_FIELD, None),
        ("DeepSeek-R1-0528", {"role": "assistant", "content": "Hello."}, None),
        ("nobody-knows-it", IN_TAGS, None),
    ],
)
def test_a_models_row_says_where_its_thoughts_go(
    model: str, message: object, switches: object
) -> None:
    body = written(model)
    assert (earlier(body), body.get("chat_template_kwargs")) == (message, switches)


def test_a_server_without_templates_gets_no_switch() -> None:
    body = written("GLM-5.2", "generic")
    assert (earlier(body), body.get("chat_template_kwargs")) == (IN_FIELD, None)


def test_ollama_reads_one_name_alone() -> None:
    assert earlier(written("gpt-oss:20b", "ollama")) == {
        "role": "assistant",
        "content": "Hello.",
        "reasoning": "Hm.",
    }


def test_what_the_user_chose_goes_before_the_row() -> None:
    body = written("GLM-5.2", history=["tags"])
    assert (earlier(body), body.get("chat_template_kwargs")) == (IN_TAGS, None)
