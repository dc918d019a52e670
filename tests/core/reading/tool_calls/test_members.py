"""Members beside the arguments: arguments as well, or the call is none. Never left out."""

import json

import pytest

from converter.core.model.events import Event, Text, ToolCall, joined
from converter.core.reading.tool_calls.members import AHEAD_LIMIT
from converter.core.reading.tool_calls.place import Expectations
from converter.core.wire.bounds import HELD_LIMIT
from tests.support.call_engine import call_engine

TOOLS: dict[str, dict[str, object]] = {
    "remove": {"properties": {"path": {"type": "string"}, "dry_run": {}, "id": {}, "force": {}}},
    "run": {"properties": {"arguments": {"type": "array"}, "input": {}, "name": {}}},
    "free": {},
}
WRAPPED = [
    "<tool_call>{}</tool_call>",
    "[TOOL_CALLS][{}]",
    "<|python_tag|>{}",
    "<TOOLCALL>[{}]</TOOLCALL>",
    "<|tool_call|>[{}]",
    "<longcat_tool_call>{}</longcat_tool_call>",
]


def read(text: str) -> tuple[list[Event], str]:
    """What comes of it, whole and character by character, and the tool of a broken call."""
    results = []
    for pieces in ([text], list(text)):
        parser = call_engine(Expectations(TOOLS))
        events = [event for piece in pieces for event in parser.feed(piece)]
        joint, broken = joined([*events, *parser.flush()]), parser.calls.broken
        results.append((joint, broken.name if broken else ""))
    assert results[0] == results[1]
    return results[0]


MEANT = [
    ('{"name": "remove", "path": "/x", "dry_run": true}', {"path": "/x", "dry_run": True}),
    ('{"path": "/x", "dry_run": True, "name": "remove"}', {"path": "/x", "dry_run": True}),
    ('{"name": "remove", "arguments": {"path": "/x"}, "force": 1}', {"path": "/x", "force": 1}),
    ('{"force": 1, "name": "remove", "arguments": {"path": "/x"}}', {"path": "/x", "force": 1}),
    ('{"name": "remove", "arguments": {"path": "/x"}}, "force": 1}', {"path": "/x", "force": 1}),
    ('{"name": "remove", "arguments": {}, "path": "/x"}', {"path": "/x"}),
    ('{"name": "remove", "arguments": null, "path": "/x"}', {"path": "/x"}),
    ('{"name": "remove", "arguments": "{\\"path\\": \\"/x\\"}", "force": 1}', {"path": "/x", "force": 1}),
    ('{"name": "remove", "with": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove", "with": "{\\"path\\": \\"/x\\"}"}', {"path": "/x"}),
    ('{"name": "remove", "arguments": {}, "parameters": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove", "arguments": {"path": "/x"}, "path": "/x"}', {"path": "/x"}),
    ('{"name": "remove", "id": "c1", "arguments": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove", "id": 7}', {"id": 7}),
    ('{"id": call_1, "name": "remove", "arguments": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove", "arguments": {"path": "/x"}, "type": function }', {"path": "/x"}),
    ('{"name": "remove", "id": call_1}', {"id": "call_1"}),
    ('{"name": "remove", "arguments": {"path": "/x"}, "note": null, "more": {}}', {"path": "/x"}),
    ('{"name": "remove", "path": \'/x, } y\'}', {"path": "/x, } y"}),
    ('{"function": {"name": "remove", "path": "/x"}, "force": 1}', {"path": "/x", "force": 1}),
    ('{"tool": "run", "name": "a", "input": {"x": 1}}', {"name": "a", "input": {"x": 1}}),
    ('{"name": "run", "arguments": {"input": 1}}', {"input": 1}),
    ('{"name": "run", "arguments": ["a"]}', {"arguments": ["a"]}),
    ('{"name": "remove"}, {"path": "/x"}', {"path": "/x"}),
    ('{"name": "remove"} {"path": "/x"}\n{"force": True}', {"path": "/x", "force": True}),
    ('{"name": "remove"}}{"path": "<think> }{ </tool_call>"}', {"path": "<think> }{ </tool_call>"}),
    ('{"name": "remove", "arguments": {}}, {"path": "/x"}', {"path": "/x"}),
    ('{"name": "remove", "arguments": null}; {"path": "/x"}', {"path": "/x"}),
    ('{"name": "remove"}, {"arguments": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove"}, {"with": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove"}, {"id": 7}', {"id": 7}),
    ('{"name": "remove"}, {"function": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove"}, {"tool": null, "path": "/x"}', {"path": "/x"}),
    ('{"name": "remove", "path": "/x"}, {"force": 1}', {"path": "/x", "force": 1}),
    ('{"name": "remove", "arguments": {"path": "/x"}}, {"path": "/x"}', {"path": "/x"}),
    ('{"function": {"name": "remove"}}, {"path": "/x"}', {"path": "/x"}),
    ('{"name": "remove"}, {}', {}),
    ('{"name": "run"}, {"name": "Bob"}', {"name": "Bob"}),
    ('{"name": "run"}, {"name": ["a"], "input": 1}', {"name": ["a"], "input": 1}),
    ('{"name": "remove"} "arguments": {"path": "/x"}}', {"path": "/x"}),
    ('{"name": "remove"}}\n"path": "/x"}', {"path": "/x"}),
    (f'{{"name": "remove"}}, {{"path": "{"x" * AHEAD_LIMIT}"}}', {"path": "x" * AHEAD_LIMIT}),
]  # fmt: skip


