"""The parts of a prompt, in front of the real llama.cpp: its own count of each, in any client's
dialect.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.addon.transcript.test_context_parts import CHAT, MESSAGES, RESPONSES
from tests.conftest import Llama
from tests.support.clients import Client
from tests.support.mitmweb import Mitmweb
from tests.support.think_page import ask, flows

pytestmark = pytest.mark.slow

CHAT_PATH = "/v1/chat/completions"
REQUESTS = {CHAT_PATH: CHAT, "/v1/messages": MESSAGES, "/v1/responses": RESPONSES}
USAGE = {CHAT_PATH: "prompt_tokens"}
KINDS = {"system", "tool", "turn", "thought", "call", "result", "template"}


@pytest.fixture(scope="module")
def web(llamas: dict[str, Llama], proxy_folder: Path) -> Iterator[Mitmweb]:
    with Mitmweb(llamas["extracted"].address, proxy_folder) as web:
        yield web
        web.check()


def reply_to(web: Mitmweb, path: str, body: object, **fields: object) -> dict[str, Any]:
    """The reply to a request without its picture, which the small model cannot see."""
    raw = json.dumps(body, default=str)
    sent = {**json.loads(raw, object_hook=_seen), "model": "tiny-think", **fields}
    with Client(web.port) as client:
        answer = client.ask(path, json.dumps(sent).encode())
    assert answer.status == 200, answer.body
    reply: dict[str, Any] = json.loads(answer.body)
    return reply


def _seen(fields: dict[str, Any]) -> dict[str, Any]:
    content = fields.get("content")
    if isinstance(content, list):
        fields["content"] = [part for part in content if "image" not in part["type"]]
    return fields


def context(web: Mitmweb) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(ask(web, f"/exchanges/{flows(web)[-1]}/context").body)
    return shown


@pytest.mark.parametrize("path", REQUESTS)
def test_the_parts_add_up_to_the_servers_own_count(web: Mitmweb, path: str) -> None:
    reply = reply_to(web, path, REQUESTS[path], max_tokens=30, max_output_tokens=30)
    counted = reply["usage"][USAGE.get(path, "input_tokens")]
    shown = context(web)
    assert "each part counted by the server" in shown["note"]
    assert shown["about"] == "a window of 4,096 tokens, calls tools: yes, sees pictures: no"
    total = sum(tokens for _, _, tokens in shown["parts"])
    assert abs(total - counted) <= 0.02 * counted
    assert {kind for kind, _, tokens in shown["parts"] if tokens} == KINDS
    template = dict(shown["kinds"])["template"]
    assert 0 < template < counted / 2


def test_each_part_has_the_tokens_that_the_server_counts_for_its_text(
    web: Mitmweb, llamas: dict[str, Llama]
) -> None:
    reply_to(web, CHAT_PATH, CHAT, max_tokens=5)
    parts = {name: tokens for _, name, tokens in context(web)["parts"]}
    with Client(int(llamas["extracted"].address.rpartition(":")[2])) as server:
        for name, content in (("1 system", ("Be short. " * 20).strip()), ("4 look", "found")):
            answer = server.ask("/tokenize", json.dumps({"content": content}).encode())
            assert abs(parts[name] - len(json.loads(answer.body)["tokens"])) <= 1


def test_the_prompt_that_the_server_got_is_counted_not_the_clients(
    llamas: dict[str, Llama], proxy_folder: Path
) -> None:
    """Tools that the addon tells in words are in the system text of what the server gets."""
    tools = "--set", "think_tools=told"
    with Mitmweb(llamas["extracted"].address, proxy_folder, *tools) as web:
        reply = reply_to(web, CHAT_PATH, CHAT, max_tokens=30)
        shown = context(web)
    kinds = dict(shown["kinds"])
    assert "tool" not in kinds
    assert kinds["system"] > 100
    assert abs(sum(kinds.values()) - reply["usage"]["prompt_tokens"]) <= 0.02 * sum(kinds.values())
