"""The slow reading of tool calls in text, against the parser."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Text, ToolCall, joined
from converter.core.reading.tool_calls.head import Expectations
from laws.call_oracle import calls, is_same_call, without_calls
from tests.support.call_engine import call_engine
from tests.support.strategies import law
from tests.support.tool_call_texts import TOOLS, WRITTEN

NAMES = [name for name, written in WRITTEN.items() if not written.whole]


@pytest.mark.parametrize("name", WRITTEN)
def test_it_reads_every_form(name: str) -> None:
    arguments = {"city": "Oslo", "days": 3, "metric": True}
    others = {"path": "a", "tags": ["é", "b"], "meta": {"a": [1, "x"]}}
    whole = WRITTEN[name].whole
    text = WRITTEN[name].write([("get_weather", arguments), ("write_file", others)])
    text = text if whole else f"Look.\n\n{text}\n\nSo."
    first, second = calls(text, TOOLS, whole)
    assert is_same_call(first, "get_weather", arguments)
    assert is_same_call(second, "write_file", others)
    assert not is_same_call(first, "write_file", others)
    assert not is_same_call(first, "get_weather", {**arguments, "city": "Rome"})
    assert not is_same_call(first, "get_weather", "no object")
    assert without_calls(text, [first, second]) == ("" if whole else "Look.So.")


@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in NAMES])
def test_a_call_without_a_mark_is_the_whole_reply_or_none(name: str) -> None:
    text = WRITTEN[name].write([("get_weather", {"city": "Oslo"})])
    assert len(calls(text, TOOLS, whole=True)) == 1
    assert calls(text, TOOLS) == []
    assert (
        calls(f"Look: {text}", TOOLS, whole=True) == calls(f"{text} So.", TOOLS, whole=True) == []
    )
    assert calls(text, {"other": {}}, whole=True) == []


@pytest.mark.parametrize(
    "text",
    [
        "no call",
        '`<tool_call>{"name": "now"}</tool_call>`',
        '```\n<tool_call>{"name": "now"}</tool_call>\n```',
        '<tool_call>{"name": "other"}</tool_call>',
        "<tool_call>{now}</tool_call>",
        "<tool_call>other</tool_call>",
    ],
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert calls(text, TOOLS) == []
    assert without_calls(text, []) == text


ALONE = [
    "<|tool_call_begin|>functions.{}:0<|tool_call_end|>",
    "<|tool_call_begin|>{}<|tool_call_argument_begin|><|tool_call_end|>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n```<｜tool▁call▁end｜>",
]
"""A name alone: a call where the tool needs no argument."""
OPEN = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</tool_call>"
PIECES = ["Look.", "\n\n", "So\n", "`code` ", "é🙂", "other."]
PIECES += [written.format(name) for written in ALONE for name in ("now", "get_weather", "other")]
PIECES += [
    WRITTEN[name].write([call])
    for name in NAMES
    for call in (("get_weather", {"city": "Oslo"}), ("now", {}), ("other", {}))
]
PIECES.append('<tool_call>{"name": "now", "arguments": {oops}}</tool_call>')
PIECES.append('<|tool_call>call:get_weather(city="Oslo")<tool_call|>')
_EARLY = [
    '{"name": "get_weather"}, {"city": "Oslo"}',
    '{"name": "get_weather", "arguments": {}}, {"arguments": {"city": "Oslo"}}',
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"city": "Oslo"}',
    '{"name": "now"}, {"name": "get_weather", "arguments": {"city": "Oslo"}}',
    '{"name": "get_weather"}, {"where": "Oslo"}',
]
"""A brace too early, and what stands behind it."""
PIECES += [f"<tool_call>{written}</tool_call>" for written in _EARLY]
PIECES += [f"<TOOLCALL>[{written}]</TOOLCALL>" for written in _EARLY]
UNFINISHED = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"</tool_call>'
_ENDS = st.sampled_from([[], [OPEN, "So."], [OPEN, OPEN], [UNFINISHED, OPEN]])
_TEXTS = st.tuples(st.lists(st.sampled_from(PIECES), max_size=5), _ENDS).map(
    lambda texts: "\n".join([*texts[0], *texts[1]])
)


@law(200)
@given(_TEXTS)
def test_it_agrees_with_the_parser(text: str) -> None:
    parser = call_engine(Expectations(TOOLS))
    events = joined([*parser.feed(text), *parser.flush()])
    read = [event for event in events if isinstance(event, ToolCall)]
    read_by_oracle = calls(text, TOOLS)
    assert len(read) == len(read_by_oracle)
    for event, call in zip(read, read_by_oracle, strict=True):
        assert is_same_call(call, event.name, json.loads(event.arguments))
    text_left = "".join(event.text for event in events if isinstance(event, Text))
    assert text_left == without_calls(text, read_by_oracle)
