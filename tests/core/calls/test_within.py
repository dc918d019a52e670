"""Whole calls within a name."""

import pytest

from converter.core.calls.within import call_within

OFFERED = {"f", "g"}


@pytest.mark.parametrize(
    "written",
    [
        'f{"a": 1}',
        'functions.f({"a": 1})',
        'f\n{"a": 1}</tool_call>',
        '{"name": "f", "arguments": {"a": 1}}',
        '<tool_call>\n{"id": "x", "name": "f", "parameters": {"a": 1}}\n</tool_call>',
        '[{"name": "f", "arguments": "{\\"a\\": 1}"}]',
    ],
)
def test_a_call_is_found(written: str) -> None:
    assert call_within(written, OFFERED) == ("f", '{"a": 1}')


@pytest.mark.parametrize(
    "written",
    [
        "f",
        'h{"a": 1}',
        'f{"a": 1',
        'f{"a" 1}',
        'f{"a": 1} and more',
        '{"name": "h", "arguments": {}}',
        '{"name": "f", "path": "/"}',
        '{"name": "f", "arguments": {}, "input": {}}',
        'Say {"name": "f", "arguments": {}}',
        "{" * 300000,
    ],
)
def test_what_is_no_whole_call_of_an_offered_tool_is_none(written: str) -> None:
    assert call_within(written, OFFERED) == ("", "")
