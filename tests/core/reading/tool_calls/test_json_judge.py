"""Calls as JSON: keys in any order, arguments as object or string, lists, mistakes of models."""

import json

import pytest

from tests.support.verdicts import End, Failed, outcome, verdict

TOOLS: dict[str, dict[str, object]] = {"f": {}, "é": {}, "needs": {"required": ["city"]}}
MORE: dict[str, dict[str, object]] = {
    "remove": {"properties": {"path": {"type": "string"}, "dry_run": {}, "id": {}, "force": {}}},
    "run": {"properties": {"arguments": {"type": "array"}, "input": {}, "name": {}}},
    "free": {},
}


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
    decision = verdict(written, TOOLS)
    assert [call.arguments for call in decision.calls] == [wanted]
    assert (decision.length, decision.failed) == (len(written), None)


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
    assert outcome(written, TOOLS) == [("f", {"a": 1}), ("f", {"a": 2})]


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "[]",
        "[1]",
        "{name: f}",
        '{"name": 1}',
        '{"name": "g", "arguments": {}}',
        '{"arguments": {}}',
        '{"name": "f", "arguments": 7}',
        '{"function": {"function": {"name": "f"}}}',
        '{"name": "\\x", "arguments": {}}',
        '{"name": "f", "arguments": "\\ud83d, half a pair"}',
        '{"name": "f", "arguments": {oops}}',
    ],
)
def test_what_fails_before_its_first_field_is_text(written: str) -> None:
    assert outcome(written, TOOLS) == "TEXT"


@pytest.mark.parametrize(
    "arguments",
    ['{"a": 15:30}', '{"a": tru3}', '{"a" 1}', '{"a": 1, "a": 2}', '"{\\"a\\": 1} and"'],
)
def test_arguments_without_a_meaning_break_the_call(arguments: str) -> None:
    decision = verdict(f'{{"name": "f", "arguments": {arguments}}}', TOOLS)
    assert (decision.failed, decision.broken_tool, decision.calls) == (Failed.BROKEN, "f", ())


def test_one_parameter_twice_with_one_value_is_one() -> None:
    assert outcome('{"name": "f", "arguments": {"a": 1, "a": 1.0}}', TOOLS) == [("f", {"a": 1})]


BEGUN = '{"name": "f", "arguments": {"a": {"b": "c"'
ENDS = [
    (BEGUN, End.CLOSER, [("f", {"a": {"b": "c"}})]),
    (BEGUN, End.OPENER, [("f", {"a": {"b": "c"}})]),
    (BEGUN, End.STOP, [("f", {"a": {"b": "c"}})]),
    (BEGUN, End.CUT, [("f", '{"a": {"b": "c"')]),
    (BEGUN[:-1], End.CLOSER, "UNCLOSED"),
    (BEGUN[:-1], End.STOP, [("f", '{"a": {"b": "c')]),
    (BEGUN + ', "d": 3', End.CLOSER, [("f", {"a": {"b": "c", "d": 3}})]),
    (BEGUN + ', "d": 3', End.STOP, [("f", '{"a": {"b": "c", "d": 3')]),
    (BEGUN + ', "d": true', End.STOP, [("f", {"a": {"b": "c", "d": True}})]),
    (BEGUN + ",\n", End.CLOSER, [("f", {"a": {"b": "c"}})]),
    (BEGUN + "}}", End.STOP, [("f", {"a": {"b": "c"}})]),
    (BEGUN + "}}", End.CUT, [("f", '{"a": {"b": "c"}')]),
    (BEGUN + "}}}", End.CUT, [("f", {"a": {"b": "c"}})]),
    (BEGUN + "}}}}]", End.STOP, [("f", {"a": {"b": "c"}})]),
    (BEGUN + "}}}\n</tool_", End.STOP, [("f", {"a": {"b": "c"}})]),
    (BEGUN + "</tool_call>", End.STOP, [("f", {"a": {"b": "c"}})]),
    ('{"name": "f", "arg', End.CUT, [("f", "{")]),
    ('{"arguments": {"a": 1}, "nam', End.CUT, "TEXT"),
    ('{"arguments": {"a": "x', End.CLOSER, "UNCLOSED"),
    ('{"function": {"name": "f", "arguments": {"a": "x', End.CUT, [("f", '{"a": "x')]),
    ('{"name": "f", "arguments": "{\\"a\\": \\"x', End.CUT, [("f", '{"a": "x')]),
]


