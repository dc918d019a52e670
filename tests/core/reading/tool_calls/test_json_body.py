"""Calls as JSON: keys in any order, arguments as object or string, lists, mistakes of models."""

import json

import pytest

from converter.core.model.events import Event, Text, ToolCall, joined
from converter.core.reading.json_extent import HEADER_LIMIT
from converter.core.reading.tool_calls.place import Expectations
from converter.core.reading.tool_calls.source import NAME_LIMIT
from tests.support.call_engine import call_engine

TOOLS: dict[str, dict[str, object]] = {"f": {}, "é": {}, "needs": {"required": ["city"]}}


def read(text: str) -> list[Event]:
    """What comes of it, whole and character by character."""
    results = []
    for pieces in ([text], list(text)):
        parser = call_engine(Expectations(TOOLS))
        events = [event for piece in pieces for event in parser.feed(piece)]
        results.append(joined([*events, *parser.flush()]))
    assert results[0] == results[1]
    return results[0]


def arguments(written: str) -> list[str]:
    events = read(f"<tool_call>{written}</tool_call>")
    assert not [event for event in events if isinstance(event, Text)]
    return [event.arguments for event in events if isinstance(event, ToolCall)]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', '{"a": 1}'),
        ('{"name":"f","arguments":{"a":1}}', '{"a":1}'),
        ('{"arguments": {"a": 1}, "name": "f"}', '{"a": 1}'),
        ('{"name": "f", "parameters": {"a": 1}}', '{"a": 1}'),
        ('{"name": "f", "args": {"a": 1}}', '{"a": 1}'),
        ('{"tool_name": "f", "parameters": {}}', "{}"),
        ('{"function": "f", "arguments": {}}', "{}"),
        ('{"function": {"name": "f", "arguments": {"a": 1}}, "id": "x"}', '{"a": 1}'),
        ('{"name": "f"}', "{}"),
        ('{"name": "f", "arguments": null}', "{}"),
        ('{"name": "f", "arguments": ""}', "{}"),
        ('{"name": "f", "arguments": "{}"}', "{}"),
        (
            r'{"name": "f", "arguments": "{\"a\": \"\\u00e9\\n\ud83d\ude42\"}"}',
            '{"a": "\\u00e9\\n🙂"}',
        ),
        ('{"id": [1, {"x": "}"}], "n": null, "b": "", "name": "f"}', "{}"),
        ('{"name": "f", "input": {"a": 1}}', '{"a": 1}'),
        ('{"name": "f", "params": {"a": 1}}', '{"a": 1}'),
        ('{"name": "f", "kwargs": {"a": 1}}', '{"a": 1}'),
        ('{"name": "f", "arguments": {"a": 1},}', '{"a": 1}'),
        ('{"name": "f", "arguments": {"a": 1}', '{"a": 1}'),
        ('{"name": "f", "arguments": {"a": 1}}}', '{"a": 1}'),
        ('{"name": "f", "arguments": {"a": "two\nlines"}}', '{"a": "two\\nlines"}'),
        ('{"name": "\\u00e9", "arguments": {}}', "{}"),
        ('{"name": "f", "arguments": {"a": {"b": [[], {}, "]"]}}}', '{"a": {"b": [[], {}, "]"]}}'),
        ("{'name': 'f', 'arguments': {'a': True}}", '{"a": true}'),
        ("{'name': 'f', 'arguments': None}", "{}"),
        ("""{'name': 'f', 'arguments': '{"a": "it\\'s"}'}""", '{"a": "it\'s"}'),
        ('{name: "f", arguments: {a: 1}}', '{"a": 1}'),
        ('{/* a call */ "name" : "f", "arguments": {}}', "{}"),
        (r'{"name": "f", "arguments": "{\"a\": \"\ud83d \d\"}"}', '{"a": "\ufffd \\\\d"}'),
    ],
)
def test_one_call_however_it_is_written(written: str, wanted: str) -> None:
    assert arguments(written) == [wanted]
    json.loads(wanted)


