"""The tools of a request, in either dialect."""

from typing import Any

import pytest

from converter.core.dialects.request_facts import (
    call_ids,
    expected_of,
    forbids_calls,
    grammar_of,
    offered,
    tool_schemas,
)
from converter.core.reading.beginning import Grammar
from converter.core.reading.reading import Expected

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
OPENAI: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
}
ANTHROPIC: dict[str, Any] = {"tools": [{"name": "f", "input_schema": SCHEMA}]}
BOTH = pytest.mark.parametrize("body", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


@BOTH
def test_names_and_schemas_are_read(body: dict[str, Any]) -> None:
    tools = offered(body)
    assert tools
    assert (tools.schemas, tools.parallel, tools.wants_json) == ({"f": SCHEMA}, True, False)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "function": {"name": "f", "parameters": None}},
        {"name": "f"},
        {"type": "bash_20250124", "name": "f"},
    ],
)
def test_a_tool_without_a_schema_has_an_empty_one(tool: object) -> None:
    tools = offered({"tools": [tool]})
    assert tools
    assert tools.schemas == {"f": {}}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tools": []},
        {"tools": None},
        {"tools": "f"},
        {"tools": [None, 1, {}, {"name": ""}, {"name": 1}, {"function": {}}]},
        OPENAI | {"tool_choice": "none"},
        ANTHROPIC | {"tool_choice": {"type": "none"}},
    ],
)
def test_a_request_may_offer_none(body: dict[str, Any]) -> None:
    assert offered(body) is None


def test_a_tool_that_takes_a_text_is_listed_by_name_but_is_no_function() -> None:
    body: dict[str, Any] = {"tools": [{"type": "custom", "custom": {"name": "patch"}}]}
    assert tool_schemas(body) == {"patch": {}}
    assert offered(body) is None


def test_the_ids_of_calls_with_a_text_are_taken() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    assert call_ids({"messages": [{"role": "assistant", "tool_calls": [call]}]}) == ["a"]


TWO: dict[str, Any] = {"tools": [*OPENAI["tools"], {"type": "function", "function": {"name": "g"}}]}
LIST = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("auto", {"f", "g"}),
        ("required", {"f", "g"}),
        ({"type": "auto"}, {"f", "g"}),
        ({"type": "any"}, {"f", "g"}),
        ({"type": "function", "function": {"name": "g"}}, {"g"}),
        ({"type": "tool", "name": "f"}, {"f"}),
        ({"type": "allowed_tools", "allowed_tools": LIST}, {"g"}),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "g"}]}, {"g"}),
    ],
)
def test_a_choice_may_allow_some_of_them_only(choice: object, names: set[str]) -> None:
    tools = offered(TWO | {"tool_choice": choice})
    assert tools
    assert set(tools.schemas) == names


def test_a_choice_of_a_tool_that_is_not_offered_allows_none() -> None:
    assert offered(OPENAI | {"tool_choice": {"type": "tool", "name": "other"}}) is None


@pytest.mark.parametrize(
    "body",
    [
        OPENAI | {"parallel_tool_calls": False},
        ANTHROPIC | {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ],
)
def test_it_may_want_one_call_at_a_time(body: dict[str, Any]) -> None:
    tools = offered(body)
    assert tools
    assert not tools.parallel


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_it_may_want_json(kind: str) -> None:
    tools = offered(OPENAI | {"response_format": {"type": kind}})
    assert tools
    assert tools.wants_json


def test_text_is_no_json() -> None:
    tools = offered(OPENAI | {"response_format": {"type": "text"}, "tool_choice": "auto"})
    assert tools
    assert not tools.wants_json


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_object"}},
        {"text": {"format": {"type": "json_schema"}}},
        {"output_config": {"format": {"type": "json_schema"}}},
        {"format": "json"},
        {"guided_json": {"type": "object"}},
        {"structured_outputs": {"json": {"type": "object"}}},
        {**OPENAI, "tool_choice": "required"},
        {**OPENAI, "tool_choice": {"type": "any"}},
        {**OPENAI, "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {**OPENAI, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required"}}},
    ],
)
def test_a_grammar_makes_json(body: dict[str, Any]) -> None:
    assert grammar_of(body) is Grammar.JSON


@pytest.mark.parametrize(
    "body",
    [
        {"guided_choice": ["yes", "no"]},
        {"guided_regex": "a+"},
        {"structured_outputs": {"choice": ["yes"]}},
        {"grammar": "root ::= 'a'"},
        {"ebnf": "root ::= 'a'"},
    ],
)
def test_a_grammar_makes_another_answer(body: dict[str, Any]) -> None:
    assert grammar_of(body) is Grammar.OTHER


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"response_format": {"type": "text"}, "grammar": None},
        {"tool_choice": "required"},
        {**OPENAI, "tool_choice": "auto"},
        {**OPENAI, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}},
    ],
)
def test_no_grammar_makes_the_answer(body: dict[str, Any]) -> None:
    assert grammar_of(body) is Grammar.NONE


def test_a_request_tells_how_its_reply_is_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "assistant", "tool_calls": [call]}]
    body = {**OPENAI, "model": "m", "messages": turns, "stop": "END"}
    expected = expected_of(body)
    assert (expected.model, expected.stops) == ("m", ("END",))
    assert expected.calls.ids == {"c1"}
    assert expected.calls.offered
    assert expected.calls.read == offered(OPENAI)


@pytest.mark.parametrize(
    ("body", "forbids"),
    [
        (OPENAI, False),
        (OPENAI | {"tool_choice": "auto"}, False),
        (OPENAI | {"tool_choice": "none"}, True),
        (ANTHROPIC | {"tool_choice": {"type": "none"}}, True),
        ({"tool_choice": "none"}, False),
    ],
)
def test_a_request_may_forbid_the_calls_of_its_tools(body: dict[str, Any], forbids: bool) -> None:
    assert forbids_calls(body) is forbids
    assert expected_of(body).calls.forbidden is forbids


def test_a_request_that_says_nothing_expects_nothing() -> None:
    assert expected_of({}) == Expected()
