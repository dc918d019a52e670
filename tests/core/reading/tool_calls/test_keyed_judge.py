"""Calls with values between marks: where the model meant a value to end, or the call is none."""

import json

import pytest

from tests.support.tool_call_texts import TOOLS
from tests.support.verdicts import End, Failed, outcome, verdict

STRING = {"type": "string"}
WRITE: dict[str, dict[str, object]] = {
    "write": {"properties": {"path": STRING, "content": STRING, "mode": STRING}, "required": ["path"]}
}  # fmt: skip


def function(name: str = "write", **values: str) -> str:
    inner = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in values.items())
    return f"<function={name}>\n{inner}</function>"


def pairs(**values: str) -> str:
    inner = "".join(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v in values.items())
    return f"write{inner}"


VALUES = [
    ("\na\n", "a"),
    ("a", "a"),
    ("a\n", "a"),
    ("\n\na\n\n", "\na\n"),
    ("\r\na\r\n", "a"),
    ("\na\r", "a\r"),
    ("\r", "\r"),
    ("", ""),
    ("\n\n", ""),
    ("\n  a\n  ", "  a\n  "),
    ("\n</function> and\n", "</function> and"),
    ("\n</tool_call>\n", "</tool_call>"),
    ("\n<function=now>\n", "<function=now>"),
    ("\n<tool_call><function=now></function></tool_call>\n", "<tool_call><function=now></function></tool_call>"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "wanted"), VALUES)
def test_a_value_is_what_stands_between_its_marks_less_one_line_end(
    value: str, wanted: str
) -> None:
    text = f"<function=write_file>\n<parameter=content>{value}</parameter>\n</function>"
    assert outcome(text, TOOLS, "qwen3-coder") == [("write_file", {"content": wanted})]


NASTY = [
    "use </parameter> to close",
    "</parameter>(plain",
    "x </parameter> y </parameter> z",
    "a</parameter>b\n</function>c",
    "about <parameter=content> tags",
    "about <parameter=mode> tags",
    "<parameter>\n  <hello></hello>\n</parameter>",
    "<parameter=other>x</parameter>\n<parameter=more>y</parameter>",
    "<parameter=mode>\nx\n</parameter>",
    "<parameter=mode>\nx\n</parameter>\n</function>\n</tool_call>",
]


@pytest.mark.parametrize("value", NASTY)
def test_a_value_that_is_closed_stays_whole(value: str) -> None:
    for values in ({"path": "a", "content": value}, {"path": value, "content": "b"}):
        assert outcome(function(**values), WRITE, "qwen3-coder") == [("write", values)]


@pytest.mark.parametrize("value", [it for it in NASTY if "</function>" not in it])
def test_so_it_does_where_nothing_need_close_the_call(value: str) -> None:
    values = {"path": "a", "content": value}
    for text in (function(**values), function(**values).removesuffix("</function>")):
        assert outcome(f"● {text}", WRITE, "bullet", End.STOP) == [("write", values)]


def test_a_form_that_nothing_closes_ends_before_text() -> None:
    text = "● <function=write><parameter=path></function> x</parameter>"
    assert outcome(text, WRITE, "bullet", End.STOP) == [("write", {"path": "</function> x"})]
    text = "● <function=write><parameter=path>a</parameter>\n\nDone."
    decision = verdict(text, WRITE, "bullet", End.STOP)
    assert (decision.calls[0].arguments, text[decision.length :]) == ('{"path": "a"}', "\n\nDone.")


A_B = [("write", {"path": "a", "content": "b"})]
LEFT_OUT = [
    "<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n",
    "<parameter=path>a<parameter=content>b",
    "<parameter=content>b<parameter=path>a</parameter>",
    "<parameter=path>\na\n</parameter>\n</parameter>\n<parameter=content>\nb\n</parameter>\n",
    "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter></parameter>\n",
    "<parameter=path>\na\n</parameter>\n</function><parameter=content>\nb\n</parameter></function>\n",
]


@pytest.mark.parametrize("inner", LEFT_OUT)
def test_closing_marks_may_be_left_out_or_repeated(inner: str) -> None:
    """The last value's own can be missing as well: then no later mark may close it."""
    text = f"<function=write>\n{inner}</function>"
    assert outcome(text, WRITE, "qwen3-coder", End.STOP) == A_B
    assert outcome(text, WRITE, "qwen3-coder") in (A_B, "UNCLOSED")


