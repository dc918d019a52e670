"""The tools of a Messages request."""

import pytest

from converter.core.dialects.anthropic.request_reader import read
from converter.core.model.conversation import ToolChoice

HI = {"role": "user", "content": "hi"}


TOOL = {"name": "f", "description": "does f", "input_schema": {"type": "object"}}


def ask(**fields: object) -> dict[str, object]:
    return {"model": "tiny", "max_tokens": 2048, "messages": [HI], **fields}


@pytest.mark.parametrize(
    "kind",
    [
        "web_search_20250305",
        "web_fetch_20250910",
        "code_execution_20250825",
        "bash_20250124",
        "text_editor_20250728",
        "mcp_toolset",
    ],
)
def test_a_tool_of_anthropics_is_left_out_with_one_line(kind: str) -> None:
    request = read(ask(tools=[{"type": kind, "name": "theirs"}, TOOL]))
    assert [tool.name for tool in request.tools] == ["f"]
    assert len(request.notes) == 1
    assert kind in request.notes[0]
    assert "\n" not in request.notes[0]


def test_many_tools_of_anthropics_are_one_line_each() -> None:
    theirs = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use"},
            {"type": "web_search_tool_result"},
            {"type": "server_tool_use"},
        ],
    }
    tools = [
        {"type": "web_search_20250305", "name": "a"},
        {"type": "web_fetch_20250910", "name": "b"},
    ]
    assert read(ask(messages=[HI, theirs, HI], tools=tools)).notes == (
        "tools left out: web_search_20250305, web_fetch_20250910: only Anthropic's models and servers know them",
        "blocks left out: server_tool_use, web_search_tool_result: no local server knows them",
    )


def test_demanding_a_tool_that_was_left_out_lets_the_model_choose() -> None:
    theirs = {"type": "web_search_20250305", "name": "web_search"}
    request = read(ask(tools=[TOOL, theirs], tool_choice={"type": "tool", "name": "web_search"}))
    assert request.tool_choice == ToolChoice("auto")
    assert len(request.notes) == 2
