"""The Responses API as the official SDK sees it, through the addon: on llama.cpp and the small
model, and in front of a server that plays a model.
"""

import json
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import Response

from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import Client, Live
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text, whole
from tests.support.harness import Proxy
from tests.support.prompts import MODEL
from tests.support.responses_of import check, read_frame, types
from tests.support.sdks import openai_client

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front", "tests.support.recorded_front"]

PATH = "/v1/responses"
REQUEST: dict[str, Any] = {
    "model": MODEL,
    "input": "12 * 7",
    "max_output_tokens": 200,
    "temperature": 0,
}
WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "weather",
    "description": "d",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
}
CALLS = [
    ROLE,
    *text("<think>Rome.</think>"),
    delta(tool_calls=[CALL]),
    finish("tool_calls"),
    USAGE,
    DONE,
]


@pytest.fixture(params=["tags", "extracted", "opened by the template"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[openai.OpenAI]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    with openai_client(chosen.port) as client:
        yield client
    chosen.proxy.check(mark)


@pytest.fixture
def sdk(front_proxy: Proxy) -> Iterator[openai.OpenAI]:
    mark = front_proxy.mark()
    with openai_client(front_proxy.ports[0]) as client:
        yield client
    front_proxy.check(mark)


def parts_of(response: Response) -> list[tuple[str, str]]:
    """Each item's type and words, without the ids, which are others in each reply."""
    texts: list[tuple[str, str]] = []
    for item in response.output:
        match item.type:
            case "message":
                texts.append(
                    (item.type, "".join(getattr(part, "text", "") for part in item.content))
                )
            case "reasoning":
                texts.append((item.type, "".join(part.text for part in item.summary)))
            case "function_call":
                texts.append((item.type, item.arguments))
    return texts


def test_thinking_and_answer_are_items_streamed_as_whole(llama: openai.OpenAI) -> None:
    response = llama.responses.create(**REQUEST)
    assert [kind for kind, _ in parts_of(response)] == ["reasoning", "message"]
    assert "think>" not in response.to_json()
    with llama.responses.stream(**REQUEST) as events:
        streamed = events.get_final_response()
    assert parts_of(streamed) == parts_of(response)
    assert response.usage
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    assert 0 < response.usage.output_tokens_details.reasoning_tokens < response.usage.output_tokens


def test_a_response_goes_on_from_the_one_before(llama: openai.OpenAI) -> None:
    first = llama.responses.create(**REQUEST)
    second = llama.responses.create(**REQUEST | {"input": "3 * 3"}, previous_response_id=first.id)
    assert second.usage
    assert first.usage
    assert second.usage.input_tokens > first.usage.input_tokens
    assert second.previous_response_id == first.id


def test_a_tool_is_called_and_its_result_answered(sdk: openai.OpenAI, model: ByPathServer) -> None:
    model.rows[CHAT] = [Says(steps=CALLS), Says(steps=stream("It is warm."))]
    with sdk.responses.stream(model="m", input="Rome?", tools=[WEATHER]) as events:  # type: ignore[list-item]
        first = events.get_final_response()
    assert parts_of(first)[1] == ("function_call", '{"city": "Rome"}')
    result = {"type": "function_call_output", "call_id": "call_1", "output": "warm"}
    with sdk.responses.stream(
        model="m",
        input=[result],  # type: ignore[list-item]
        tools=[WEATHER],  # type: ignore[list-item]
        previous_response_id=first.id,
    ) as events:
        assert events.get_final_response().output_text == "It is warm."
    roles = [message["role"] for message in model.bodies()[1]["messages"]]
    assert roles == ["user", "assistant", "tool"]


def test_a_thought_comes_back_to_the_server_from_its_opaque_content(
    sdk: openai.OpenAI, model: ByPathServer
) -> None:
    model.rows[CHAT] = [Says(whole("<think>hm</think>hello")), Says(whole("again"))]
    first = sdk.responses.create(
        model="m", input="hi", store=False, include=["reasoning.encrypted_content"]
    )
    items = [item.to_dict() for item in first.output]
    items[0]["summary"] = []
    sdk.responses.create(model="m", input=[*items, {"role": "user", "content": "so?"}], store=False)  # type: ignore[list-item]
    assert model.bodies()[1]["messages"][0]["content"] == "<think>hm</think>\n\nhello"


def test_what_is_kept_can_be_read_listed_and_deleted(
    sdk: openai.OpenAI, model: ByPathServer
) -> None:
    model.rows[CHAT] = Says(whole("<think>hm</think>hello"))
    stored = sdk.responses.create(model="m", input="hi")
    assert sdk.responses.retrieve(stored.id).output_text == "hello"
    (item,) = sdk.responses.input_items.list(stored.id).data
    assert item.to_dict()["content"] == [{"type": "input_text", "text": "hi"}]
    sdk.responses.delete(stored.id)
    with pytest.raises(openai.NotFoundError, match="not found"):
        sdk.responses.retrieve(stored.id)
    with pytest.raises(openai.BadRequestError) as raised:
        sdk.responses.create(model="m", input="so?", previous_response_id=stored.id)
    assert raised.value.code == "previous_response_not_found"
    assert len(model.bodies()) == 1


def test_a_conversation_is_compacted_and_goes_on(sdk: openai.OpenAI, model: ByPathServer) -> None:
    model.rows[CHAT] = [
        Says(whole("hello")),
        Says(whole("<think>What matters?</think>The user likes tea.")),
        Says(whole("Tea.")),
    ]
    first = sdk.responses.create(model="m", input="I like tea.")
    shorter = sdk.responses.compact(model="m", previous_response_id=first.id, input="And now?")
    assert [item.type for item in shorter.output] == ["message", "message", "compaction"]
    items = [item.to_dict(warnings=False) for item in shorter.output]
    last = sdk.responses.create(model="m", input=[*items, {"role": "user", "content": "So?"}])  # type: ignore[list-item]
    assert last.output_text == "Tea."
    (turn,) = model.bodies()[2]["messages"]
    assert turn["content"].startswith("I like tea.\n\nAnd now?\n\nSummary of the conversation")
    assert turn["content"].endswith("The user likes tea.\n\nSo?")


def test_every_event_is_live_and_of_the_sdks_types(front: Client, model: ByPathServer) -> None:
    go_on = threading.Event()
    model.rows[CHAT] = Says(steps=[ROLE, *text("<think>hm"), go_on, *text("</think>hi"), finish(), USAGE, DONE])  # fmt: skip
    body = json.dumps({"model": "m", "input": "hi", "stream": True}).encode()
    reply = Live(front.send(PATH, body))
    reply.until(b"reasoning_summary_text.delta")
    go_on.set()
    seen = reply.rest()
    events = [read_frame(frame) for frame in seen.decode().split("\n\n")[:-1]]
    check(events)
    assert types(events)[-1] == "completed"


def test_a_websocket_is_refused_so_that_codex_goes_on_at_once(
    front: Client, model: ByPathServer
) -> None:
    headers = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-key": "a", "sec-websocket-version": "13"}  # fmt: skip
    assert front.ask(PATH, b"", headers, method="GET").status == 426
    assert model.requests == []
