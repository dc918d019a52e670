"""The loop of an agent, by each official SDK: ask, call the weather tool, send its result, until
there is an answer.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai

from tests.support.prompts import MODEL
from tests.support.sdks import SAMPLING, SECONDS, anthropic_client, openai_client

IN_OSLO, IN_BOTH = "What is the weather in Oslo?", "What is the weather in Oslo and Rome?"
SUNNY = "sunny, 21 degrees"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAME, DESCRIPTION = "get_weather", "The weather."
TURNS = 4
"""More than any of these questions takes: a model that calls without end is a failure."""


@dataclass
class Loop:
    """The run of an agent. `calls`: the arguments of its calls, `ids`: their ids; `kinds`: the
    kinds of blocks of each reply; `ends`: why each ended; `answer`: the last text.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    kinds: list[list[str]] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    answer: str = ""

    @property
    def cities(self) -> list[str]:
        """The cities of its calls."""
        return [call["city"] for call in self.calls]

    def take(self, ids: list[str], arguments: list[dict[str, Any]]) -> bool:
        """Note a reply's calls; return True if it had any."""
        self.ids += ids
        self.calls += arguments
        return bool(ids)


def anthropic_loop(port: int, streamed: bool, question: str, idle: float = SECONDS) -> Loop:
    """Through the Messages API."""
    loop = Loop()
    messages: list[Any] = [{"role": "user", "content": question}]
    tool: Any = {"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}
    with anthropic_client(port, idle) as client:
        for _ in range(TURNS):
            message = message_of(client, streamed, messages=messages, tools=[tool])
            loop.kinds.append([block.type for block in message.content])
            loop.ends.append(str(message.stop_reason))
            calls = [block for block in message.content if block.type == "tool_use"]
            if not loop.take([call.id for call in calls], [call.input for call in calls]):
                loop.answer = message.content[-1].text
                break
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": SUNNY} for call in calls
            ]
            messages.append({"role": "assistant", "content": message.content})
            messages.append({"role": "user", "content": results})
    return loop


def message_of(client: anthropic.Anthropic, streamed: bool, **fields: Any) -> Any:
    """The reply to one request, whole or put together by the SDK."""
    fields |= {"model": MODEL, "max_tokens": 200, "extra_body": SAMPLING}
    if not streamed:
        return client.messages.create(**fields)
    with client.messages.stream(**fields) as events:
        return events.get_final_message()


def openai_loop(port: int, streamed: bool, question: str, idle: float = SECONDS) -> Loop:
    """Through chat completions."""
    loop = Loop()
    messages: list[Any] = [{"role": "user", "content": question}]
    function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
    tools = [{"type": "function", "function": function}]
    with openai_client(port, idle) as client:
        for _ in range(TURNS):
            choice = choice_of(client, streamed, messages=messages, tools=tools)
            loop.ends.append(choice.finish_reason)
            calls = choice.message.tool_calls or []
            loop.kinds.append(
                ["text"] * bool((choice.message.content or "").strip()) + ["tool_use"] * len(calls)
            )
            arguments = [json.loads(call.function.arguments) for call in calls]
            if not loop.take([call.id for call in calls], arguments):
                loop.answer = choice.message.content
                break
            messages.append(_turn(choice.message))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": SUNNY} for call in calls
            ]
    return loop


def _turn(message: Any) -> dict[str, Any]:
    """The message as the API takes it back: the SDK adds fields that only it reads."""
    functions = [(call.id, call.function) for call in message.tool_calls]
    calls = [
        {
            "id": name,
            "type": "function",
            "function": {"name": function.name, "arguments": function.arguments},
        }
        for name, function in functions
    ]
    return {"role": "assistant", "content": message.content, "tool_calls": calls}


def choice_of(client: openai.OpenAI, streamed: bool, **fields: Any) -> Any:
    fields |= {"model": MODEL, "max_tokens": 200, "extra_body": SAMPLING}
    if not streamed:
        return client.chat.completions.create(**fields).choices[0]
    with client.chat.completions.stream(**fields) as events:
        return events.get_final_completion().choices[0]


def responses_loop(port: int, streamed: bool, question: str, idle: float = SECONDS) -> Loop:
    """Through the Responses API."""
    loop = Loop()
    items: list[Any] = [{"role": "user", "content": question}]
    tool: Any = {
        "type": "function",
        "name": NAME,
        "description": DESCRIPTION,
        "parameters": SCHEMA,
        "strict": False,
    }
    with openai_client(port, idle) as client:
        for _ in range(TURNS):
            response = response_of(client, streamed, input=items, tools=[tool])
            loop.kinds.append([item.type for item in response.output])
            loop.ends.append(response.status)
            calls = [item for item in response.output if item.type == "function_call"]
            arguments = [json.loads(call.arguments) for call in calls]
            if not loop.take([call.call_id for call in calls], arguments):
                loop.answer = response.output_text
                break
            items += [item.to_dict(exclude_none=True) for item in response.output]
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": SUNNY}
                for call in calls
            ]
    return loop


def response_of(client: openai.OpenAI, streamed: bool, **fields: Any) -> Any:
    fields |= {"model": MODEL, "max_output_tokens": 200, "extra_body": SAMPLING, "store": False}
    if not streamed:
        return client.responses.create(**fields)
    with client.responses.stream(**fields) as events:
        return events.get_final_response()


LOOPS: dict[str, Callable[..., Loop]] = {
    "Messages": anthropic_loop,
    "chat completions": openai_loop,
    "Responses": responses_loop,
}
ENDS = {
    "Messages": ("tool_use", "end_turn"),
    "chat completions": ("tool_calls", "stop"),
    "Responses": ("completed", "completed"),
}
"""The finish of a reply with calls, and of an answer."""
CALLS = {"Messages": "tool_use", "chat completions": "tool_use", "Responses": "function_call"}
"""The kind of a block that is a call."""
