"""Whole calls, and arguments, within a name."""

import json

import pytest

from converter.core.reading.call_in_name import call_in_name

PROPERTIES = {"a": {"type": "integer"}, "city": {"type": "string"}}
TOOLS: dict[str, dict[str, object]] = {
    name: {"type": "object", "properties": PROPERTIES} for name in ("f", "g")
}


@pytest.mark.parametrize(
    "written",
    [
        'f{"a": 1}',
        'functions.f({"a": 1})',
        'f\n{"a": 1}</tool_call>',
        'f[ARGS]{"a": 1}',
        '{"name": "f", "arguments": {"a": 1}}',
        '<tool_call>\n{"id": "x", "name": "f", "parameters": {"a": 1}}\n</tool_call>',
        '[{"name": "f", "arguments": "{\\"a\\": 1}"}]',
        '{"name": "f", "a": 1}',
        'f a="1"',
        '<function=f a="1">',
        "f<arg_key>a</arg_key><arg_value>1</arg_value>",
        "f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
        "f<parameter=a>1</parameter>",
        "<function=f><parameter=a>1</parameter></function>",
        "f(a=1)",
        "call:f{a:1}",
    ],
)
def test_a_call_is_read(written: str) -> None:
    name, arguments = call_in_name(written, TOOLS)
    assert name == "f"
    assert json.loads(arguments) == {"a": 1}


def test_gemmas_quotes_are_no_text() -> None:
    name, arguments = call_in_name('call:f{city:<|"|>Oslo<|"|>}', TOOLS)
    assert (name, json.loads(arguments)) == ("f", {"city": "Oslo"})


def test_an_empty_object_is_all_of_the_arguments_where_it_is_written() -> None:
    assert call_in_name("f({})", TOOLS) == ("f", "{}")
    assert call_in_name("f x", TOOLS) == ("", "")


@pytest.mark.parametrize(
    "written",
    [
        "f",
        'h{"a": 1}',
        'f{"a" 1}',
        'f{"a": 1} and more',
        'f b="1"',
        '{"name": "h", "arguments": {}}',
        '{"name": "f", "path": "/"}',
        'Say {"name": "f", "arguments": {}}',
        "f(a=1) g(a=2)",
        "{" * 300000,
    ],
)
def test_what_is_no_whole_call_of_an_offered_tool_is_none(written: str) -> None:
    assert call_in_name(written, TOOLS) == ("", "")
