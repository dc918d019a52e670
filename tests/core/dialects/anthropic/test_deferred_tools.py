"""Tools that a model gets once a search has found them."""

from typing import Any

import pytest

from converter.core.dialects.anthropic.deferred_tools import order_of_finds
from converter.core.dialects.anthropic.request_reader import read
from converter.core.wire.checked import Fields

SCHEMA = {"type": "object"}


def tool(name: str, deferred: bool = False, **fields: object) -> dict[str, Any]:
    definition = {"name": name, "input_schema": SCHEMA, **fields}
    return {**definition, "defer_loading": True} if deferred else definition


def finding(call: str, *names: str) -> list[dict[str, Any]]:
    """A call of the search, and its result."""
    references = [{"type": "tool_reference", "tool_name": name} for name in names]
    use = {"type": "tool_use", "id": call, "name": "ToolSearch", "input": {"query": "x"}}
    result = {"type": "tool_result", "tool_use_id": call, "content": references}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def offered(tools: list[dict[str, Any]], *turns: dict[str, Any], **fields: object) -> list[str]:
    messages = [{"role": "user", "content": "hi"}, *turns]
    body = {"model": "m", "max_tokens": 9, "tools": tools, "messages": messages, **fields}
    return [each.name for each in read(body).tools]


HOLDER = tool("DeferredToolPlaceholder", True)
TOOLS = [tool("Bash"), tool("ToolSearch"), HOLDER, tool("Write")]


def with_loaded(*names: str) -> list[dict[str, Any]]:
    """As Claude Code 2.1.332 sends them: in the order of their names, the holder last but one."""
    return sorted([*TOOLS, *(tool(name, True) for name in names)], key=lambda each: each["name"])


def test_what_no_search_has_returned_is_not_offered() -> None:
    assert offered(TOOLS) == ["Bash", "ToolSearch", "Write"]


def test_each_find_leaves_the_tools_before_it_where_they_were() -> None:
    turns, before = list[dict[str, Any]](), offered(TOOLS)
    names = ["WebFetch", "NotebookEdit", "CronCreate"]
    for number, name in enumerate(names, 1):
        turns += finding(f"call_{number}", name)
        now = offered(with_loaded(*names[:number]), *turns)
        assert now == [*before, name]
        before = now


def test_several_finds_of_one_search_are_in_its_order() -> None:
    turns = finding("call_1", "Z", "A")
    assert offered(with_loaded("A", "Z"), *turns) == ["Bash", "ToolSearch", "Write", "Z", "A"]


def test_a_find_that_the_client_no_longer_offers_is_not_offered() -> None:
    assert offered(TOOLS, *finding("call_1", "Gone")) == ["Bash", "ToolSearch", "Write"]


def test_a_tool_that_must_be_called_is_offered() -> None:
    choice = {"type": "tool", "name": "WebFetch"}
    assert offered(with_loaded("WebFetch"), tool_choice=choice)[-1] == "WebFetch"


def test_beside_a_search_of_anthropics_servers_all_are_offered() -> None:
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    assert offered([search, tool("a"), tool("b", True)]) == ["a", "b"]


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "x",
        [None],
        [{"content": "x"}],
        [{"content": [None, {"content": 1}]}],
        [{"content": [{"content": [{"type": "tool_reference", "tool_name": 1}]}]}],
    ],
)
def test_what_refers_to_nothing_finds_nothing(messages: object) -> None:
    assert order_of_finds(Fields({"messages": messages}), ()) == []
