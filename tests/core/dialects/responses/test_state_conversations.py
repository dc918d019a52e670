"""Conversations that are left with the server, requested over HTTP."""

import json
from typing import Any

import pytest
from openai.types.conversations import ConversationItemList

from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.responses.output_items import shown_item
from converter.core.dialects.responses.state import UnknownError, keep_response, whole_input
from converter.core.model.memory import Memory
from tests.support.responses_of import own_answer

pytestmark = pytest.mark.slow


@pytest.fixture
def memory() -> Memory:
    return Memory(10, 10_000)


def request(
    memory: Memory, method: str, path: str, body: bytes = b"", name: str = "x"
) -> tuple[int, dict[str, Any]]:
    return own_answer(OwnRequest(method, path, body, name, 5), memory)


def test_a_conversation_is_created_shown_and_deleted(memory: Memory) -> None:
    created = request(memory, "POST", "/v1/conversations", b'{"metadata": {"a": "b"}}')
    expected = {"id": "conv_x", "object": "conversation", "created_at": 5, "metadata": {"a": "b"}}
    assert created == request(memory, "GET", "/v1/conversations/conv_x") == (200, expected)
    assert request(memory, "DELETE", "/v1/conversations/conv_x")[1]["deleted"] is True
    assert request(memory, "GET", "/v1/conversations/conv_x")[0] == 404


ITEMS = "/v1/conversations/conv_x/items"


def added(memory: Memory, *texts: str, name: str) -> list[str]:
    """Items added by one request; their ids."""
    items = [{"role": "user", "content": text} for text in texts]
    status, answer = request(memory, "POST", ITEMS, json.dumps({"items": items}).encode(), name)
    ConversationItemList.model_validate(answer)
    assert status == 200
    return [item["id"] for item in answer["data"]]


def listed(memory: Memory, query: str = "?order=asc") -> list[str]:
    status, answer = request(memory, "GET", ITEMS + query)
    ConversationItemList.model_validate(answer)
    assert status == 200
    return [item["content"][0]["text"] for item in answer["data"]]


@pytest.fixture
def begun(memory: Memory) -> Memory:
    request(memory, "POST", "/v1/conversations", b'{"items": [{"role": "user", "content": "a"}]}')
    return memory


def test_items_are_added_at_the_end_and_listed(begun: Memory) -> None:
    added(begun, "b", "c", name="y")
    added(begun, "d", name="z")
    assert listed(begun) == ["a", "b", "c", "d"]
    assert listed(begun, "?limit=2") == ["d", "c"]


def test_each_item_is_shown_by_its_id(begun: Memory) -> None:
    (name,) = added(begun, "b", name="y")
    status, item = request(begun, "GET", f"{ITEMS}/{name}")
    assert (status, item["content"][0]["text"]) == (200, "b")


def test_an_item_that_is_taken_out_is_no_longer_sent(begun: Memory) -> None:
    (name,) = added(begun, "b", name="y")
    assert request(begun, "DELETE", f"{ITEMS}/{name}", name="z")[1]["id"] == "conv_x"
    assert listed(begun) == ["a"]
    assert request(begun, "GET", f"{ITEMS}/{name}")[0] == 404
    items = whole_input(begun, {"input": "c", "conversation": "conv_x"}).items
    assert [item["content"] for item in items if isinstance(item, dict)] == [
        [{"type": "input_text", "text": "a"}],
        "c",
    ]


def test_the_output_of_a_response_is_in_its_conversation(begun: Memory) -> None:
    body = {"input": "b", "conversation": "conv_x"}
    output = [shown_item({"role": "assistant", "content": "c"}, "1")]
    response: dict[str, Any] = {"id": "resp_1", "status": "completed", "output": output}
    keep_response(begun, body, whole_input(begun, body), response)
    added(begun, "d", name="y")
    assert listed(begun) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/conversations/conv_9/items"),
        ("POST", "/v1/conversations/conv_9/items"),
        ("GET", f"{ITEMS}/msg_9"),
        ("DELETE", f"{ITEMS}/msg_9"),
        ("DELETE", "/v1/conversations/resp_1"),
    ],
)
def test_what_is_not_kept_is_refused(begun: Memory, method: str, path: str) -> None:
    keep_response(begun, {}, whole_input(begun, {"input": "b"}), {"id": "resp_1", "status": "completed", "output": []})  # fmt: skip
    status, answer = request(begun, method, path, b'{"items": []}')
    assert (status, "not found" in answer["error"]["message"]) == (404, True)


def test_a_conversation_that_was_deleted_does_not_go_on(begun: Memory) -> None:
    added(begun, "b", name="y")
    request(begun, "DELETE", "/v1/conversations/conv_x")
    assert request(begun, "GET", ITEMS)[0] == 404
    with pytest.raises(UnknownError, match="Conversation with id 'conv_x' not found"):
        whole_input(begun, {"input": "c", "conversation": "conv_x"})


def test_what_is_sent_at_one_time_is_all_kept(begun: Memory) -> None:
    fields = {"model": "m", "conversation": "conv_x"}
    bodies = [{**fields, "input": text} for text in "bcd"]
    histories = [whole_input(begun, body) for body in bodies]
    added(begun, "meanwhile", name="y")
    for body, history in zip(bodies, histories, strict=True):
        name = f"resp_{body['input']}"
        keep_response(begun, body, history, {"id": name, "status": "completed", "output": []})
    assert listed(begun) == ["a", "meanwhile", "b", "c", "d"]


def test_an_item_s_id_is_neither_a_conversation_s_nor_an_earlier_item_s(begun: Memory) -> None:
    for at, name in enumerate(("conv_x", "msg_1", "msg_1")):
        item = {"role": "user", "id": name, "type": "message", "content": f"poison {at}"}
        body = {"model": "m", "input": [item]}
        response: dict[str, object] = {"id": f"resp_{at}", "status": "completed", "output": []}
        keep_response(begun, body, whole_input(begun, body), response)
    assert listed(begun) == ["a"]
    (only,) = whole_input(begun, {"model": "m", "input": [{"id": "msg_1"}]}).items
    assert "poison 1" in str(only)


def test_a_conversation_is_not_deleted_as_a_response(begun: Memory) -> None:
    assert request(begun, "DELETE", "/v1/responses/conv_x")[0] == 404
    assert listed(begun) == ["a"]
