"""A Messages request that breaks the format is refused with the place, as the API does, and nothing
goes to the server.
"""

import json
from typing import Any

import anthropic
import pytest

from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tests.support.clients import Client, anthropic_error
from tests.support.frames import whole

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

HI: dict[str, Any] = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "Hello"}
UNREADABLE_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "b", "input": "c"}],
}
CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "call_1", "name": "look", "input": {}}],
}


def block(**fields: object) -> dict[str, Any]:
    """A request of one block."""
    return {"messages": [{"role": "user", "content": [fields]}]}


def image(**source: object) -> dict[str, Any]:
    return block(type="image", source=source)


def result(tool_use_id: object) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": tool_use_id, "content": "sunny"}],
    }


SOURCE = "messages.0.content.0.source"
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no messages": ({}, "messages"),
    "messages null": ({"messages": None}, "messages"),
    "messages empty": ({"messages": []}, "messages"),
    "messages a string": ({"messages": "hi"}, "messages"),
    "a message null": ({"messages": [None]}, "messages.0"),
    "no role": ({"messages": [{"content": "hi"}]}, "messages.0.role"),
    "an unknown role": ({"messages": [HI, {"role": "tool", "content": "hi"}]}, "messages.1.role"),
    "no content": ({"messages": [{"role": "user"}]}, "messages.0.content"),
    "content a number": ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
    "a block without type": (block(text="hi"), "messages.0.content.0.type"),
    "text a number": (block(type="text", text=5), "messages.0.content.0.text"),
    "a call of the user's": (
        block(type="tool_use", id="a", name="b", input={}),
        "messages.0.content.0.type",
    ),
    "bad base64": (image(type="base64", media_type="image/png", data="!!!"), f"{SOURCE}.data"),
    "no base64": (image(type="base64", media_type="image/png", data=""), f"{SOURCE}.data"),
    "an unknown source": (image(type="own"), f"{SOURCE}.type"),
    "no source": (block(type="image"), SOURCE),
    "a result without its call's id": (
        {"messages": [HI, CALL, result(None)]},
        "messages.2.content.0.tool_use_id",
    ),
    "input a string": ({"messages": [HI, UNREADABLE_CALL]}, "messages.1.content.0.input"),
    "max_tokens a string": ({"messages": [HI], "max_tokens": "9"}, "max_tokens"),
    "max_tokens negative": ({"messages": [HI], "max_tokens": -1}, "max_tokens"),
    "no max_tokens": ({"messages": [HI], "max_tokens": None}, "max_tokens"),
    "no model": ({"messages": [HI], "model": None}, "model"),
    "system a number": ({"messages": [HI], "system": 5}, "system"),
    "stream a string": ({"messages": [HI], "stream": "yes"}, "stream"),
    "temperature a string": ({"messages": [HI], "temperature": "hot"}, "temperature"),
    "tools an object": ({"messages": [HI], "tools": {}}, "tools"),
    "a tool without a schema": (
        {"messages": [HI], "tools": [{"name": "look"}]},
        "tools.0.input_schema",
    ),
    "a tool without a name": ({"messages": [HI], "tools": [{"input_schema": {}}]}, "tools.0.name"),
    "an unknown tool choice": (
        {"messages": [HI], "tool_choice": {"type": "own"}},
        "tool_choice.type",
    ),
    "an unknown kind of thinking": (
        {"messages": [HI], "thinking": {"type": "own"}},
        "thinking.type",
    ),
    "stop_sequences a string": ({"messages": [HI], "stop_sequences": "END"}, "stop_sequences"),
}


@pytest.mark.parametrize(("fields", "place"), BROKEN.values(), ids=BROKEN.keys())
def test_it_is_refused_with_the_place_and_goes_nowhere(
    front: Client, model: ByPathServer, fields: dict[str, Any], place: str, streamed: bool
) -> None:
    body = {"model": "small", "max_tokens": 9, "stream": streamed} | fields
    answer = front.ask(MESSAGES, json.dumps(body).encode())
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (
        400,
        "invalid_request_error",
    )
    assert anthropic_error(answer.body).startswith(f"{place}: ")
    assert model.asked == []


CLEAR: dict[str, dict[str, Any]] = {
    "an unknown block": {"messages": [HI, *block(type="own")["messages"]]},
    "a result of no call": {"messages": [HI, result("call_1")]},
    "a result of another call": {"messages": [HI, CALL, result("call_2")]},
    "a result one turn late": {"messages": [HI, CALL, HI, SAID, result("call_1")]},
    "a call without input": {
        "messages": [
            HI,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "look", "input": None}],
            },
            result("call_1"),
        ]
    },
    "a stop sequence of blanks": {"messages": [HI], "stop_sequences": ["\n\n"]},
    "a small budget": {
        "messages": [HI],
        "thinking": {"type": "enabled", "budget_tokens": 4},
    },
}


@pytest.mark.parametrize("fields", CLEAR.values(), ids=CLEAR.keys())
def test_what_the_api_refuses_but_a_server_can_be_told_is_answered(
    front: Client, model: ByPathServer, fields: dict[str, Any]
) -> None:
    model.rows[CHAT] = Says(whole("84"))
    body = {"model": "small", "max_tokens": 9} | fields
    answer = front.ask(MESSAGES, json.dumps(body).encode())
    assert answer.status == 200, answer.body
    (asked,) = model.bodies()
    kept = [
        (turn["role"], turn.get("tool_call_id")) for turn in asked["messages"] if turn["content"]
    ]
    for turn in fields["messages"]:
        for said in turn["content"] if isinstance(turn["content"], list) else []:
            if said["type"] == "tool_result":
                assert ("tool", said["tool_use_id"]) in kept
    assert asked.get("stop") == fields.get("stop_sequences")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"hi"', b"\xff\xfe", b"[" * 100_000],
    ids=lambda body: repr(body[:9]),
)
def test_a_body_that_is_no_object_is_refused(
    front: Client, model: ByPathServer, body: bytes
) -> None:
    answer = front.ask(f"{MESSAGES}?beta=true", body)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (
        400,
        "invalid_request_error",
    )
    assert anthropic_error(answer.body)
    assert model.asked == []


def test_the_sdk_raises_a_bad_request(model: ByPathServer, sdk: anthropic.Anthropic) -> None:
    wrong: Any = [HI, result(None)]
    with pytest.raises(
        anthropic.BadRequestError, match=r"messages\.1\.content\.0\.tool_use_id: Field required"
    ):
        sdk.messages.create(model="small", max_tokens=9, messages=wrong)
    assert model.asked == []


def test_the_connection_is_good_after_a_refusal(front: Client, model: ByPathServer) -> None:
    for _ in range(3):
        assert front.ask(MESSAGES, b"{").status == 400
    assert model.asked == []
