"""Calls as Python writes them."""

import json
import subprocess
import sys

import pytest

from converter.core.model.events import Text, ToolCall
from converter.core.reading.tool_calls.place import Expectations
from converter.core.wire.bounds import BLANKS_LIMIT, PYTHON_LIMIT
from tests.core.reading.tool_calls.test_json_body import read
from tests.support.call_engine import call_engine

pytestmark = pytest.mark.slow


def wrapped(written: str) -> str:
    return f"<|tool_call_start|>{written}<|tool_call_end|>"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("f()", {}),
        ("f(a=1)", {"a": 1}),
        ("f( a = 'x' , b = \"y\" )", {"a": "x", "b": "y"}),
        ("f(a=True, b=None, c=false, d=null)", {"a": True, "b": None, "c": False, "d": None}),
        (
            "f(a=-1.5, b=[1, 'x'], c={'k': (1, 2)}, d=())",
            {"a": -1.5, "b": [1, "x"], "c": {"k": [1, 2]}, "d": []},
        ),
        ("f(a=')', b=\"(]\")", {"a": ")", "b": "(]"}),
        ("f(a='it\\'s')", {"a": "it's"}),
        ("f(a='''two\nlines ' \" ''')", {"a": "two\nlines ' \" "}),
        ("f(a='é🙂\\n')", {"a": "é🙂\n"}),
        ("f(a=[true, {'b': null}])", {"a": [True, {"b": None}]}),
        ("f(\n  a=1,\n)", {"a": 1}),
        ("f(a='')", {"a": ""}),
        ("f(a='two\nlines', b=\"x\r\ny\")", {"a": "two\nlines", "b": "x\r\ny"}),
        ("f(a='one \\\nline')", {"a": "one line"}),
    ],
)
def test_arguments_are_literals(written: str, wanted: object) -> None:
    (call,) = read(wrapped(f"[{written}]"))
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == wanted


def test_several_calls_are_listed() -> None:
    calls = read(wrapped("[f(a=1), f(a=2),\nf(a=3)]"))
    assert [e.arguments for e in calls if isinstance(e, ToolCall)] == [
        '{"a": 1}',
        '{"a": 2}',
        '{"a": 3}',
    ]


@pytest.mark.parametrize(
    "behind",
    [
        ', {"a": 1}]',
        ' {"a": 1}]',
        ", a=1)]",
        ', "a"]',
        ", 5]",
        ', {"a',
        '], {"a": 1}',
        '] ,\n{"a": 1}]',
    ],
)
def test_text_behind_a_parenthesis_that_stood_too_early_makes_it_no_call(behind: str) -> None:
    for text in (wrapped(f"[f(){behind}"), f"<|tool_call_start|>[f(){behind}"):
        assert read(text) == [Text(text)]
    call, *rest = read(wrapped(f"[f(a=1), f(){behind}"))
    assert isinstance(call, ToolCall)
    assert (call.arguments, [*map(type, rest)]) == ('{"a": 1}', [Text])


@pytest.mark.parametrize(
    "behind",
    [", f{}(a=1)]", "]", "],", "] {", ", ]", "\n]", "", ",", ", f", ", f\n", "<|tool_call_end|>"],
)
def test_a_call_that_nothing_but_its_end_follows_counts(behind: str) -> None:
    call, *_ = read(f"<|tool_call_start|>[f(a=1){behind}")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"a": 1}', True)


@pytest.mark.parametrize(
    "written",
    [
        "[f(1)]",
        "[f(**{})]",
        "[f(a=g())]",
        "[f(a=b)]",
        "[f(a=1 if True else 2)]",
        "[f(a=__import__('os'))]",
        "[f(a={1, 2})]",
        "[f(a=b'x')]",
        "[f(a=1j)]",
        "[f(a=[-1e999])]",
        "[f(a=1]",
        "[f(a='x]",
        "[f]",
        "[]",
        "[f(a=" + "(" * 3000 + ")" * 3000 + ")]",
        "[f(a='" + "x" * PYTHON_LIMIT + "')]",
    ],
)
def test_what_is_no_literal_comes_back(written: str) -> None:
    text = wrapped(written)
    assert read(text) == [Text(text)]


def test_an_escape_that_python_does_not_know_is_read_and_prints_nothing() -> None:
    source = (
        "from tests.core.reading.tool_calls.test_python_body import read, wrapped\n"
        "(call,) = read(wrapped('[f(a=\"\\\\d+\")]'))\n"
        "print(call.arguments)"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert (json.loads(ran.stdout), ran.stderr) == ({"a": "\\d+"}, "")


def test_no_more_blanks_are_waited_through_behind_a_list_than_anywhere() -> None:
    parser = call_engine(Expectations({"f": {}}))
    parser.feed("<|tool_call_start|>[f(a=1)]")
    events = [event for _ in range(2 * BLANKS_LIMIT) for event in parser.feed("\n")]
    assert any(isinstance(event, ToolCall) and event.ends for event in events)
