"""`think_native=responses`: a server's own Responses endpoint is asked as the client asked it, and
its replies are mended.
"""

import json
from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.by_path_server import ByPathServer, Says
from tests.support.clients import Client
from tests.support.frames import data
from tests.support.own_responses import RAN, Json, Step, transformers, vllm
from tests.support.prompts import MODEL, PROMPTS
from tests.support.responses_of import accumulated, check, parsed, read_frame
from tools.shots import CITY, TWO_PLACES

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

PATH = "/v1/responses"
GREEDY = {"temperature": 0, "max_output_tokens": 200}
WEATHER = {"type": "function", "name": "get_weather", "description": "d", "parameters": CITY}
ID = "resp_own"
COUNTS = ("input_tokens", "output_tokens", "total_tokens")
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


def said(response: dict[str, Any]) -> list[tuple[str, str]]:
    """The items, by their words. llama.cpp trims the text of its own responses, and that of its
    chat completions otherwise.
    """
    words: list[tuple[str, str]] = []
    for item in response["output"]:
        parts = item.get("content") or item.get("summary") or []
        text = "".join(part["text"] for part in parts).strip()
        words.append((item["type"], text or str(item.get("arguments"))))
    return words


@pytest.mark.parametrize("variant", ["tags", "extracted", "opened by the template"])
def test_llamas_own_responses_say_what_the_translated_ones_say(
    native: Client, llamas: dict[str, Llama], variant: str, streamed: bool
) -> None:
    llama = llamas[variant]
    fields = {"input": PROMPTS[0].question, **GREEDY}
    with Client(llama.port) as translating:
        translated = ask(translating, "", streamed, **fields)
    own = ask(native, llama.address, streamed, **fields)
    assert [kind for kind, _ in said(own)] == ["reasoning", "message"]
    assert said(own) == said(translated)
    assert own["usage"]["output_tokens"] == translated["usage"]["output_tokens"]


@pytest.mark.parametrize("variant", ["tags", "extracted"])
def test_llamas_calls_come_one_after_another(
    native: Client, llamas: dict[str, Llama], variant: str, streamed: bool
) -> None:
    """It closes no item before the end, and numbers none."""
    fields = {"input": TWO_PLACES, "tools": [WEATHER], **GREEDY}
    own = ask(native, llamas[variant].address, streamed, **fields)
    thought, *calls = said(own)
    assert thought[0] == "reasoning"
    assert [json.loads(arguments)["city"] for _, arguments in calls] == ["Oslo", "Rome"]
    ids = [item["call_id"] for item in own["output"][1:]]
    assert len({*ids}) == 2


def test_llamas_thought_comes_back_to_it(
    native: Client, llamas: dict[str, Llama], streamed: bool
) -> None:
    """It is the client's whole next request, items as they came; llama.cpp wants the raw text."""
    llama = llamas["extracted"]
    first = ask(native, llama.address, streamed, input=PROMPTS[0].question, **GREEDY)
    turns = [
        {"role": "user", "content": PROMPTS[0].question},
        *first["output"],
        {"role": "user", "content": "7 * 8"},
    ]
    second = ask(native, llama.address, streamed, input=turns, **GREEDY)
    assert said(second)[-1] == ("message", "7 * 8 = 56")


def test_llamas_error_has_the_code_that_clients_act_on(
    native: Client, llamas: dict[str, Llama], streamed: bool
) -> None:
    body = {"model": MODEL, "input": "🎉" * 5000, "stream": streamed}
    answer = native.ask(f"{llamas['tags'].address}{PATH}", json.dumps(body).encode())
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["code"] == "context_length_exceeded"


def test_the_request_reaches_the_server_as_it_is(native: Client, unknown: ByPathServer) -> None:
    unknown.rows[PATH] = Says({**RESPONSE, "output": []})
    body = b' {"model": "small", "own": 1.0, "input": "even this", "background": true} '
    native.ask(f"{unknown.address}{PATH}?a=b", body)
    (asked,) = unknown.asked
    assert (asked.target, asked.body) == (f"{PATH}?a=b", body)