@pytest.mark.parametrize(("written", "wanted"), MEANT)
def test_what_the_schema_knows_is_an_argument(written: str, wanted: object) -> None:
    for form in WRAPPED:
        (call, *rest), _ = read(form.format(written))
        assert isinstance(call, ToolCall)
        assert json.loads(call.arguments) == wanted
        assert not rest


UNKNOWN = [
    '{"name": "remove", "where": "/x"}',
    '{"name": "remove", "where": {"place": "/x"}}',
    '{"name": "remove", "where": {"path": "/x", "more": 1}}',
    '{"name": "free", "path": "/x"}',
    '{"path": "/x", "path": "/y", "name": "remove"}',
    '{"name": "remove", "path": /x}',
    '{"name": "remove"}, {"where": "/x"}',
    '{"name": "remove"}, {"path": "/x", "where": 1}',
    '{"name": "remove"}, {"path": "/x"}, {"path": "/y"}',
    '{"name": "remove"}, {"path": /x}',
    '{"name": "remove"}, {"function": {"where": "/x"}}',
    '{"name": "remove"}, {"function": {"function": {"name": "remove"}}}',
    '{"name": "remove"}, {"tool": 7}',
    '{"name": "remove"}, {"tool": "x"}',
    '{"name": "remove"}, {"function": "x", "id": 7}',
    '{"name": "remove"}, {"function": {"pa',
    '{"name": "remove"}, {"path": "/x"',
    '{"name": "remove"}, {"pa',
    '{"name": "remove"}, "{\\"path\\": \\"/x\\"}"',
    '{"name": "remove"} "where": "/x"}',
    '{"name": "free"}, {"path": "/x"}',
]


@pytest.mark.parametrize("written", UNKNOWN)
def test_what_it_does_not_know_leaves_the_call_as_text(written: str) -> None:
    text = f"<tool_call>{written}</tool_call>"
    assert read(text) == ([Text(text)], "")