PAIRS = [
    "<arg_key>path</arg_key><arg_value>a<arg_key>content</arg_key><arg_value>b</arg_value>",
    "<arg_key>path</arg_key><arg_value>a\n<arg_key>content</arg_key><arg_value>b</arg_value>",
    "<arg_key>path</arg_key><arg_value>a</arg_value></arg_value>"
    "<arg_key>content</arg_key><arg_value>b</arg_value></arg_value>",
    "<arg_key>path</arg_key></arg_key><arg_value>a</arg_value>"
    "<arg_key>content</arg_key>\n</arg_key>b</arg_value>",
    "<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>\n"
    "<arg_key>content</arg_key><arg_value>b</arg_value>",
    "\npath</arg_key><arg_value>a</arg_value><arg_key>content</arg_key><arg_value>b</arg_value>",
    '\n{"path": "a", "content": "b"}',
]


@pytest.mark.parametrize("inner", PAIRS)
def test_pairs_whose_marks_are_left_out_or_repeated(inner: str) -> None:
    assert outcome(f"write{inner}", WRITE, "glm") == A_B


@pytest.mark.parametrize("value", ["<arg_key>content</arg_key><arg_value>", "a </arg_value> b"])
def test_a_value_of_a_pair_that_is_closed_stays_whole(value: str) -> None:
    values = {"path": value, "content": "b"}
    assert outcome(pairs(**values), WRITE, "glm") == [("write", values)]


