"""`think_native=messages`: a server's own Messages endpoint gets the client's request, and its
replies are mended.
"""

import json
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import MESSAGES, ByPathServer, Says
from tests.support.clients import Client
from tests.support.native_streams import (
    STREAMS,
    Block,
    Event,
    begin,
    frames,
    piece,
    start,
    text_block,
)
from tests.support.prompts import BETWEEN_STEPS, MODEL, PROMPTS, Prompt
from tests.support.sdk_types import judged_message, judged_stream
from tests.support.sdks import GREEDY

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]


def ask(client: Client, address: str, streamed: bool, **fields: object) -> dict[str, Any]:
    """The message, whichever way it came; it is judged by the SDK's types."""
    body = {
        "model": MODEL,
        "max_tokens": 200,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": streamed,
        **fields,
    }
    answer = client.ask(f"{address}{MESSAGES}?beta=true", json.dumps(body).encode())
    assert answer.status == 200, answer.body
    if not streamed:
        return judged_message(answer.body)
    reader = judged_stream(answer.body)
    assert not reader.error
    return reader.message


def parts(message: dict[str, Any]) -> list[Block]:
    """The blocks without what differs between two replies that say the same."""
    return [
        {name: value for name, value in block.items() if name not in ("signature", "id")}
        for block in message["content"]
    ]


def trimmed(message: dict[str, Any]) -> list[tuple[str, str]]:
    """llama.cpp trims the text of its own Messages replies in another manner than that of chat
    completions.
    """
    return [(block["type"], block[block["type"]].strip()) for block in message["content"]]


@pytest.mark.parametrize("variant", ["tags", "extracted", "opened by the template"])
@pytest.mark.parametrize("prompt", [PROMPTS[0], BETWEEN_STEPS], ids=lambda prompt: prompt.name)
def test_llamas_own_messages_say_what_the_translated_ones_say(
    native: Client, llamas: dict[str, Llama], variant: str, prompt: Prompt, streamed: bool
) -> None:
    llama = llamas[variant]
    fields = {"messages": prompt.user, "system": prompt.system, **GREEDY}
    with Client(llama.port) as translating:
        translated = ask(translating, "", streamed, **fields)
    own = ask(native, llama.address, streamed, **fields)
    assert parts(own)[0]["type"] == "thinking"
    assert trimmed(own) == trimmed(translated)


@pytest.mark.parametrize(("events", "blocks"), STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_is_mended(
    native: Client, unknown: ByPathServer, events: list[Event], blocks: list[Block]
) -> None:
    unknown.rows[MESSAGES] = Says(steps=frames(events))
    message = ask(native, unknown.address, streamed=True)
    expected = [
        {name: value for name, value in block.items() if name not in ("signature", "id")}
        for block in blocks
    ]
    assert parts(message) == expected
    assert message["id"].startswith("msg_")
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (7, 5)
    calls = any(block["type"] == "tool_use" for block in blocks)
    assert message["stop_reason"] == ("tool_use" if calls else "end_turn")


def test_an_error_in_mid_stream_ends_the_stream_with_its_message(
    native: Client, unknown: ByPathServer
) -> None:
    broken = {
        "type": "error",
        "error": {"type": "BadRequestError", "message": "thinking needs a reasoning parser"},
    }
    unknown.rows[MESSAGES] = Says(
        steps=frames([start(), begin(0, text_block("")), piece(0, "text", "Hel"), broken])
    )
    reader = judged_stream(native.ask(unknown.address + MESSAGES, b"{}").body)
    assert "reasoning parser" in reader.error["error"]["message"]
