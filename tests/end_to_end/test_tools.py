"""Tools through the addon: loops on llama.cpp's own server, and what a server and a client get of
calls, results and thinking.
"""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, ToolUseBlock
from openai.types.chat import ChatCompletionMessageToolCallUnion

from tests.conftest import Llama
from tests.support.clients import ANTHROPIC, Client
from tests.support.prompts import MODEL
from tests.support.sdk_types import judged_message, judged_stream
from tests.support.sdks import SAMPLING, anthropic_client, openai_client

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER: Any = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "input_schema": SCHEMA,
}
FUNCTION: Any = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Get it.", "parameters": SCHEMA},
}
SUNNY = "sunny, 21 degrees"
IN_OSLO = "What is the weather in Oslo?"
IN_BOTH = "What is the weather in Oslo and Rome?"


@pytest.fixture(params=["tags", "extracted"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Llama:
    return llamas[request.param]


@pytest.fixture
def sdk_on_llama(llama: Llama) -> Iterator[anthropic.Anthropic]:
    with anthropic_client(llama.port) as client:
        yield client


def text_of(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


class Agent:
    """The loop that every agent has: ask, call the tools, send what they gave, until there is an
    answer.
    """

    def __init__(self, client: anthropic.Anthropic, streamed: bool) -> None:
        self._client = client
        self._streamed = streamed
        self.messages: list[Any] = []
        self.called: list[str] = []

    def say(self, content: object) -> Message:
        self.messages.append({"role": "user", "content": content})
        message = self._reply()
        self.messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        self.called += [str(call.input["city"]) for call in calls]
        return (
            self.say(
                [
                    {"type": "tool_result", "tool_use_id": call.id, "content": SUNNY}
                    for call in calls
                ]
            )
            if calls
            else message
        )

    def _reply(self) -> Message:
        request: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": 200,
            "messages": self.messages,
            "tools": [WEATHER],
        }
        if not self._streamed:
            message: Message = self._client.messages.create(**request, extra_body=SAMPLING)
            return message
        with self._client.messages.stream(**request, extra_body=SAMPLING) as stream:
            return stream.get_final_message()


def test_a_loop_of_three_turns_calls_the_tool_and_answers_with_what_it_gave(
    sdk_on_llama: anthropic.Anthropic, streamed: bool
) -> None:
    agent = Agent(sdk_on_llama, streamed)
    first, second = agent.say(IN_OSLO), agent.say("What is the weather in Rome?")
    assert agent.called == ["Oslo", "Rome"]
    assert [first.stop_reason, second.stop_reason] == ["end_turn", "end_turn"]
    assert text_of(first)
    kinds = [
        [block.type for block in message["content"]]
        for message in agent.messages
        if message["role"] == "assistant"
    ]
    assert kinds == [["thinking", "tool_use"], ["thinking", "text"]] * 2


def test_a_streamed_call_is_of_the_sdks_types(llama: Llama) -> None:
    body = {
        "model": MODEL,
        "max_tokens": 200,
        "messages": [{"role": "user", "content": IN_BOTH}],
        "tools": [WEATHER],
        **SAMPLING,
    }
    with Client(llama.port) as client:
        streamed = judged_stream(
            client.ask(ANTHROPIC.path, json.dumps(body | {"stream": True}).encode()).body
        ).message
        message = judged_message(client.ask(ANTHROPIC.path, json.dumps(body).encode()).body)
    assert [block["input"] for block in streamed["content"] if block["type"] == "tool_use"] == [
        {"city": "Oslo"},
        {"city": "Rome"},
    ]
    without_ids = [
        [block | {"id": ""} for block in read["content"]] for read in (streamed, message)
    ]
    assert without_ids[0] == without_ids[1]
    assert message["stop_reason"] == streamed["stop_reason"] == "tool_use"


def arguments(call: ChatCompletionMessageToolCallUnion) -> dict[str, Any]:
    assert call.type == "function"
    read: dict[str, Any] = json.loads(call.function.arguments)
    return read


def test_an_openai_client_gets_calls_and_thinking_apart(llama: Llama) -> None:
    request: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 200,
        "tools": [FUNCTION],
        "extra_body": SAMPLING,
    }
    messages: list[Any] = [{"role": "user", "content": IN_OSLO}]
    with openai_client(llama.port) as client:
        first = client.chat.completions.create(messages=messages, **request).choices[0]
        assert first.message.tool_calls
        call = first.message.tool_calls[0]
        messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": SUNNY}]
        answer = client.chat.completions.create(messages=messages, **request).choices[0]
    assert (first.finish_reason, arguments(call)) == ("tool_calls", {"city": "Oslo"})
    assert all(choice.message.to_dict()["reasoning_content"] for choice in (first, answer))
    assert answer.message.content
    assert "think>" not in str(answer.message.content)


# What a server that plays an agent's model is asked, and what the client makes of its calls.
