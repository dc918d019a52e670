"""LangChain's ChatOpenAI through the addon, by the Responses API: on the small model, and in front
of a recording.
"""

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.conftest import Llama
from tools.recording_plans import OPENAI_TOOL, SUM, WEATHER

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front", "tests.support.recorded_front"]

SUNNY = "sunny, 21 degrees"


def chat_model(address: str, **options: Any) -> ChatOpenAI:
    """Blocks of version v1 are LangChain's own words for what any vendor sends."""
    return ChatOpenAI(
        base_url=f"{address}/v1",
        api_key=SecretStr("none"),
        model="tiny-think",
        temperature=0,
        max_completion_tokens=200,
        max_retries=0,
        use_responses_api=True,
        output_version="v1",
        **options,
    )


@pytest.fixture(params=["tags", "extracted"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[str]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield f"http://127.0.0.1:{chosen.port}"
    chosen.proxy.check(mark)


def streamed(model: Any, messages: list[Any]) -> AIMessage:
    pieces: list[AIMessageChunk] = list(model.stream(messages))
    assert len(pieces) > 5, "it is live"
    return reduce(operator.add, pieces)


def invoked(model: Any, messages: list[Any]) -> AIMessage:
    message: AIMessage = model.invoke(messages)
    return message


def texts_of(message: AIMessage) -> dict[str, str]:
    """Each kind of block, and its words."""
    texts: dict[str, str] = {}
    for block in message.content_blocks:
        kind = block["type"]
        texts[kind] = texts.get(kind, "") + str(block.get("reasoning") or block.get("text") or "")
    return texts


BOTH_CALLS = pytest.mark.parametrize("ask", [streamed, invoked])


@BOTH_CALLS
def test_thinking_is_a_reasoning_block_and_the_answer_text(
    llama: str, ask: Callable[..., AIMessage]
) -> None:
    message = ask(chat_model(llama), [HumanMessage(SUM)])
    assert list(texts_of(message)) == ["reasoning", "text"]
    assert texts_of(message)["text"].strip() == "6 * 7 = 42"
    assert "6 times 7" in texts_of(message)["reasoning"]
    assert message.usage_metadata
    assert message.usage_metadata["output_token_details"]["reasoning"] > 0


@BOTH_CALLS
@pytest.mark.parametrize("kept", [False, True], ids=["sent back", "previous response"])
def test_a_tool_is_called_and_what_it_gave_is_answered(
    llama: str, ask: Callable[..., AIMessage], kept: bool
) -> None:
    model = chat_model(llama, use_previous_response_id=kept).bind_tools([OPENAI_TOOL])
    messages: list[Any] = [HumanMessage(WEATHER)]
    message = ask(model, messages)
    (call,) = message.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Oslo"})
    answer = ask(model, [*messages, message, ToolMessage(SUNNY, tool_call_id=call["id"])])
    assert texts_of(answer)["text"]


def test_a_thought_that_only_the_client_keeps_comes_back_sealed(llama: str) -> None:
    model = chat_model(llama, store=False, include=["reasoning.encrypted_content"])
    message = invoked(model, [HumanMessage(SUM)])
    again = invoked(model, [HumanMessage(SUM), message, HumanMessage("7 * 8")])
    assert texts_of(again)["text"].strip() == "7 * 8 = 56"
