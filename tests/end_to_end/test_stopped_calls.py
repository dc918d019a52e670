"""A stop string within a tool call, on llama.cpp, which takes its reply for a whole one: the call is
never handed over as one to run.
"""

from typing import Any

import pytest

from tests.conftest import Llama
from tests.support.prompts import MODEL
from tests.support.sdks import GREEDY, anthropic_client, openai_client
from tests.support.tool_loops import IN_OSLO

pytestmark = pytest.mark.slow

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMED: Any = {"name": "get_weather", "description": "The weather in a city"}
ASKED: Any = {
    "model": MODEL,
    "max_tokens": 300,
    "messages": [{"role": "user", "content": IN_OSLO}],
    "extra_body": GREEDY,
}
STOPS = [(('"}',), '"}'), (('"}', "no such words"), None)]
"""The stop strings of a request, and the one that its client is told of."""


@pytest.fixture(params=["tags", "extracted", "calls in the text"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Llama:
    return llamas[request.param]


@pytest.mark.parametrize(("stops", "told"), STOPS)
def test_a_message_says_that_a_string_stopped_it(
    llama: Llama, streamed: bool, stops: tuple[str, ...], told: str | None
) -> None:
    asked = {**ASKED, "stop_sequences": stops, "tools": [{**NAMED, "input_schema": SCHEMA}]}
    mark = llama.proxy.mark()
    with anthropic_client(llama.port) as sdk:
        if streamed:
            with sdk.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = sdk.messages.create(**asked)
    llama.proxy.check(mark)
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", told)


@pytest.mark.parametrize("stops", [stops for stops, _ in STOPS])
def test_a_chat_completion_is_not_finished_by_a_call(
    llama: Llama, streamed: bool, stops: tuple[str, ...]
) -> None:
    tools = [{"type": "function", "function": {**NAMED, "parameters": SCHEMA}}]
    asked = {**ASKED, "stop": stops, "tools": tools}
    mark = llama.proxy.mark()
    with openai_client(llama.port) as sdk:
        if streamed:
            with sdk.chat.completions.stream(**asked) as events:
                choice = events.get_final_completion().choices[0]
        else:
            choice = sdk.chat.completions.create(**asked).choices[0]
    llama.proxy.check(mark)
    (call,) = choice.message.tool_calls or []
    assert call.function.arguments == '{"city": "Oslo'
    assert choice.finish_reason == "stop"
