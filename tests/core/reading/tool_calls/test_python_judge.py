"""Calls as Python writes them."""

import json
import subprocess
import sys

import pytest

from converter.core.wire.bounds import PYTHON_LIMIT
from tests.support.verdicts import End, outcome, verdict

pytestmark = pytest.mark.slow
TOOLS = {
    "f": {"properties": {"zip": {"type": "string"}, "n": {"type": "integer"}}},
    "g": {"type": "object"},
}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("", {}),
        ("a=1", {"a": 1}),
        (" a = 'x' , b = \"y\" ", {"a": "x", "b": "y"}),
        ("a=True, b=None, c=false, d=null", {"a": True, "b": None, "c": False, "d": None}),
        ("a=-1.5, b=[1, 'x'], c={'k': (1, 2)}, d=()", {"a": -1.5, "b": [1, "x"], "c": {"k": [1, 2]}, "d": []}),
        ("a=')', b=\"(]\"", {"a": ")", "b": "(]"}),
        ("a='it\\'s'", {"a": "it's"}),
        ("a='''two\nlines ' \" '''", {"a": "two\nlines ' \" "}),
        ("a='é🙂\\n'", {"a": "é🙂\n"}),
        ("a=[true, {'b': null}]", {"a": [True, {"b": None}]}),
        ("\n  a=1,\n", {"a": 1}),
        ("a='two\nlines', b=\"x\r\ny\"", {"a": "two\nlines", "b": "x\r\ny"}),
        ("a='one \\\nline'", {"a": "one line"}),
        ("a='see [TOOL_CALLS]wipe[ARGS]{}, b=1'", {"a": "see [TOOL_CALLS]wipe[ARGS]{}, b=1"}),
        ("from='a', class='b'", {"from": "a", "class": "b"}),
        ("**{'from': 'a', 'b': 1}, c=2", {"from": "a", "b": 1, "c": 2}),
        ("zip=07, n=07, a=[01, '01']", {"zip": "07", "n": 7, "a": [1, "01"]}),
        ("a={'x', 'y'}", {"a": ["x", "y"]}),
        ("a=1, a=1", {"a": 1}),
        ("a={'x':'it's so', 'y':'Johns' car.'}", {"a": {"x": "it's so", "y": "Johns' car."}}),
    ],
)  # fmt: skip
def test_arguments_are_literals(written: str, wanted: object) -> None:
    assert outcome(f"[f({written})]", TOOLS, "lfm2") == [("f", wanted)]


def test_several_calls_are_listed() -> None:
    assert outcome("[f(a=1), g(),\nf(a=3)]", TOOLS, "lfm2") == [
        ("f", {"a": 1}),
        ("g", {}),
        ("f", {"a": 3}),
    ]
    assert outcome("f(a=1)\ng()", TOOLS, "olmo") == [("f", {"a": 1}), ("g", {})]
    assert outcome('[{"name": "f", "arguments": {}}]', TOOLS, "lfm2") == [("f", {})]


LATE = [
    ', {"a": 1}]',
    ' {"a": 1}]',
    ", a=1)]",
    ', "a"]',
    ", 5]",
    ', {"a',
    '], {"a": 1}',
    '] ,\n{"a": 1}]',
]


@pytest.mark.parametrize("behind", LATE)
def test_text_behind_a_parenthesis_that_stood_too_early_makes_it_no_call(behind: str) -> None:
    assert outcome(f"[f(){behind}", TOOLS, "lfm2") == "TEXT"
    assert outcome(f"[f(a=1), f(){behind}", TOOLS, "lfm2") == (("f", {"a": 1}), "TEXT")


BEHIND = [
    ", f{}(a=1)]",
    "]",
    "],",
    "] {",
    ", ]",
    "\n]",
    "",
    ",",
    ", f",
    ", f\n",
    "<|tool_call_end|>",
]


@pytest.mark.parametrize("behind", BEHIND)
def test_a_call_that_nothing_but_its_end_follows_counts(behind: str) -> None:
    (call,) = verdict(f"[f(a=1){behind}", TOOLS, "lfm2", End.STOP).calls
    assert (json.loads(call.arguments), call.is_cut) == ({"a": 1}, False)


@pytest.mark.parametrize(
    "written",
    [
        "[f(1)]",
        "[f(**x)]",
        "[f(a=g())]",
        "[f(a=b)]",
        "[f(a=1 if True else 2)]",
        "[f(a=__import__('os'))]",
        "[f(a=b'x')]",
        "[f(a=1j)]",
        "[f(a=[-1e999])]",
        "[f(a=1]",
        "[f]",
        "[]",
        "[f(a=" + "(" * 3000 + ")" * 3000 + ")]",
        "[f(a='" + "x" * PYTHON_LIMIT + "')]",
    ],
)
def test_what_is_no_literal_is_text(written: str) -> None:
    assert outcome(written, TOOLS, "lfm2") == "TEXT"


def test_a_call_that_does_not_end_is_open() -> None:
    assert outcome("[f(a=1, b='x]", TOOLS, "lfm2") == "UNCLOSED"
    assert outcome("[f(a=1, b='x", TOOLS, "lfm2", End.CUT) == [("f", '{"a": 1')]
    for text in ("[f(a=1, b='x'", "[f(a=1, b=['x'", '[f(a=1, b={"c": ("x",'):
        assert outcome(text, TOOLS, "lfm2", End.STOP) in (
            [("f", {"a": 1, "b": "x"})],
            [("f", {"a": 1, "b": ["x"]})],
            [("f", '{"a": 1')],
        )
    assert outcome("[f(a=1", TOOLS, "lfm2", End.STOP) == [("f", "{")]
    assert outcome("[f(a=1, a=2)]", TOOLS, "lfm2") == "BROKEN"


def test_an_escape_that_python_does_not_know_is_read_and_prints_nothing() -> None:
    source = (
        "from tests.core.reading.tool_calls.test_python_judge import TOOLS, outcome\n"
        "print(outcome('[f(a=\"\\\\d+\")]', TOOLS, 'lfm2'))"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("[('f', {'a': '\\\\d+'})]\n", "")
