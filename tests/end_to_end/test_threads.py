"""Message threads as Anthropic's SDK uses them: its `tool_runner` and `thread()`, on llama.cpp and
the small model, and in front of a server that plays one.
"""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool
from anthropic.types.beta import BetaMessage, BetaMessageParam
from anthropic.types.beta.parsed_beta_message import ParsedBetaMessage

from tests.conftest import Llama
from tests.support.prompts import MODEL
from tests.support.sdks import SAMPLING, anthropic_client

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

IN_OSLO = "What is the weather in Oslo?"


def user_turn(text: str) -> BetaMessageParam:
    return {"role": "user", "content": text}


def text_of(message: BetaMessage | ParsedBetaMessage[None]) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@beta_tool
def get_weather(city: str) -> str:
    """Get the weather of a city.

    Args:
        city: The city.
    """
    return f"sunny, 21 degrees in {city}"


@pytest.fixture
def client(llamas: dict[str, Llama]) -> Iterator[anthropic.Anthropic]:
    llama = llamas["tags"]
    mark = llama.proxy.mark()
    with anthropic_client(llama.port) as client:
        yield client
    llama.proxy.check(mark)


def test_a_tool_runner_goes_on_from_its_thread(client: anthropic.Anthropic) -> None:
    runner = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=200,
        messages=[{"role": "user", "content": IN_OSLO}],
        tools=[get_weather],
        extra_body=SAMPLING,
    )
    replies = list(runner)
    assert [reply.stop_reason for reply in replies] == ["tool_use", "end_turn"]
    assert text_of(replies[-1])
    assert [block.type for block in replies[0].content] == ["thinking", "tool_use"]


def test_a_threads_second_turn_has_all_of_the_first(client: anthropic.Anthropic) -> None:
    request: Any = {"model": MODEL, "max_tokens": 200, "extra_body": SAMPLING}
    thread = client.beta.messages.thread(**request)
    first = thread.send(user_turn("12 * 7"))
    with thread.stream(user_turn("3 * 3")) as events:
        second = events.get_final_message()
    assert thread.previous_message_id == second.id, "it stayed a thread"
    unthreaded = client.beta.messages.create(
        messages=[
            user_turn("12 * 7"),
            {"role": "assistant", "content": first.content},
            user_turn("3 * 3"),
        ],
        **request,
    )
    assert second.usage.input_tokens == unthreaded.usage.input_tokens
    assert text_of(second) == text_of(unthreaded) != ""