def test_what_the_server_keeps_is_asked_of_it(native: Client, unknown: ByPathServer) -> None:
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
THOUGHT: Step = ("thought", "I call the tool twice.")
OWN: dict[str, tuple[list[Json], list[tuple[str, str]]]] = {
    "vLLM's thought and text": (
        vllm(("thought", "hm, hm, hm"), ("text", "Hello there")),
        [("reasoning", "hm, hm, hm"), ("message", "Hello there")],
    ),
    "vLLM's tags in the text": (
        vllm(("text", "<think>\nhm, hm\n</think>\n\nHello there")),
        [("reasoning", "hm, hm"), ("message", "Hello there")],
    ),
    "vLLM's calls": (
        vllm(THOUGHT, ("call", OSLO), ("call", ROME)),
        [("reasoning", THOUGHT[1]), ("function_call", OSLO), ("function_call", ROME)],
    ),
    "vLLM's calls that begin with arguments": (
        vllm(THOUGHT, ("call", OSLO), ("call", ROME), early=True),
        [("reasoning", THOUGHT[1]), ("function_call", OSLO), ("function_call", ROME)],
    ),
    "vLLM's own tools": (
        vllm(THOUGHT, *((kind, "") for kind in RAN), ("thought", "so"), ("text", "Two.")),
        [
            ("reasoning", THOUGHT[1]),
            *((kind, str(RAN[kind].get("arguments"))) for kind in RAN),
            ("reasoning", "so"),
            ("message", "Two."),
        ],
    ),
    "transformers' thought and text": (
        transformers(("thought", "hm, hm, hm"), ("text", "Hello there")),
        [("reasoning", "hm, hm, hm"), ("message", "Hello there")],
    ),
    "transformers' calls": (
        transformers(THOUGHT, ("call", OSLO), ("call", ROME)),
        [("reasoning", THOUGHT[1]), ("function_call", OSLO), ("function_call", ROME)],
    ),
    "transformers' text around a call": (
        transformers(("text", "First."), ("call", OSLO), ("thought", "so"), ("text", "Then.")),
        [
            ("message", "First."),
            ("function_call", OSLO),
            ("reasoning", "so"),
            ("message", "Then."),
        ],
    ),
}


@pytest.mark.parametrize("case", OWN)
def test_the_events_of_other_servers_make_the_same_response(
    native: Client, unknown: ByPathServer, case: str, streamed: bool
) -> None:
    events, expected = OWN[case]
    ending = events[-1]["response"]
    unknown.rows[PATH] = Says(steps=[*map(data, events)]) if streamed else Says(ending)
    response = ask(native, unknown.address, streamed)
    assert said(response) == expected
    assert response["status"] == "completed"
    usage, counted = response["usage"], ending["usage"]
    assert [usage[name] for name in COUNTS] == [counted[name] for name in COUNTS]
    assert usage["input_tokens_details"]["cached_tokens"] in {0, 16}


def test_a_reply_that_vllm_cut_is_incomplete(native: Client, unknown: ByPathServer) -> None:
    """Its last event is called `completed` all the same."""
    cut: Json = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    unknown.rows[PATH] = Says(steps=[*map(data, vllm(("thought", "hm, hm"), **cut))])
    body = {"model": MODEL, "input": "hi", "stream": True}
    answer = native.ask(f"{unknown.address}{PATH}", json.dumps(body).encode())
    last = read_frame(answer.body.decode().split("\n\n")[-2])
    assert last["type"] == "response.incomplete"
    assert cut.items() <= last["response"].items()


def test_what_only_codex_knows_does_not_reach_the_server(
    native: Client, unknown: ByPathServer
) -> None:
    """`transformers serve` refuses every field that the API does not have."""
    unknown.rows[PATH] = Says({**RESPONSE, "output": []})
    body = json.dumps({"model": "m", "input": "hi", "store": False, "client_metadata": {"a": "b"}})
    native.ask(f"{unknown.address}{PATH}", body.encode())
    (asked,) = unknown.asked
    assert json.loads(asked.body) == {"model": "m", "input": "hi", "store": False}


def test_a_stream_without_an_end_has_failed(native: Client, unknown: ByPathServer) -> None:
    begun = {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}}
    said_so_far = {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "Hel"}
    unknown.rows[PATH] = Says(steps=[data(begun), data(said_so_far)])
    body = {"model": MODEL, "input": "hi", "stream": True}
    answer = native.ask(f"{unknown.address}{PATH}", json.dumps(body).encode())
    last = read_frame(answer.body.decode().split("\n\n")[-2])
    assert (last["type"], last["response"]["output"][0]["content"][0]["text"]) == ("response.failed", "Hel")  # fmt: skip
