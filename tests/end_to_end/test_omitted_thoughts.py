"""Thinking that a client wants omitted, as `claude -p` of Claude Code 2.1.332 does: a block without
words, whose thought the server gets back all the same.
"""

import json
import re
from typing import Any

import pytest

from tests.support.clients import ANTHROPIC, Client
from tests.support.frames import stream, whole
from tests.support.scripted_server import JSON, Reply, ScriptedServer

pytestmark = pytest.mark.slow

MODEL = "qwen3.6-small"
"""Its row says that the model wants its thoughts while its turn goes on."""
TOOL = {"name": "look", "input_schema": {"type": "object"}}
OMITTED = {"type": "adaptive", "display": "omitted"}
CALL = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'
WRITTEN = f"<think>\nI look.\n</think>\n\nWait.\n\n{CALL}"


def asked(messages: list[dict[str, Any]], streamed: bool) -> bytes:
    body = {
        "model": MODEL,
        "max_tokens": 999,
        "stream": streamed,
        "thinking": OMITTED,
        "tools": [TOOL],
        "messages": messages,
    }
    return json.dumps(body).encode()


def blocks_of(body: bytes, streamed: bool) -> list[dict[str, Any]]:
    """The blocks as a client keeps them."""
    if not streamed:
        content: list[dict[str, Any]] = json.loads(body)["content"]
        return content
    blocks = list[dict[str, Any]]()
    for line in body.decode().splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        match event:
            case {"type": "content_block_start", "content_block": dict(block)}:
                blocks.append(block)
            case {"delta": {"type": "signature_delta", "signature": signature}}:
                blocks[-1]["signature"] += signature
            case {"delta": {"type": "text_delta", "text": text}}:
                blocks[-1]["text"] += text
            case {"delta": {"type": "thinking_delta"}}:
                raise AssertionError("words of a thought were sent")
    return blocks


@pytest.mark.parametrize("streamed", [True, False])
def test_a_block_without_words_comes_and_its_thought_goes_back(
    client: Client, server: ScriptedServer, streamed: bool
) -> None:
    question: list[dict[str, Any]] = [
        {"role": "user", "content": f"Look here, streamed: {streamed}."}
    ]
    server.answer(Reply(stream(WRITTEN)) if streamed else Reply([whole(WRITTEN)], JSON))
    first = client.ask(ANTHROPIC.path, asked(question, streamed))
    assert first.status == 200
    assert b"I look." not in first.body
    blocks = blocks_of(first.body, streamed)
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use"]
    assert (blocks[0]["thinking"], bool(blocks[0]["signature"])) == ("", True)
    result = {"type": "tool_result", "tool_use_id": blocks[2]["id"], "content": "a tree"}
    goes_on: list[dict[str, Any]] = [
        *question,
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [result]},
    ]
    assert client.ask(ANTHROPIC.path, asked(goes_on, streamed)).status == 200
    sent = json.loads(server.asked[-1].body)["messages"]
    said = next(message for message in sent if message["role"] == "assistant")
    assert "I look." in json.dumps(said)


def test_its_tokens_are_told_as_it_comes_where_the_client_turns_that_on(
    client: Client, server: ScriptedServer
) -> None:
    server.answer(Reply(stream(f"<think>{'I look. ' * 100}</think>", "Here.")))
    features = "interleaved-thinking-2025-05-14, thinking-token-count-2026-05-13"
    question = [{"role": "user", "content": "Look."}]
    body = asked(question, True)
    told = client.ask(ANTHROPIC.path, body, {"anthropic-beta": features}).body
    assert b"I look." not in told
    counts = [int(count) for count in re.findall(rb'"estimated_tokens": ?(\d+)', told)]
    assert sum(counts) == 200
    server.answer(Reply(stream(f"<think>{'I look. ' * 100}</think>", "Here.")))
    assert b"estimated_tokens" not in client.ask(ANTHROPIC.path, body).body
