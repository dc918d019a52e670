"""An agent's loop on the real llama.cpp by clients that drop thoughts: its prompt cache is the judge.

The names of the models are ours; the server has one, whose template writes every thought it gets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.conftest import Llama
from tests.support.sdks import anthropic_client, openai_client
from tests.support.tool_loops import DESCRIPTION, NAME, SCHEMA, SUNNY

pytestmark = pytest.mark.slow

WANTS, UNKNOWN = "qwen3.6-tiny", "tiny-think"
"""Names of a model whose row says that it wants its thoughts, and of one without a row."""
CITIES = ("Oslo", "Rome", "Paris", "Bergen", "Cairo", "Lima", "Oslo", "Rome", "Paris")
TOOL = {
    "type": "function",
    "function": {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA},
}
CACHED = {"cache_prompt": True, "seed": 1}


@dataclass(frozen=True)
class Turn:
    """A reply's tokens: of its prompt, those of them that the cache held, and its own."""

    prompt: int
    cached: int
    made: int


def by_sdk(port: int, model: str) -> list[Turn]:
    """A plain program on the OpenAI SDK: it keeps what it was told to keep, words and calls."""
    turns, messages = list[Turn](), list[Any]()
    with openai_client(port) as client:

        def ask() -> list[Any]:
            made = client.chat.completions.create(
                model=model,
                messages=messages,
                tools=[TOOL],  # type: ignore[list-item]
                max_tokens=200,
                temperature=0,
                extra_body=CACHED,
            )
            message, usage = made.choices[0].message, made.usage
            assert usage
            assert usage.prompt_tokens_details
            cached = usage.prompt_tokens_details.cached_tokens or 0
            turns.append(Turn(usage.prompt_tokens, cached, usage.completion_tokens))
            calls = [call.model_dump() for call in message.tool_calls or []]
            said = {"role": "assistant", "content": message.content}
            messages.append(said | ({"tool_calls": calls} if calls else {}))
            return [{"role": "tool", "tool_call_id": c["id"], "content": SUNNY} for c in calls]

        for city in CITIES:
            messages.append({"role": "user", "content": f"What is the weather in {city}?"})
            if results := ask():
                messages += results
                ask()
    return turns


def by_langchain(port: int, model: str) -> list[Turn]:
    """LangChain's ChatOpenAI, streamed: it has no place for a thought."""
    chat = ChatOpenAI(
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key=SecretStr("none"),
        model=model,
        temperature=0,
        max_completion_tokens=200,
        max_retries=0,
        stream_usage=True,
        extra_body=CACHED,
    ).bind_tools([TOOL])
    turns, messages = list[Turn](), list[BaseMessage]()

    def ask() -> list[BaseMessage]:
        pieces: list[Any] = list(chat.stream(messages))
        message: Any = sum(pieces[1:], pieces[0])
        usage = message.usage_metadata
        cached = usage["input_token_details"].get("cache_read", 0)
        turns.append(Turn(usage["input_tokens"], cached, usage["output_tokens"]))
        messages.append(AIMessage(message.content, tool_calls=message.tool_calls))
        return [ToolMessage(SUNNY, tool_call_id=call["id"]) for call in message.tool_calls]

    for city in CITIES:
        messages.append(HumanMessage(f"What is the weather in {city}?"))
        if results := ask():
            messages += results
            ask()
    return turns


def by_anthropic(port: int, model: str) -> list[Turn]:
    """A plain program on the Anthropic SDK that keeps words and calls alone."""
    turns, messages = list[Turn](), list[Any]()
    with anthropic_client(port) as client:

        def ask() -> list[Any]:
            made = client.messages.create(
                model=model,
                messages=messages,
                tools=[{"name": NAME, "description": DESCRIPTION, "input_schema": dict(SCHEMA)}],
                max_tokens=200,
                extra_body={"temperature": 0, **CACHED},
            )
            cached = made.usage.cache_read_input_tokens or 0
            turns.append(Turn(made.usage.input_tokens + cached, cached, made.usage.output_tokens))
            kept = [block for block in made.content if block.type != "thinking"]
            messages.append({"role": "assistant", "content": kept})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": SUNNY}
                for block in kept
                if block.type == "tool_use"
            ]
            return [{"role": "user", "content": results}] if results else []

        for city in CITIES:
            messages.append({"role": "user", "content": f"What is the weather in {city}?"})
            if results := ask():
                messages += results
                ask()
    return turns


def read_again(turns: list[Turn]) -> list[int]:
    """Return how many tokens of what the server had read and made before it read again, by turn."""
    return [before.prompt + before.made - turn.cached for before, turn in pairwise(turns)]


@pytest.mark.parametrize("client", [by_sdk, by_langchain, by_anthropic])
@pytest.mark.parametrize("name", ["tags", "extracted"])
def test_the_cache_holds_the_whole_turn(
    llamas: dict[str, Llama], name: str, client: Callable[[int, str], list[Turn]]
) -> None:
    dropped = read_again(client(llamas[name].port, UNKNOWN))
    restored = read_again(client(llamas[name].port, WANTS))
    assert len(restored) >= 9
    # the last token of a prompt or reply is read again in any case
    assert max(restored) <= 2
    assert min(dropped) > 20