@pytest.mark.parametrize(("written", "end", "wanted"), ENDS)
def test_missing_ends_are_put_there_where_no_value_is_open(
    written: str, end: End, wanted: object
) -> None:
    assert outcome(written, TOOLS, end=end) == wanted


def test_text_of_no_tool_among_calls_keeps_its_order() -> None:
    text = '[{"name": "f"}, {"name": "x"}, {"name": "f"}, {"name": "y"}]'
    decision = verdict(text, TOOLS)
    assert [call.text_before for call in decision.calls] == ["", '{"name": "x"}, ']
    assert (text[decision.length :], decision.failed) == (', {"name": "y"}]', Failed.TEXT)


def test_apertus_names_a_call_by_its_key() -> None:
    assert outcome('[{"f": {"a": 1}}, {"f": null}]', TOOLS, "apertus") == [
        ("f", {"a": 1}),
        ("f", {}),
    ]
    text = '[{"remove": {}}, {"path": "/x"}, {"free": {}}]'
    assert outcome(text, MORE, "apertus") == [("remove", {"path": "/x"}), ("free", {})]
    for wrong in ('[{"f": {"a": 1}, "g": {}}]', '[{"f": 1}]'):
        assert outcome(wrong, TOOLS, "apertus") == "TEXT"


@pytest.mark.parametrize(
    "text", ['{"name": "f", "arguments": {}, "why": 1}', '{"name": "f"}', '{"why": 1, "name": "f"}']
)
def test_an_object_that_is_the_whole_reply_must_have_the_keys_of_a_call(text: str) -> None:
    assert outcome('{"name": "f", "arguments": {}}', TOOLS, "json", End.STOP) == [("f", {})]
    assert outcome(text, TOOLS, "json", End.STOP) == "TEXT"


# Members beside the arguments: arguments as well, or the call is none. Never left out.

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
]  # fmt: skip


@pytest.mark.parametrize(("written", "wanted"), MEANT)
def test_what_the_schema_knows_is_an_argument(written: str, wanted: object) -> None:
    (call,) = verdict(written, MORE).calls
    assert json.loads(call.arguments) == wanted
    for form in ("mistral", "nemotron"):
        assert outcome(f"[{written}]", MORE, form) == outcome(written, MORE)


NONE = [
    ('{"name": "remove", "where": "/x"}', "TEXT"),
    ('{"name": "remove", "where": {"path": "/x", "more": 1}}', "TEXT"),
    ('{"name": "free", "path": "/x"}', "TEXT"),
    ('{"path": "/x", "path": "/y", "name": "remove"}', "TEXT"),
    ('{"name": "remove", "path": /x}', "TEXT"),
    ('{"name": "remove"}, {"where": "/x"}', "TEXT"),
    ('{"name": "remove"}, {"path": "/x"}, {"path": "/y"}', "TEXT"),
    ('{"name": "remove"}, {"path": /x}', "TEXT"),
    ('{"name": "remove"}, {"function": {"function": {"name": "remove"}}}', "TEXT"),
    ('{"name": "remove"}, {"tool": "x"}', "TEXT"),
    ('{"name": "remove"}, {"function": "x", "id": 7}', "TEXT"),
    ('{"name": "remove"}, {"pa', "UNCLOSED"),
    ('{"name": "remove"}, "{\\"path\\": \\"/x\\"}"', "UNCLOSED"),
    ('{"name": "remove", "arguments": {}}, {"where": "/x"}', "TEXT"),
    ('{"name": "remove", "arguments": {"path": "/x"}, "where": "/y"}', "BROKEN"),
    ('{"name": "remove", "arguments": {"path": "/x"}, "path": "/y"}', "BROKEN"),
    ('{"name": "remove", "arguments": {"path": "/x"}}, "where": "/y"}', "BROKEN"),
    ('{"name": "remove", "arguments": {"path": "/x"}}, {"path": "/y"}', "BROKEN"),
    ('{"name": "remove", "arguments": {"path": "/x"}}\n{"force": 1}', "BROKEN"),
]


@pytest.mark.parametrize(("written", "wanted"), NONE)
def test_what_it_does_not_know_makes_it_no_call(written: str, wanted: str) -> None:
    assert outcome(written, MORE) == wanted


