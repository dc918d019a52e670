"""Calls whose parameters are elements."""

import json

import pytest

from converter.model.events import Text, ToolCall
from converter.parsing.tool_calls.values import NESTED_LIMIT
from tests.parsing.tool_calls.test_tag_body import read

MARK = "]<]minimax[>["


def written(text: str) -> str:
    """The text with `#` for the mark."""
    return text.replace("#", MARK)


@pytest.mark.parametrize(
    ("inner", "wanted"),
    [
        ("#<path>007#</path>", {"path": "007"}),
        ("#<path>#</path>", {"path": ""}),
        ("#<tags>#<item>a#</item>#<item>b#</item>#</tags>", {"tags": ["a", "b"]}),
        ("#<tags>[]#</tags>", {"tags": []}),
        ("#<meta>#<a>1#</a>\n#<b>#<item>x#</item>#</b>#</meta>", {"meta": {"a": 1, "b": ["x"]}}),
        ('#<meta>{"a": 1}#</meta>', {"meta": {"a": 1}}),
        ("#<path><b> </path>#</path>", {"path": "<b> </path>"}),
        ("\n#<path>a#</path>\n#<content>null#</content>\n", {"path": "a", "content": None}),
        ("", {}),
    ],
)
def test_elements_become_arguments(inner: str, wanted: object) -> None:
    (call,) = read(
        written(f'#<tool_call>#<invoke name="write_file">{inner}#</invoke>#</tool_call>')
    )
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == wanted


@pytest.mark.parametrize(
    "inner", ["#<path>a", "#<path>a#</content>", "#<tags>#<item>", "#<a>" * (NESTED_LIMIT + 9)]
)
def test_elements_that_do_not_end_leave_the_call_open(inner: str) -> None:
    call = read(written(f'#<invoke name="write_file">{inner}'))[0]
    assert isinstance(call, ToolCall)
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


@pytest.mark.parametrize("text", ['#<invoke name="now"> is', "#<tool_call> is", '#<invoke name="x'])
def test_what_is_no_call_comes_back(text: str) -> None:
    assert read(written(text)) == [Text(written(text))]
