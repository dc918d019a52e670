import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.responses.tools import (
    CALL_KINDS,
    KIND_OF_ITEM,
    NAME_LIMIT,
    Toolbox,
    ToolName,
    flat_name,
    free_text_in,
    name_fields,
)
from converter.core.model.conversation import RequestError, Tool
from converter.core.wire.checked import Fields
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def offered(*tools: dict[str, Any]) -> Toolbox:
    toolbox = Toolbox()
    for tool in tools:
        toolbox.offer(Fields(tool))
    return toolbox


def function(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **fields}


def namespace(name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": "about", "tools": [*tools]}


def test_a_flat_function_is_offered_as_it_is() -> None:
    toolbox = offered(function("f", description="d", parameters={"type": "object"}, strict=True))
    assert toolbox.tools == [Tool("f", {"type": "object"}, "d", True)]
    assert toolbox.find("f") == ToolName("function", "f")


def test_a_function_without_parameters_takes_none() -> None:
    assert offered(function("f", parameters=None)).tools[0].input_schema == {
        "type": "object",
        "properties": {},
    }


def test_a_namespace_is_joined_and_mapped_back() -> None:
    toolbox = offered(namespace("mcp__m", function("f", description="d"), function("g")))
    assert [(tool.name, tool.description) for tool in toolbox.tools] == [
        ("mcp__m__f", "about\n\nd"),
        ("mcp__m__g", ""),
    ]
    assert toolbox.find("mcp__m__g") == ToolName("function", "g", "mcp__m")
    assert toolbox.function_name("g", "mcp__m") == "mcp__m__g"


def test_a_custom_tool_of_a_namespace_stays_custom() -> None:
    toolbox = offered(namespace("n", {"type": "custom", "name": "c"}))
    assert toolbox.find("n__c") == ToolName("custom", "c", "n")


@pytest.mark.parametrize("name", ["g", "mcp__m.g"])
def test_a_bare_or_dotted_name_counts_when_it_fits_one_tool(name: str) -> None:
    one = namespace("mcp__m", function("g"))
    assert offered(one).find(name) == ToolName("function", "g", "mcp__m")
    two = namespace("mcp__o", function("g"))
    expected = ToolName("function", name) if name == "g" else ToolName("function", "g", "mcp__m")
    assert offered(one, two).find(name) == expected


def test_a_name_that_nobody_offered_is_a_function() -> None:
    assert offered().find("f") == ToolName("function", "f")


def test_two_tools_whose_joined_names_meet_stay_apart() -> None:
    toolbox = offered(namespace("a", function("b__c")), namespace("a__b", function("c")))
    assert [tool.name for tool in toolbox.tools] == ["a__b__c", "a__b__c_2"]
    assert toolbox.find("a__b__c_2") == ToolName("function", "c", "a__b")
    assert toolbox.function_name("c", "a__b") == "a__b__c_2"


def test_a_tool_offered_twice_is_offered_once() -> None:
    assert len(offered(function("f"), function("f")).tools) == 1


def test_a_custom_tool_tells_its_grammar() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    (tool,) = offered({"type": "custom", "name": "c", "description": "d", "format": grammar}).tools
    assert tool.description.startswith("d\n\n")
    assert "lark grammar:\nstart: WORD" in tool.description
    assert tool.input_schema["required"] == ["input"]


@pytest.mark.parametrize("tool", ROWS["a tool of openais servers is left out by name"])
def test_a_tool_of_openais_servers_is_left_out_by_name(tool: dict[str, Any]) -> None:
    toolbox = offered(tool)
    assert (toolbox.tools, toolbox.left_out_types) == ([], [tool["type"]])


@pytest.mark.parametrize("kind", ["web_search", "namespace"])
def test_a_namespaces_tool_of_another_kind_is_left_out(kind: str) -> None:
    """Offered as a function, its call had no form to come back in."""
    inner = {"type": kind, "name": "x"}
    toolbox = offered({"type": "namespace", "name": "n", "tools": [inner]})
    assert (toolbox.tools, toolbox.left_out_types) == ([], [kind])


def test_a_search_for_tools_is_a_function_of_its_kind() -> None:
    toolbox = offered({"type": "tool_search", "execution": "client"})
    (search,) = toolbox.tools
    assert (search.name, search.input_schema["required"]) == ("tool_search", ["query"])
    assert search.description
    assert toolbox.find(search.name) == ToolName("tool_search", "tool_search")


def test_a_tool_without_a_name_is_refused_with_its_path() -> None:
    with pytest.raises(RequestError) as raised:
        Toolbox().offer(Fields({"type": "function"}, "tools.0"))
    assert raised.value.path == "tools.0.name"


PARTS = st.text(st.sampled_from("aB_-.é "), min_size=1, max_size=70)


@given(st.lists(st.tuples(PARTS, PARTS), max_size=6))
def test_every_tool_has_a_name_of_its_own_that_leads_back(pairs: list[tuple[str, str]]) -> None:
    toolbox = offered(*(namespace(space, function(name)) for space, name in pairs))
    assert len({tool.name for tool in toolbox.tools}) == len(toolbox.tools) == len({*pairs})
    for space, name in pairs:
        flat = toolbox.function_name(name, space)
        assert flat.isascii()
        assert len(flat) <= NAME_LIMIT
        assert toolbox.find(flat) == ToolName("function", name, space)


def test_a_name_too_long_keeps_its_head() -> None:
    name = flat_name("f" * 80, "n")
    assert len(name) == NAME_LIMIT
    assert name.startswith("n__fff")
    assert name != flat_name("f" * 81, "n")


INPUTS: dict[str, dict[str, Any]] = {
    "function": {"a": 1},
    "custom": {"input": "text"},
    "tool_search": {"query": "q", "limit": 3},
}


def test_every_kind_is_tried() -> None:
    assert INPUTS.keys() == CALL_KINDS.keys() == set(KIND_OF_ITEM.values())


@pytest.mark.parametrize("kind", INPUTS)
def test_what_a_reply_says_is_what_the_history_gives_back(kind: str) -> None:
    row = CALL_KINDS[kind]
    item = row.item_fields(ToolName(kind, "f"), INPUTS[kind])
    assert row.read_input(Fields(json.loads(json.dumps(item)))) == INPUTS[kind]


def test_a_name_comes_with_its_namespace() -> None:
    assert name_fields(ToolName("function", "f", "n")) == {"name": "f", "namespace": "n"}
    assert name_fields(ToolName("function", "f")) == {"name": "f"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"input": "a"}, "a"),
        ({"arguments": "*** Begin Patch"}, "*** Begin Patch"),
        ({"patch": "a"}, "a"),
        ({"n": 1}, '{"n": 1}'),
        ({}, ""),
    ],
)
def test_a_custom_tools_text_is_read_wherever_the_model_put_it(
    arguments: dict[str, Any], text: str
) -> None:
    assert free_text_in(arguments) == text