TWO = [
    ('{"name": "remove"} {"name": "free"}', ["remove", "free"]),
    ('{"name": "remove"}, {"id": "1", "type": "function", "function": {"name": "free"}}', ["remove", "free"]),
    ('{"name": "remove"}, {"arguments": {}, "name": "free"}', ["remove", "free"]),
    ('{"name": "remove", "arguments": {}}, {"arguments": {}, "function": "free"}', ["remove", "free"]),
    ('{"name": "run"}, {"name": "free"}', ["run", "free"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "names"), TWO)
def test_an_object_with_a_name_is_another_call(written: str, names: list[str]) -> None:
    assert outcome(written, MORE) == [(name, {}) for name in names]


@pytest.mark.parametrize("name", ['free"', ', "free"', '{"a": 1}"free"'])
def test_a_broken_call_behind_a_call_with_arguments_costs_only_itself(name: str) -> None:
    text = f'{{"name": "remove", "arguments": {{"id": 1}}}}, {{"name": {name}, "arguments": {{}}}}'
    assert outcome(text, MORE) == (("remove", {"id": 1}), "TEXT")


def test_an_object_behind_arguments_is_text_where_no_mark_closes_the_call() -> None:
    text = '{"name": "remove", "parameters": {"id": 1}}\n{"done": 1}'
    decision = verdict(text, MORE, "llama", End.STOP)
    assert (len(decision.calls), text[decision.length :]) == (1, '\n{"done": 1}')


# Calls whose name stands in a header.

HEADERS = [
    ("mistral-args", "{}"),
    ("mistral-args", " {} "),
    ("mistral-args", "{}[ARGS]"),
    ("mistral-args", "{}[CALL_ID]a1b2[ARGS] "),
    ("kimi", "functions.{}:3<|tool_call_argument_begin|>"),
    ("kimi", " {} <|tool_call_argument_begin|>\n"),
    ("deepseek", "{}<｜tool▁sep｜>"),
    ("deepseek", "function<｜tool▁sep｜>{}\n```json\n"),
    ("harmony", "functions.{} <|constrain|>json<|message|>"),
    ("harmony", "functions.{}<|channel|>commentary <|constrain|>json<|message|>"),
]


@pytest.mark.parametrize(("form", "header"), HEADERS)
def test_the_name_is_read_in_the_header(form: str, header: str) -> None:
    assert outcome(header.format("f") + '{"a": 1}', TOOLS, form) == [("f", {"a": 1})]
    assert outcome(header.format("g") + '{"a": 1}', TOOLS, form) == "TEXT"


def test_kimis_name_is_its_id() -> None:
    (call,) = verdict("functions.f:3<|tool_call_argument_begin|>{}", TOOLS, "kimi").calls
    assert (call.name, call.id) == ("f", "functions.f:3")


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('{"a": 1}{"a": 1}', [("f", {"a": 1})]),
        ('{}{"a": 1}', [("f", {"a": 1})]),
        ('{}{"a": 1}{"a": 1}', [("f", {"a": 1})]),
        ("{}{}", [("f", {})]),
        ('{"a": 1}{"a": 2}', "BROKEN"),
        ('{"a": 1}{"b": 1}', "BROKEN"),
    ],
)
def test_arguments_that_are_written_twice_have_one_meaning(written: str, wanted: object) -> None:
    assert outcome(f"f[ARGS]{written}", TOOLS, "mistral-args") == wanted


def test_a_brace_too_early_behind_a_header() -> None:
    wanted = [("remove", {"path": "/x", "id": 7, "force": 1})]
    assert (
        outcome('remove[ARGS]{"path": "/x"}, "id": 7, "force": 1}', MORE, "mistral-args") == wanted
    )


ALONE = [
    ("kimi", "functions.{}:0"),
    ("kimi", "{}<|tool_call_argument_begin|>"),
    ("deepseek", "{}<｜tool▁sep｜> "),
    ("deepseek", "function<｜tool▁sep｜>{}\n```json\n```"),
    ("step-audio", "function\n{}\n"),
]


@pytest.mark.parametrize(("form", "written"), ALONE)
def test_a_name_alone_is_a_call_where_the_tool_needs_no_argument(form: str, written: str) -> None:
    wanted: dict[str, object] = {"f": [("f", {})], "needs": "TEXT", "unknown": "TEXT"}
    assert {name: outcome(written.format(name), TOOLS, form) for name in wanted} == wanted


def test_brackets_are_put_before_a_fence_that_closes_arguments() -> None:
    text = 'function<｜tool▁sep｜>f\n```json\n{"a": 1\n```'
    assert outcome(text, TOOLS, "deepseek") == [("f", {"a": 1})]