LEFT = "<function=get_weather><parameter=city>\nOslo\n"
NOW = "<function=now></function>"
OUT = "</parameter></function></tool_call>"
UNCLOSED = [
    (f"{LEFT}</tool_call>", "", ["Oslo"]),
    (f"{LEFT}</tool_call>\nSo.", "\nSo.", ["Oslo"]),
    (f"{LEFT}</tool_call>\n<tool_call>{NOW}</tool_call>", f"\n<tool_call>{NOW}</tool_call>", ["Oslo"]),
    (f"{LEFT}</function>\n{NOW}</tool_call>", "</tool_call>", ["Oslo", None]),
    (f"{LEFT}</function>\n{LEFT}{OUT}", "", ["Oslo", "Oslo"]),
    (f"{LEFT}</function>\n{NOW}\n{OUT}", "", [f"Oslo\n</function>\n{NOW}"]),
    (f"{LEFT}</parameter>\n{NOW}</tool_call>", "</tool_call>", ["Oslo", None]),
    (f"{LEFT}</parameter>\n{NOW}\n{OUT}", "", [f"Oslo\n</parameter>\n{NOW}"]),
    (f"{LEFT}</tool_call> is a mark.\n{OUT}", "", ["Oslo\n</tool_call> is a mark."]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rest", "wanted"), UNCLOSED)
def test_a_value_without_its_mark_ends_with_its_call(
    text: str, rest: str, wanted: list[str | None]
) -> None:
    """Only if no later mark can close it: not at the first mark, nor in a reply that was cut."""
    decision = verdict(text, TOOLS, "qwen3-coder", End.STOP)
    assert [json.loads(call.arguments).get("city") for call in decision.calls] == wanted
    assert text[decision.length :].removeprefix("</tool_call>") == rest.removeprefix("</tool_call>")
    first = text[: text.index("</tool_call>")]
    assert verdict(first, TOOLS, "qwen3-coder").failed in (Failed.UNCLOSED, None)


def test_a_value_that_the_limit_cut_does_not_end_with_a_mark_in_it() -> None:
    wanted = [("get_weather", '{"city": "Oslo\\n')]
    assert outcome(f"{LEFT}</tool_call>", TOOLS, "qwen3-coder", End.CUT) == wanted


def test_a_call_that_is_quoted_in_an_open_value_is_none() -> None:
    inner = function(path="x")
    text = f"<function=write><parameter=content>\n<tool_call>{inner}"
    assert outcome(text, WRITE, "qwen3-coder") == "UNCLOSED"
    whole = f"{text}</tool_call>\n</parameter>\n</function>"
    wanted = [("write", {"content": f"<tool_call>{inner}</tool_call>"})]
    assert outcome(whole, WRITE, "qwen3-coder") == wanted


@pytest.mark.parametrize(
    "inner",
    [
        "<parameter=path>\na\n</parameter> and so\n",
        "<parameter=path>\na\n</parameter> and so\n<parameter=content>\nb",
        "<parameter=path>\na\n</parameter> and so <parameter=content>\nb\n</parameter>\n",
    ],
)
def test_text_behind_a_closing_mark_leaves_the_value_open(inner: str) -> None:
    text = f"<function=write>\n{inner}</function>"
    assert outcome(text, WRITE, "qwen3-coder") == "UNCLOSED"
    assert all(call.is_cut for call in verdict(text, WRITE, "qwen3-coder", End.STOP).calls)


@pytest.mark.parametrize("form", ["qwen3-coder", "glm"])
def test_a_parameter_twice_is_one_or_breaks_the_call(form: str) -> None:
    write = function if form == "qwen3-coder" else pairs
    text = write(path="a", content="a").replace("content", "path")
    assert outcome(text, WRITE, form) == [("write", {"path": "a"})]
    text = write(path="a", content="b").replace("content", "path")
    assert outcome(text, WRITE, form) == "BROKEN"


VALUE = "<function=write><parameter=path>a</parameter>"
PAIR = "write<arg_key>path</arg_key><arg_value>a</arg_value>"
A = [("write", {"path": "a"})]
OPEN = [("write", '{"path": "a"')]
HALVES = [
    ("qwen3-coder", VALUE, A),
    ("qwen3-coder", f"{VALUE}\n</func", A),
    ("qwen3-coder", f"{VALUE}</function></tool_", A),
    ("qwen3-coder", f"{VALUE}</function>\n<", A),
    ("qwen3-coder", f"{VALUE}\n<", OPEN),
    ("qwen3-coder", f"{VALUE}<para", OPEN),
    ("qwen3-coder", f"{VALUE}<parameter=con", OPEN),
    ("qwen3-coder", f"{VALUE}</function><parameter=con", OPEN),
    ("qwen3-coder", f"{VALUE[:-12]}</param", [("write", '{"path": "a')]),
    ("glm", PAIR, A),
    ("glm", f"{PAIR}</", A),
    ("glm", f"{PAIR}</tool_c", A),
    ("glm", f"{PAIR}<", OPEN),
    ("glm", f"{PAIR}<arg_k", OPEN),
    ("glm", f"{PAIR}<arg_key>con", OPEN),
    ("glm", f"{PAIR[:-12]}</arg_va", [("write", '{"path": "a')]),
]


@pytest.mark.parametrize(("form", "text", "wanted"), HALVES)
def test_half_a_mark_at_the_end_opens_or_closes(form: str, text: str, wanted: object) -> None:
    assert outcome(text, WRITE, form, End.STOP) == wanted


def test_every_cut_of_a_call_is_open_or_whole() -> None:
    for form, text in (("qwen3-coder", function(path="a", content="b")), ("glm", pairs(path="a"))):
        whole = outcome(text, WRITE, form)
        begun = text.index(">\n") + 1 if form == "qwen3-coder" else len("write<arg_key>")
        for end in range(begun, len(text)):
            (call,) = verdict(text[:end], WRITE, form, End.CUT).calls
            assert call.is_cut or [(call.name, json.loads(call.arguments))] == whole


HEADS = [
    ("<function=now></function>", [("now", {})]),
    ('<function="now"></function>', [("now", {})]),
    ("<function= now ></function>", [("now", {})]),
    ('<function=write mode="x > y"></function>', [("write", {"mode": "x > y"})]),
    ('<function=write id="7" mode=x></function>', [("write", {"mode": "x"})]),
    ('<function=write other="x"></function>', "TEXT"),
    ("<function=now and more></function>", "TEXT"),
    ("<function=other></function>", "TEXT"),
    ("<function=now> is a tag", "TEXT"),
    ("<function=now\n></function>", "TEXT"),
    ("<function=></function>", "TEXT"),
    ("<function=write><parameter=path=ls></parameter></function>", "TEXT"),
    ('<function=now></function>{"x": 1}', "TEXT"),
    ('<function=now>{"x": {"y": [1,]}</function>', [("now", {"x": {"y": [1]}})]),
    ('<function=now>{"x": {"y": [1]', [("now", {"x": {"y": [1]}})]),
]


@pytest.mark.parametrize(("text", "wanted"), HEADS)
def test_the_tag_of_a_call(text: str, wanted: object) -> None:
    assert outcome(text, {**WRITE, "now": {}}, "qwen3-coder") == wanted


def test_a_special_token_within_a_quoted_name_says_nothing() -> None:
    text = '<atem:invoke name="now<|message|>"></atem:invoke>'
    assert outcome(text, TOOLS, "muse") == [("now", {})]


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ('string="true"', "7", "7"),
        ('string="false"', "7", 7),
        ('string="false"', '{"a": 1}', {"a": 1}),
        ("", "7", "7"),
    ],
)
def test_a_parameters_tag_may_tell_its_type(kind: str, value: str, wanted: object) -> None:
    text = f'<｜DSML｜invoke name="now"><｜DSML｜parameter name="x" {kind}>{value}</｜DSML｜parameter></｜DSML｜invoke>'
    assert outcome(text, TOOLS, "dsml", End.BODY) == [("now", {"x": wanted})]