BROKEN = [
    '{"name": "remove", "arguments": {"path": "/x"}, "where": "/y"}',
    '{"name": "remove", "arguments": {"path": "/x"}, "path": "/y"}',
    '{"name": "remove", "arguments": {"path": "/x"}}, "where": "/y"}',
    '{"name": "remove", "arguments": {"path": "/x"}}, {"path": "/y"}',
    '{"name": "remove", "arguments": {"path": "/x"}}\n{"force": 1}',
    '{"name": "remove", "arguments": {}}, {"where": "/x"}',
    '{"name": "remove", "arguments": {}}, {"function": {"where": "/x"}}',
    pytest.param(
        f'{{"name": "remove", "arguments": {{"path": "{"x" * HELD_LIMIT}"}}, "force": 1}}',
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize("written", BROKEN, ids=range(len(BROKEN)))
def test_behind_arguments_that_went_out_it_breaks_the_call(written: str) -> None:
    events, broken = read(f"<tool_call>{written}</tool_call> and more")
    assert isinstance(events[0], ToolCall)
    assert (broken, events[0].ends) == ("remove", False)


@pytest.mark.parametrize("behind", ["", ",", ", ", "}"])
def test_a_reply_that_was_cut_behind_a_call_has_it(behind: str) -> None:
    (call, *rest), _ = read(f'<tool_call>{{"name": "remove"}}{behind}')
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ("{}", True)
    assert rest == ([Text(behind)] if behind else [])


@pytest.mark.parametrize("begun", ["{", '{"na', '{"name"', '{"function": {"na', '{"path": "/x'])
def test_an_object_that_was_cut_may_hold_the_arguments_of_a_call_without(begun: str) -> None:
    text = f'<tool_call>{{"name": "remove"}}, {begun}'
    assert read(text) == ([Text(text)], "")
    (call, *_), _ = read(f'<tool_call>{{"name": "remove", "arguments": {{"id": 1}}}}, {begun}')
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"id": 1}', True)


@pytest.mark.parametrize("begun", ['{"name": "fr', '{"id": 1, "function": {"name": "'])
def test_an_object_that_was_cut_behind_the_quote_of_a_name_is_another_call(begun: str) -> None:
    (call, *rest), _ = read(f'<tool_call>{{"name": "remove"}}, {begun}')
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends, rest) == ("{}", True, [Text(begun)])


TWO = [
    '{"name": "remove", "arguments": {}}, {"name": "free", "arguments": {}}',
    '{"name": "remove"} {"name": "free"}',
    '{"name": "remove"}, {"id": "1", "type": "function", "function": {"name": "free"}}',
    '{"name": "remove"}, {"arguments": {}, "name": "free"}',
    '{"name": "remove", "arguments": {}}, {"arguments": {}, "function": "free"}',
]


@pytest.mark.parametrize("written", TWO)
def test_an_object_with_a_name_is_another_call(written: str) -> None:
    for form in WRAPPED:
        calls, _ = read(form.format(written))
        made = [(it.name, it.arguments) for it in calls if isinstance(it, ToolCall)]
        assert made == [("remove", "{}"), ("free", "{}")]
        assert len(made) == len(calls)


@pytest.mark.parametrize("beside", ['"arguments": {}, "tool": "x"', '"tool": "x", "arguments": {}'])
def test_a_name_that_is_not_offered_is_one_beside_arguments(beside: str) -> None:
    call, text = read(f'<tool_call>{{"name": "remove"}}, {{{beside}}}</tool_call>')[0]
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends, text) == ("{}", True, Text(f"{{{beside}}}</tool_call>"))


def test_behind_arguments_any_name_is_one() -> None:
    (call, *rest), _ = read(
        '<tool_call>{"name": "remove", "arguments": {"id": 1}}, {"tool": "x"}</tool_call>'
    )
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends, bool(rest)) == ('{"id": 1}', True, True)


