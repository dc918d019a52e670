"""The OpenAI Agents SDK through the addon, by the Responses API: on the small model, and in front
of recordings.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunResultStreaming,
)
from openai import AsyncOpenAI

from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import pinged, stream
from tests.support.harness import Proxy
from tests.tools.shots import CITY, SUM, TWO_PLACES, WEATHER

pytest_plugins = ["tests.support.front", "tests.support.recorded_front"]

SUNNY = "sunny, 21 degrees"
QUIET = RunConfig(tracing_disabled=True)  # it would tell OpenAI of every run


@dataclass
class Seen:
    """What a person sees of a run: the cities asked for, the kinds of raw events, and the items."""

    cities: list[str] = field(default_factory=list)
    deltas: dict[str, str] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    answer: str = ""


async def watch(run: RunResultStreaming, seen: Seen) -> None:
    async for event in run.stream_events():
        if event.type == "raw_response_event" and isinstance(
            delta := getattr(event.data, "delta", None), str
        ):
            seen.deltas[event.data.type] = seen.deltas.get(event.data.type, "") + delta
        elif event.type == "run_item_stream_event":
            seen.items.append(event.item.type)
    seen.answer = str(run.final_output)


def run(address: str, question: str, **options: Any) -> Seen:
    """One question to an agent that can look up the weather, streamed to its end."""
    seen = Seen()

    async def weather(_: object, arguments: str) -> str:
        seen.cities.append(json.loads(arguments)["city"])
        return SUNNY

    async def all_of_it() -> None:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            agent = Agent(
                name="weatherman",
                model=OpenAIResponsesModel("tiny-think", client),
                model_settings=ModelSettings(temperature=0, max_tokens=200),
                tools=[tool],
                **options,
            )
            await watch(Runner.run_streamed(agent, question, run_config=QUIET), seen)

    tool = FunctionTool("get_weather", "Get the weather of a city.", CITY, weather, False)
    asyncio.run(all_of_it())
    return seen


@pytest.fixture(params=["tags", "extracted"])
def llama(request: pytest.FixtureRequest, llamas: dict[str, Llama]) -> Iterator[str]:
    chosen = llamas[request.param]
    mark = chosen.proxy.mark()
    yield f"http://127.0.0.1:{chosen.port}"
    chosen.proxy.check(mark)


THOUGHT, TEXT = "response.reasoning_summary_text.delta", "response.output_text.delta"


def test_it_thinks_calls_its_tool_and_answers_with_what_it_gave(llama: str) -> None:
    seen = run(llama, WEATHER)
    assert seen.cities == ["Oslo"]
    assert seen.items == ["reasoning_item", "tool_call_item", "tool_call_output_item", "reasoning_item", "message_output_item"]  # fmt: skip
    assert "21 degrees" in seen.answer
    assert "wants the weather in Oslo" in seen.deltas[THOUGHT]
    assert "think>" not in seen.deltas[TEXT]


def test_signs_of_life_disturb_nothing(front_proxy: Proxy, model: ByPathServer) -> None:
    model.rows[CHAT] = Says(steps=pinged(stream("<think>", "It is cold.", "</think>", "Tea.")))
    seen = run(f"http://127.0.0.1:{front_proxy.ports[0]}", SUM)
    assert (seen.deltas[THOUGHT], seen.answer) == ("It is cold.", "Tea.")


@pytest.mark.parametrize(
    "name", ["vllm-parsers-two-tool-calls-stream", "llama-two-tool-calls-stream"]
)
def test_two_calls_of_a_recorded_reply_are_both_run(
    recorded: Callable[[str], str], name: str
) -> None:
    seen = run(recorded(name), TWO_PLACES, tool_use_behavior="stop_on_first_tool")
    assert sorted(seen.cities) == ["Oslo", "Rome"], "they run at once"
    assert seen.answer == SUNNY
    assert seen.deltas[THOUGHT]
