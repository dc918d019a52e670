"""An agent with a tool server (MCP) whose schema holds `\\d` and whose answer holds a picture, on a
real llama.cpp that takes neither: its session works.
"""

import asyncio
import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, TResponseInputItem
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

from tests.conftest import Llama
from tests.support.agents_sdk import QUIET
from tests.support.claude_code import NO_TOOLS, ask, install
from tests.support.harness import TESTS, Proxy, start_proxy
from tests.support.npm import installed
from tests.support.weather_tool import DOT
from tools.shots import WEATHER

pytestmark = pytest.mark.slow

SERVER = [str(TESTS / "support" / "weather_tool.py"), "pictured"]
AGAIN = "was asked again without"
PICTURED: TResponseInputItem = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{DOT}", "detail": "auto"},
    ],
}


def turn(words: str) -> TResponseInputItem:
    return {"role": "user", "content": words}


@pytest.fixture(scope="session")
def claude_code(request: pytest.FixtureRequest) -> Path:
    return installed(request, "Claude Code", install)


@pytest.fixture
def proxy(llamas: dict[str, Llama], proxy_folder: Path) -> Iterator[Proxy]:
    """One that has learnt nothing yet."""
    modes = [f"reverse:{llamas['tags'].address}"]
    with start_proxy(modes, [], proxy_folder, "tool-servers") as proxy:
        yield proxy


async def session(port: int, *turns: TResponseInputItem) -> tuple[list[str], list[str]]:
    """The kinds of items, and the answers, of an agent that can ask the tool server."""
    base = f"http://127.0.0.1:{port}/v1"
    kinds: list[str] = []
    answers: list[str] = []
    history: list[TResponseInputItem] = []
    async with (
        MCPServerStdio({"command": sys.executable, "args": SERVER}) as server,
        AsyncOpenAI(base_url=base, api_key="none", max_retries=0) as client,
    ):
        agent = Agent(
            name="weatherman",
            model=OpenAIResponsesModel("tiny-think", client),
            model_settings=ModelSettings(temperature=0, max_tokens=200),
            mcp_servers=[server],
        )
        for turn in turns:
            run = await Runner.run(agent, [*history, turn], run_config=QUIET)
            history = run.to_input_list()
            kinds += [item.type for item in run.new_items]
            answers.append(str(run.final_output))
    return kinds, answers


def test_a_session_goes_on_behind_a_schema_and_a_picture(proxy: Proxy) -> None:
    mark = proxy.mark()
    turns = (turn(WEATHER), PICTURED, turn("12 * 7"))
    kinds, answers = asyncio.run(session(proxy.ports[0], *turns))
    assert kinds[:3] == ["reasoning_item", "tool_call_item", "tool_call_output_item"]
    assert all(answers)
    assert answers[-1].strip() == "12 * 7 = 84"
    assert proxy.output[mark:].count(AGAIN) == 2, "once for the schema, once for the picture"
    proxy.check(mark)


def test_a_request_may_hold_both(proxy: Proxy) -> None:
    mark = proxy.mark()
    _, answers = asyncio.run(session(proxy.ports[0], PICTURED, turn("12 * 7")))
    assert answers[-1].strip() == "12 * 7 = 84"
    assert proxy.output[mark:].count(AGAIN) == 2
    proxy.check(mark)


def test_claude_code_works_as_well(proxy: Proxy, claude_code: Path, tmp_path: Path) -> None:
    servers = {"mcpServers": {"w": {"command": sys.executable, "args": SERVER}}}
    (tmp_path / "servers.json").write_text(json.dumps(servers))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "dot.png").write_bytes(b64decode(DOT))
    told = ("--mcp-config", str(tmp_path / "servers.json"), "--strict-mcp-config")
    mark = proxy.mark()
    for words in ("What is this? @dot.png", "12 * 7"):
        seen = ask(claude_code, proxy.ports[0], tmp_path, words, *NO_TOOLS, *told)
        assert (seen.status, seen.blocks[-1]["type"]) == (0, "text")
    assert proxy.output[mark:].count(AGAIN) == 2