def test_members_beside_the_arguments_have_a_bound_together() -> None:
    names = [f"m{number}" for number in range(HELD_LIMIT // 1000)]
    beside = ", ".join(f'"{name}": "{"x" * 1000}"' for name in names)
    text = f'<tool_call>{{"name": "free", "arguments": {{"a": 1}}, {beside}}}</tool_call>'
    parser = call_engine(Expectations({"free": {"properties": {name: {} for name in names}}}))
    events = [
        event for at in range(0, len(text), 999) for event in parser.feed(text[at : at + 999])
    ]
    (call, *_) = joined([*events, *parser.flush()])
    assert isinstance(call, ToolCall)
    assert parser.calls.broken
    assert (call.ends, parser.calls.broken.name) == (False, "free")


def test_a_tools_name_is_a_call_though_the_tool_before_has_an_argument_name() -> None:
    calls, _ = read('<tool_call>{"name": "run"}, {"name": "free"}</tool_call>')
    assert [it.name for it in calls if isinstance(it, ToolCall)] == ["run", "free"]


def test_the_second_call_streams_before_it_is_whole() -> None:
    parser = call_engine(Expectations(TOOLS))
    began = '<tool_call>{"name": "remove"}, {"name": "remove", "arguments": {"path": "/x'
    events = [event for character in began for event in parser.feed(character)]
    first, second = (each for each in joined(events) if isinstance(each, ToolCall))
    assert (first.arguments, first.ends) == ("{}", True)
    assert (second.arguments, second.ends) == ('{"path": "/x', False)


@pytest.mark.parametrize("name", ['free"', ', "free"', '{"a": 1}"free"'])
def test_a_broken_call_behind_a_call_with_arguments_costs_only_itself(name: str) -> None:
    broken = f'{{"name": {name}, "arguments": {{}}}}'
    for form in WRAPPED:
        (call, *rest), lost = read(
            form.format(f'{{"name": "remove", "arguments": {{"id": 1}}}}, {broken}')
        )
        assert isinstance(call, ToolCall)
        assert (call.arguments, call.ends, lost) == ('{"id": 1}', True, "")
        assert "".join(it.text for it in rest if isinstance(it, Text)).startswith(broken)
    events, _ = read(f'<tool_call>{{"name": "remove"}}, {broken}</tool_call>')
    assert not any(it.ends for it in events if isinstance(it, ToolCall))


def test_an_object_behind_arguments_is_text_where_no_mark_closes_the_call() -> None:
    (call, *rest), _ = read(
        '<|python_tag|>{"name": "remove", "parameters": {"id": 1}}\n{"done": 1}'
    )
    assert isinstance(call, ToolCall)
    assert call.ends
    assert rest == [Text('{"done": 1}')]


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
def test_the_whole_reply_without_marks_has_only_the_keys_of_a_call(form: str) -> None:
    for arguments in ("", ', "arguments": {}'):
        written = f'{{"name": "remove"{arguments}}}, {{"path": "/x"}}'
        text = form.replace("{}", written)
        assert read(text) == ([Text(text)], "")


def test_apertus_names_another_call_by_its_key() -> None:
    text = '<|tools_prefix|>[{"remove": {}}, {"path": "/x"}, {"free": {}}]<|tools_suffix|>'
    calls, _ = read(text)
    made = [(it.name, it.arguments) for it in calls if isinstance(it, ToolCall)]
    assert made == [("remove", '{"path": "/x"}'), ("free", "{}")]


HEADED = [
    "[TOOL_CALLS]remove[ARGS]{}",
    "<|tool_call_begin|>functions.remove:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<tool_call><function=remove>{}</function></tool_call>",
]


@pytest.mark.parametrize("form", HEADED)
def test_an_object_behind_an_empty_one_behind_a_header(form: str) -> None:
    for between in ("", " ", ", ", "\n"):
        (call, *rest), _ = read(form.format(f'{{}}{between}{{"path": "/x"}}'))
        assert isinstance(call, ToolCall)
        assert json.loads(call.arguments) == {"path": "/x"}
        assert not rest


@pytest.mark.parametrize("form", HEADED)
def test_a_brace_too_early_behind_a_header(form: str) -> None:
    (call, *rest), _ = read(form.format('{"path": "/x"}, "id": 7, "force": 1}'))
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"path": "/x", "id": 7, "force": 1}
    assert not rest


def test_an_object_behind_arguments_too_long_to_be_compared_breaks_the_call() -> None:
    given = json.dumps({"path": "x" * (HELD_LIMIT + 1)})
    text = f'<tool_call>{{"name": "remove", "arguments": {given}}}, {{"force": 1}}</tool_call>'
    for size in (len(text), 1000):
        parser = call_engine(Expectations(TOOLS))
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        events = [event for piece in pieces for event in parser.feed(piece)]
        (call,) = joined([*events, *parser.flush()])[:1]
        assert isinstance(call, ToolCall)
        assert (call.arguments, call.ends) == (given[:-1], False)
        assert parser.calls.broken
        assert parser.calls.broken.name == "remove"