def test_a_value_that_the_schema_does_not_know_is_read_as_json_in_glms_form() -> None:
    values = {"a": [1], "b": "Oslo", "c": "007", "path": "7"}
    written = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()
    }
    assert outcome(pairs(**written), WRITE, "glm") == [("write", values)]


# Calls whose parameters are elements. `#` is written for the mark.

ELEMENTS = [
    ("#<path>007#</path>", {"path": "007"}),
    ("#<path>#</path>", {"path": ""}),
    ("#<tags>#<item>a#</item>#<item>b#</item>#</tags>", {"tags": ["a", "b"]}),
    ("#<tags>[]#</tags>", {"tags": []}),
    ("#<meta>#<a>1#</a>\n#<b>#<item>x#</item>#</b>#</meta>", {"meta": {"a": 1, "b": ["x"]}}),
    ('#<meta>{"a": 1}#</meta>', {"meta": {"a": 1}}),
    ("#<path><b> </path>#</path>", {"path": "<b> </path>"}),
    ("\n#<path>a#</path>\n#<content>null#</content>\n", {"path": "a", "content": None}),
    ("", {}),
    ("#notes.txt#</path>#<content>Hi#</content>", {"path": "notes.txt", "content": "Hi"}),
    ("#<path>a#</path>#Hi <b>#</content>", {"path": "a", "content": "Hi <b>"}),
    ("#</invoke>\n#<path>a#</path>", {"path": "a"}),
]


def elements(inner: str, end: End) -> object:
    text = f'#<invoke name="write_file">{inner}'.replace("#", "]<]minimax[>[")
    return outcome(text, TOOLS, "minimax-m3", end)


@pytest.mark.parametrize(("inner", "wanted"), ELEMENTS)
def test_elements_become_arguments(inner: str, wanted: object) -> None:
    assert elements(f"{inner}#</invoke>", End.BODY) == [("write_file", wanted)]


def test_a_section_behind_a_call_is_no_parameter() -> None:
    text = '#<invoke name="now">#</invoke>\n#<tool_call>\n#<invoke name="now">#</invoke>'
    text = text.replace("#", "]<]minimax[>[")
    assert [call.end for call in verdict(text, TOOLS, "minimax-m3", End.STOP).calls] == [
        text.index("\n")
    ]


@pytest.mark.parametrize(
    ("inner", "so_far"),
    [
        ("#<path>a", '{"path": "a'),
        ("#<tags>#<item>", "{"),
        ("#<path>a#</path>#<cont", '{"path": "a"'),
    ],
)
def test_elements_that_do_not_end_leave_the_call_open(inner: str, so_far: str) -> None:
    assert elements(inner, End.STOP) == [("write_file", so_far)]
    assert elements("#<a>" * 100, End.STOP) == "TEXT"


def test_many_marks_are_walked_once() -> None:
    """Each mark is looked at a few times: no text takes the square of its length."""
    value = "</parameter> <parameter=mode>\n</function> " * 1000
    text = f"<function=write><parameter=content>{value}</parameter></function>"
    assert verdict(text, WRITE, "qwen3-coder").failed in (None, Failed.UNCLOSED, Failed.BROKEN)