@pytest.mark.parametrize(
    "written",
    [
        '[{"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 2}}]',
        '[{"name": "f", "arguments": {"a": 1}} {"name": "f", "arguments": {"a": 2}}]',
        '{"name": "f", "arguments": {"a": 1}}\n{"name": "f", "arguments": {"a": 2}}',
        '{"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 2}}',
        "{'name': 'f', 'arguments': {\"a\": 1}}, {'name': 'f', 'arguments': {\"a\": 2}}",
        '[ { "name" : "f" , "arguments" : {"a": 1} } , {"name": "f", "arguments": {"a": 2}} ]\n',
    ],
)
def test_several_calls_however_they_are_listed(written: str) -> None:
    assert arguments(written) == ['{"a": 1}', '{"a": 2}']


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "[]",
        "[1]",
        "{name: f}",
        '{"name": 1}',
        '{"arguments": {}}',
        '{"name": "f", "arguments": 7}',
        '{"function": {"function": {"name": "f"}}}',
        f'{{"{"k" * NAME_LIMIT}": 1, "name": "f"}}',
        f'{{"name": "{"f" * (NAME_LIMIT + 1)}"}}',
        '{"name": "\\x", "arguments": {}}',
        '{"name": "f", "arguments": "\\ud83d, half a pair"}',
        '{"name": "f", "arguments": "and more"}',
        '{"name": "f", "arguments": {oops}}',
    ],
)
def test_what_is_no_call_comes_back(written: str) -> None:
    text = f"<tool_call>{written}</tool_call>"
    assert read(text) == [Text(text)]


@pytest.mark.parametrize(
    ("written", "wanted", "rest"),
    [
        ('{"name": "f", "arguments": {"a": 15:30}}', '{"a": 15', ":30}}</tool_call>"),
        ('{"name": "f", "arguments": {"a": tru3}}', '{"a": tru', "3}}</tool_call>"),
        ('{"name": "f", "arguments": {"a" 1}}', '{"a"', "1}}</tool_call>"),
        ('{"name": "f", "arguments": "{} and"}', "{", 'and"}</tool_call>'),
    ],
)
def test_arguments_that_are_no_json_stay_open_and_the_rest_is_text(
    written: str, wanted: str, rest: str
) -> None:
    call, text = read(f"<tool_call>{written}</tool_call>")
    assert isinstance(call, ToolCall)
    assert call.arguments.rstrip() == wanted
    assert text == Text(rest)


def test_apertus_names_a_call_by_its_key() -> None:
    text = '<|tools_prefix|>[{"f": {"a": 1}}, {"f": null}]<|tools_suffix|>'
    assert [event.arguments for event in read(text) if isinstance(event, ToolCall)] == [
        '{"a": 1}',
        "{}",
    ]
    for wrong in ('[{"f": {"a": 1}, "g": {}}]', "[{f: 1}]", '[{"f": 1}]'):
        events = read(f"<|tools_prefix|>{wrong}<|tools_suffix|>")
        assert isinstance(events[-1], Text)


def test_an_object_that_is_the_whole_reply_must_have_the_keys_of_a_call() -> None:
    assert isinstance(read('{"name": "f", "arguments": {}}')[0], ToolCall)
    for text in (
        '{"name": "f", "arguments": {}, "why": 1}',
        '{"name": "f"}',
        '{"why": 1, "name": "f"}',
    ):
        assert read(text) == [Text(text)]


# Calls whose name stands in a header.


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
    ("written", "wanted"),
    [
        ('{"a": 1}{"a": 1}', '{"a": 1}'),
        ('{}{"a": 1}', '{"a": 1}'),
        ('{} {"a": [1, "}"], "b": "é"}', '{"a": [1, "}"], "b": "é"}'),
        ('{}{"a": 1}{"a": 1}', '{"a": 1}'),
        ("{}{}", "{}"),
    ],
)
def test_arguments_that_are_written_twice_have_one_meaning(written: str, wanted: str) -> None:
    (call,) = read(f"[TOOL_CALLS]f[ARGS]{written}")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == (wanted, True)


@pytest.mark.parametrize("written", ['{"a": 1}{"a": 2}', '{"a": 1}{"b": 1}', '{"a": 1}{"a'])
def test_other_arguments_behind_those_of_a_call_leave_it_open(written: str) -> None:
    made = [event for event in read(f"[TOOL_CALLS]f[ARGS]{written}") if isinstance(event, ToolCall)]
    assert not any(event.ends for event in made)


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
