"""The OpenAI Agents SDK as a client: an agent that can look up the weather, by the Responses API,
streamed to its end.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    ModelSettings,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunResultStreaming,
)
from openai import AsyncOpenAI

from tools.recording_plans import CITY

SUNNY = "sunny, 21 degrees"
QUIET = RunConfig(tracing_disabled=True)  # it would tell OpenAI of every run


@dataclass
class Seen:
    """The results of a run: the cities of the calls, the kinds of raw events, and the items."""

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


async def in_a_session(address: str, *questions: str) -> tuple[list[str], list[Any]]:
    """Questions to an agent whose history a session keeps with the server: its answers, and the
    items of the session, of which the last was taken out again.
    """
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        session = OpenAIConversationsSession(openai_client=client)
        agent = Agent(
            name="reckoner",
            model=OpenAIResponsesModel("tiny-think", client),
            model_settings=ModelSettings(temperature=0, max_tokens=200),
        )
        answers = [
            (await Runner.run(agent, question, session=session, run_config=QUIET)).final_output
            for question in questions
        ]
        await session.pop_item()
        items = await session.get_items()
        await session.clear_session()
        return answers, items


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
