"""Calls whose name stands in a header."""

import pytest

from converter.model.events import Text, ToolCall
from converter.parsing.tool_calls.header_body import HEADER_LIMIT
from tests.parsing.tool_calls.test_json_body import read


@pytest.mark.parametrize(
    "header",
    [
        "[TOOL_CALLS]f",
        "[TOOL_CALLS] f ",
        "[TOOL_CALLS]f[ARGS]",
        "[TOOL_CALLS]f[CALL_ID]a1b2[ARGS] ",
        "<|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>",
        "<|tool_call_begin|> f <|tool_call_argument_begin|>\n",
        "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        "<|channel|>commentary to=f<|message|>",
        "<|channel|>analysis to=functions.f code<|message|>",
        "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>",
    ],
)
def test_the_name_is_found_in_the_header(header: str) -> None:
    (call,) = read(header + '{"a": 1}')
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("f", '{"a": 1}')


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS]g[ARGS]{}",
        "[TOOL_CALLS]f and then {}",
        "[TOOL_CALLS]f",
        "[TOOL_CALLS]" + "f" * HEADER_LIMIT + " {}",
        "<|tool_call_begin|>f{}",
        "<|channel|>commentary to=functions.f {}",
        "<｜tool▁call▁begin｜>function f {}",
    ],
)
def test_what_is_no_header_comes_back(text: str) -> None:
    assert read(text) == [Text(text)]


ALONE = [
    "<|tool_call_begin|>functions.{}:0<|tool_call_end|>",
    "<|tool_call_begin|>{}<|tool_call_argument_begin|><|tool_call_end|>",
    "<|tool_calls_section_begin|><|tool_call_begin|>{}:0\n<|tool_calls_section_end|>",
    "<｜tool▁call▁begin｜>{}<｜tool▁call▁end｜>",
    "<｜tool▁call▁begin｜>{}<｜tool▁sep｜> <｜tool▁call▁end｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n```<｜tool▁call▁end｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```<｜tool▁call▁end｜>",
    "<|channel|>commentary to=functions.{}<|message|><|call|>",
    "<tool_call>function\n{}\n</tool_call>",
]


@pytest.mark.parametrize("written", ALONE)
def test_a_name_alone_is_a_call_where_the_tool_needs_no_argument(written: str) -> None:
    (call,) = read(written.format("f"))
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("f", "{}")
    for other in ("needs", "unknown"):
        text = written.format(other)
        assert read(text) == [Text(text)]


def test_a_header_of_blanks_is_looked_at_once() -> None:
    """Minutes if blanks were divided among the parts of the header in every way."""
    blanks = " " * (HEADER_LIMIT // 2 - 1)
    text = f"<｜tool▁call▁begin｜>{blanks}f{blanks}!{{" * 100
    assert read(text) == [Text(text)]


def test_a_header_of_words_for_the_user_is_no_text() -> None:
    said = "<|from|>assistant\n<|recipient|>all\n<|content|>Hello, all."
    called = "<|from|>assistant\n<|recipient|>f\n<|content|>{}<|stop|>"
    assert read(said) == [Text("Hello, all.")]
    text, call = read(said + called)
    assert (text, isinstance(call, ToolCall)) == (Text("Hello, all."), True)
