"""The OpenAI Agents SDK through the addon, by the Responses API: on the small model, and in front
of recordings.
"""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Llama
from tests.support.agents_sdk import SUNNY, in_a_session, run
from tools.recording_plans import TWO_CITIES, WEATHER

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front", "tests.support.recorded_front"]


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
    assert seen.answer
    assert seen.deltas[THOUGHT]
    assert "think>" not in seen.deltas[TEXT]


def test_a_session_keeps_its_history_here(llama: str) -> None:
    """The session lists its items, adds to them and takes the last one out, as users do to ask
    again.
    """
    answers, items = asyncio.run(in_a_session(llama, "12 * 7", "7 * 8"))
    assert [answer.strip() for answer in answers] == ["12 * 7 = 84", "7 * 8 = 56"]
    kinds = [item.get("role", item["type"]) for item in items]
    assert kinds == ["user", "reasoning", "assistant", "user", "reasoning"]


@pytest.mark.parametrize(
    "name", ["vllm-parsers-two-tool-calls-stream", "llama-two-tool-calls-stream"]
)
def test_two_calls_of_a_recorded_reply_are_both_run(
    recorded: Callable[[str], str], name: str
) -> None:
    seen = run(recorded(name), TWO_CITIES, tool_use_behavior="stop_on_first_tool")
    assert sorted(seen.cities) == ["Oslo", "Rome"], "they run at once"
    assert seen.answer == SUNNY
    assert seen.deltas[THOUGHT]
