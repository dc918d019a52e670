"""Calls as Gemma writes them."""

import json

import pytest

from converter.core.model.events import Text, ToolCall
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.gemma_body import BARE_LIMIT, Gemma
from converter.core.reading.tool_calls.values import NESTED_LIMIT
from tests.core.reading.tool_calls.test_json_body import read


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{}", {}),
        ('{a:<|"|>x<|"|>}', {"a": "x"}),
        ('{a:<|"|>x, y} <|"|>,b:2}', {"a": "x, y} ", "b": 2}),
        (
            "{a:1,b:-2.5,c:true,d:null,e:word}",
            {"a": 1, "b": -2.5, "c": True, "d": None, "e": "word"},
        ),
        ('{a:[1,<|"|>]<|"|>,[],{b:{}}]}', {"a": [1, "]", [], {"b": {}}]}),
        ('{<|"|>a b<|"|>:1, "c": 2, \'d\' : 3}', {"a b": 1, "c": 2, "d": 3}),
        ('{a:<|"|><|"|>}', {"a": ""}),
        ('{a:<|"|>"quoted" \\ \n<|"|>}', {"a": '"quoted" \\ \n'}),
        ('{"a": "Oslo"}', {"a": "Oslo"}),
        ("{a: 'Oslo, Norway: centre'}", {"a": "Oslo, Norway: centre"}),
        ('{a:["a, b",\'c\'],b:{"c": "fast"}}', {"a": ["a, b", "c"], "b": {"c": "fast"}}),
        ('{a:"x } y, {z","b":""}', {"a": "x } y, {z", "b": ""}),
        ("{a:'It's \"so\", she said',b:1}", {"a": 'It\'s "so", she said', "b": 1}),
        (r'{a:"\"q\", \u00e9\ud83d\ude42 \n\d"}', {"a": '"q", é🙂 \n\\d'}),
        (
            '(a=<|"|>Oslo "x" (a, b<|"|>, b=[1, <|"|>c<|"|>])',
            {"a": 'Oslo "x" (a, b', "b": [1, "c"]},
        ),
    ],
)
def test_arguments_become_json(written: str, wanted: object) -> None:
    (call,) = read(f"<|tool_call>call:f{written}<tool_call|>")
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == wanted


def test_the_word_before_the_name_may_be_left_out() -> None:
    (call,) = read('<|tool_call>:f{a:<|"|>x<|"|>}<tool_call|>')
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("f", '{"a": "x"}')


@pytest.mark.parametrize("text", ["call:g{}", "call:f", "f{}", "call: " + "f" * 300 + "{}"])
def test_what_is_no_call_comes_back(text: str) -> None:
    text = f"<|tool_call>{text}<tool_call|>"
    assert read(text) == [Text(text)]


@pytest.mark.parametrize(
    "written",
    [
        "{a:1 b:2,",
        "{a:1,}",
        "{a:" + "1" * (BARE_LIMIT + 10) + "}",
        "{a:" + "[" * (NESTED_LIMIT + 10),
        '{a:<|"|>x',
        "{a:[1 2]x",
    ],
)
def test_arguments_that_do_not_fit_stay_open(written: str) -> None:
    events = read(f"<|tool_call>call:f{written}")
    assert isinstance(events[0], ToolCall)
    with pytest.raises(json.JSONDecodeError):
        json.loads(events[0].arguments)


def test_blanks_where_a_key_should_be_take_linear_time() -> None:
    """Hours if each number of blanks were tried for each part of the key."""
    blanks = " " * 100_000
    text = "<|tool_call>call:f{" + blanks
    assert read(text) == [Text(text)]


@pytest.mark.parametrize("written", ["{a}", '{<|"|>a<|"|>1}', "{oops}"])
def test_what_is_none_before_its_first_argument_is_text(written: str) -> None:
    text = f"<|tool_call>call:f{written}<tool_call|>"
    good = "<|tool_call>call:f{a:1}<tool_call|>"
    (said, call) = read(text + good)
    assert (said, isinstance(call, ToolCall)) == (Text(text), True)


@pytest.mark.parametrize("end", ["", "<tool_call|>"])
def test_arguments_may_stand_in_parentheses(end: str) -> None:
    (call,) = read(f'<|tool_call>call:f(a="x(y) + )", b=10, c=False){end}')
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"a": "x(y) + )", "b": 10, "c": False}
    text = f'<|tool_call>call:f("x"){end}'
    assert read(text) == [Text(text)]


@pytest.mark.parametrize("form", [it for it in FORMS if isinstance(it.body, Gemma) and it.opens])
def test_each_forms_own_mark_may_stand_around_strings_in_parentheses(form: CallRow) -> None:
    assert isinstance(form.body, Gemma)
    mark = form.body.quote
    (call,) = read(f"{form.open}call:f(a=1, b={mark}x){mark}){form.close}")
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"a": 1, "b": "x)"}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('{a:<|"|>x<|"|>', {"a": "x"}),
        ('{a:[<|"|>x<|"|>', {"a": ["x"]}),
        ('{a:{b:<|"|>x<|"|>}', {"a": {"b": "x"}}),
    ],
)
def test_brackets_missing_before_the_closer_are_mended(written: str, wanted: object) -> None:
    """The string does not go on into the call behind it."""
    good = "<|tool_call>call:f{a:1}<tool_call|>"
    first, second = read(f"<|tool_call>call:f{written}<tool_call|>{good}")
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (json.loads(first.arguments), json.loads(second.arguments)) == (wanted, {"a": 1})


LATE = ['{},a:<|"|>x<|"|>}', "{}{a:1}", "{}\n{a:1}", "(),a=1)", '(), {"a": 1}']


@pytest.mark.parametrize("written", LATE)
def test_text_behind_a_bracket_that_stood_too_early_makes_it_no_call(written: str) -> None:
    for end in ("<tool_call|>", ""):
        text = f"<|tool_call>call:f{written}{end}"
        assert read(text) == [Text(text)]


def test_behind_arguments_that_went_out_it_leaves_the_call_open() -> None:
    call, text = read("<|tool_call>call:f{a:1},b:2}<tool_call|>")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"a": 1', False)
    assert text == Text(",b:2}<tool_call|>")


@pytest.mark.parametrize("behind", ["", ",", " and", "<tool_call|>", ", call:f{}<tool_call|>"])
def test_a_call_that_nothing_of_it_follows_counts(behind: str) -> None:
    call, *_ = read(f"<|tool_call>call:f{{a:1}}{behind}")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"a": 1}', True)
