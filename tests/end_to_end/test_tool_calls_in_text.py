"""Calls that a model writes into its text, through a real mitmdump to the official SDKs: on
llama.cpp without tools, and from a server that plays models of other families.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.contentviews import Metadata
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.extras.watch.views import ThinkingView
from tests.conftest import Llama
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import DONE, ROLE, USAGE, finish, stream, text, whole
from tests.support.harness import Proxy, start_proxy
from tests.support.sdks import anthropic_client, openai_client
from tests.support.small_pieces import in_small_pieces
from tests.support.tool_call_texts import WRITTEN, Calls
from tests.support.tool_loops import (
    CALLS,
    ENDS,
    IN_BOTH,
    IN_OSLO,
    LOOPS,
    choice_of,
    message_of,
    response_of,
)

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOL: Any = {"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}
HI: Any = [{"role": "user", "content": "hi"}]
ARGUMENTS = {"city": "Oslo", "days": 3}


# On a server that is told no tools: the whole loop of an agent.


@pytest.fixture(scope="session")
def without_tools(llamas: dict[str, Llama], proxy_folder: Path) -> Iterator[Proxy]:
    """In front of llama.cpp, which gets no tools, but words about them."""
    modes = [f"reverse:{llamas['tags'].address}"]
    with start_proxy(modes, ["--set", "think_tools=told"], proxy_folder, "told") as proxy:
        yield proxy


@pytest.mark.parametrize("client", LOOPS)
def test_an_agent_works_on_a_server_that_knows_no_tools(
    without_tools: Proxy, client: str, streamed: bool
) -> None:
    mark = without_tools.mark()
    loop = LOOPS[client](without_tools.ports[0], streamed, IN_BOTH)
    assert loop.cities == ["Oslo", "Rome"]
    assert loop.kinds[0][-2:] == [CALLS[client]] * 2
    assert len(set(loop.ids)) == 2
    assert tuple(loop.ends) == ENDS[client]
    assert loop.answer
    assert "2 calls read from text: hermes" in without_tools.output[mark:]


# On llama.cpp that tells the model of the tools, and leaves its calls in the text.


@pytest.mark.parametrize("client", LOOPS)
@pytest.mark.parametrize("question", [IN_OSLO, IN_BOTH])
def test_an_agent_works_on_a_server_that_leaves_calls_in_the_text(
    llamas: dict[str, Llama], client: str, streamed: bool, question: str
) -> None:
    llama = llamas["calls in the text"]
    mark = llama.proxy.mark()
    loop = LOOPS[client](llama.port, streamed, question)
    assert loop.cities == (["Oslo"] if question == IN_OSLO else ["Oslo", "Rome"])
    assert tuple(loop.ends) == ENDS[client]
    assert loop.answer
    assert re.search(r"\d calls? read from text: hermes", llama.proxy.output[mark:])
    llama.proxy.check(mark)


# From a server that plays a model of each family.


def says(content: str, streamed: bool, reason: str = "stop") -> Says:
    """A reply in small pieces, or whole."""
    if not streamed:
        return Says(json.loads(whole(content).replace(b'"stop"', f'"{reason}"'.encode())))
    pieces = [content[at : at + 3] for at in range(0, len(content), 3)]
    return Says(steps=[ROLE, *text(*pieces), finish(reason), USAGE, DONE])


@pytest.mark.parametrize("name", list(WRITTEN)[::6])
def test_a_call_of_any_form_reaches_every_client(
    model: ByPathServer, front_proxy: Proxy, name: str, streamed: bool
) -> None:
    text = "<think>Hm.</think>\n\n" + WRITTEN[name].write([("get_weather", ARGUMENTS)])
    model.rows[CHAT] = says(text, streamed)
    mark = front_proxy.mark()
    with anthropic_client(front_proxy.ports[0]) as client:
        message = message_of(client, streamed, tools=[TOOL], messages=HI)
    function = {"name": "get_weather", "parameters": SCHEMA}
    with openai_client(front_proxy.ports[0]) as other:
        tools = [{"type": "function", "function": function}]
        choice = choice_of(other, streamed, tools=tools, messages=HI)
        flat: Any = {"type": "function", "strict": False, **function}
        response = response_of(other, streamed, tools=[flat], input="hi")
    front_proxy.check(mark)
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    assert (message.content[1].input, message.stop_reason) == (ARGUMENTS, "tool_use")
    (call,) = choice.message.tool_calls
    assert (json.loads(call.function.arguments), choice.finish_reason) == (ARGUMENTS, "tool_calls")
    assert [item.type for item in response.output] == ["reasoning", "function_call"]
    assert json.loads(response.output[1].arguments) == ARGUMENTS


@pytest.mark.long
def test_a_network_that_cuts_anywhere_changes_nothing(
    proxy_folder: Path, model: ByPathServer
) -> None:
    text = "<think>Hm.</think>Look 🙂\n\n" + WRITTEN["glm"].write([("get_weather", ARGUMENTS)])
    model.rows[CHAT] = Says(steps=stream(*text))
    with (
        in_small_pieces(model.address, 7) as address,
        start_proxy([f"reverse:{address}"], [], proxy_folder, "pieces") as proxy,
        anthropic_client(proxy.ports[0]) as client,
    ):
        message = message_of(client, True, tools=[TOOL], messages=HI)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert (message.content[1].text, message.content[2].input) == ("Look 🙂", ARGUMENTS)


# What a person is told.


def test_comment_log_and_transcripts_say_where_calls_were_read_from(
    proxy_folder: Path, model: ByPathServer, tmp_path: Path
) -> None:
    calls: Calls = [("get_weather", {"city": city}) for city in ("Oslo", "Rome")]
    called, flows = WRITTEN["hermes"].write(calls), tmp_path / "flows"
    options = ["-w", str(flows), "--set", "think_print=true"]
    with start_proxy([f"reverse:{model.address}"], options, proxy_folder, "told-people") as proxy:
        model.rows[CHAT] = [says(text, True) for _ in LOOPS for text in (called, "So.")]
        for client in LOOPS:
            LOOPS[client](proxy.ports[0], True, IN_BOTH)
        proxy.wait_for("2 calls read from text: hermes", count=len(LOOPS))
        proxy.wait_for(r"→ get_weather \S+, read from text \(hermes\)", count=2 * len(LOOPS))
    with flows.open("rb") as file:
        kept = [flow for flow in FlowReader(file).stream() if isinstance(flow, HTTPFlow)]
    read = [flow for flow in kept if "2 calls read from text: hermes" in flow.comment]
    assert [flow.request.path for flow in read] == [
        "/v1/messages",
        "/v1/chat/completions",
        "/v1/responses",
    ]
    view = ThinkingView()
    for flow in read:
        assert flow.response
        shown = view.prettify(
            flow.response.content or b"", Metadata(flow=flow, http_message=flow.response)
        )
        assert "calls read from: text (hermes)" in shown
