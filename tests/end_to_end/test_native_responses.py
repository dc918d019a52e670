"""`think_native=responses`: a server's own Responses endpoint gets the client's request, and its
replies are mended.
"""

import json
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import ByPathServer, Says
from tests.support.clients import Client
from tests.support.frames import data
from tests.support.prompts import MODEL, PROMPTS
from tests.support.responses_of import accumulated, check, parsed, read_frame

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

PATH = "/v1/responses"
GREEDY = {"temperature": 0, "max_output_tokens": 200}
ID = "resp_own"
RESPONSE = {"id": ID, "object": "response", "created_at": 5, "model": "m", "status": "completed"}


def ask(client: Client, address: str, streamed: bool, **fields: object) -> dict[str, Any]:
    """The response, whichever way it came; the SDK's types and its reader judge it."""
    body = {"model": MODEL, "input": "hi", "stream": streamed, **fields}
    answer = client.ask(f"{address}{PATH}", json.dumps(body).encode())
    assert answer.status == 200, answer.body
    if not streamed:
        return parsed(json.loads(answer.body))
    events = [read_frame(frame) for frame in answer.body.decode().split("\n\n")[:-1]]
    check(events)
    return accumulated(events)


def items(response: dict[str, Any]) -> list[tuple[str, str]]:
    """The items, by their text. llama.cpp trims the text of its own responses in another manner
    than that of chat completions.
    """
    texts: list[tuple[str, str]] = []
    for item in response["output"]:
        parts = item.get("content") or item.get("summary") or []
        text = "".join(part["text"] for part in parts).strip()
        texts.append((item["type"], text or str(item.get("arguments"))))
    return texts


@pytest.mark.parametrize("variant", ["tags", "extracted", "opened by the template"])
def test_llamas_own_responses_say_what_the_translated_ones_say(
    native: Client, llamas: dict[str, Llama], variant: str, streamed: bool
) -> None:
    llama = llamas[variant]
    fields = {"input": PROMPTS[0].question, **GREEDY}
    with Client(llama.port) as translating:
        translated = ask(translating, "", streamed, **fields)
    own = ask(native, llama.address, streamed, **fields)
    assert [kind for kind, _ in items(own)] == ["reasoning", "message"]
    assert items(own) == items(translated)
    assert own["usage"]["output_tokens"] == translated["usage"]["output_tokens"]


def test_llamas_thought_comes_back_to_it(
    native: Client, llamas: dict[str, Llama], streamed: bool
) -> None:
    """The client's whole next request, with the items as received; llama.cpp wants the raw text."""
    llama = llamas["extracted"]
    first = ask(native, llama.address, streamed, input=PROMPTS[0].question, **GREEDY)
    turns = [
        {"role": "user", "content": PROMPTS[0].question},
        *first["output"],
        {"role": "user", "content": "7 * 8"},
    ]
    second = ask(native, llama.address, streamed, input=turns, **GREEDY)
    assert items(second)[-1] == ("message", "7 * 8 = 56")


def test_requests_for_what_the_server_keeps_reach_it(native: Client, unknown: ByPathServer) -> None:
    unknown.rows[f"{PATH}/{ID}"] = Says({**RESPONSE, "output": []})
    unknown.rows[f"{PATH}/input_tokens"] = Says({"input_tokens": 42})
    kept = native.ask(f"{unknown.address}{PATH}/{ID}", b"", method="GET")
    counted = native.ask(f"{unknown.address}{PATH}/input_tokens", b"{}")
    assert json.loads(kept.body)["id"] == ID
    assert json.loads(counted.body) == {"input_tokens": 42}


def test_items_that_only_the_server_can_make_go_on_whole(
    native: Client, unknown: ByPathServer, streamed: bool
) -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}  # fmt: skip
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "<think>hm</think>Hello", "annotations": []}],
    }
    ending = {**RESPONSE, "output": [search, message]}
    done = [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": search},
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {"type": "response.completed", "response": ending},
    ]
    unknown.rows[PATH] = Says(steps=[*map(data, done)]) if streamed else Says(ending)
    response = ask(native, unknown.address, streamed)
    assert [item["type"] for item in response["output"]] == ["web_search_call", "reasoning", "message"]  # fmt: skip
    assert response["output"][0]["action"] == search["action"]
    assert (response["id"], response["created_at"]) == (ID, 5)
    assert response["output"][2]["content"][0]["text"] == "Hello"


OSLO, ROME = '{"city": "Oslo"}', '{"city": "Rome"}'
