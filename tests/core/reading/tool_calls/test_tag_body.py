"""Calls in tags: functions with parameters, names with keys and values."""

import json

import pytest

from converter.core.model.events import Event, Text, ToolCall, joined
from converter.core.reading.tool_calls.place import Expectations
from converter.core.reading.tool_calls.source import NAME_LIMIT
from converter.core.reading.tool_calls.value_end import OPEN_LIMIT
from converter.core.reading.tool_calls.values import NESTED_LIMIT
from tests.support.call_engine import call_engine
from tests.support.tool_call_texts import TOOLS


def read(text: str, cut: bool = False) -> list[Event]:
    """What comes of it, whole and character by character."""
    results = []
    for pieces in ([text], list(text)):
        parser = call_engine(Expectations(TOOLS))
        events = [event for piece in pieces for event in parser.feed(piece)]
        results.append(joined([*events, *parser.flush(cut=cut)]))
    assert results[0] == results[1]
    return results[0]


def content(text: str) -> object:
    (call,) = read(text)
    assert isinstance(call, ToolCall)
    return json.loads(call.arguments)["content"]


def function(value: str, end: str = "</parameter>") -> str:
    return f"<function=write_file>\n<parameter=content>{value}{end}\n</function>"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("\na\n", "a"),
        ("a", "a"),
        ("a\n", "a"),
        ("\na", "a"),
        ("\n\na\n\n", "\na\n"),
        ("\r\na\r\n", "a"),
        ("\na\r", "a\r"),
        ("\r", "\r"),
        ("", ""),
        ("\n\n", ""),
        ("\n  a\n  ", "  a\n  "),
        ("\n</parameter> is a tag\n", "</parameter> is a tag"),
        ("\n<parameter=x>\n", "<parameter=x>"),
        ("\n</function> and\n", "</function> and"),
        ("\n</tool_call>\n", "</tool_call>"),
        ("\n<function=now>\n", "<function=now>"),
    ],
)
def test_a_value_is_what_stands_between_its_marks_less_one_line_end(
    value: str, wanted: str
) -> None:
    assert (
        content(function(value)) == content(f"<tool_call>{function(value)}</tool_call>") == wanted
    )


def test_a_parameter_may_lack_its_closing_mark() -> None:
    text = "<tool_call>\n<function=write_file>\n<parameter=content>\na\n</function>\n</tool_call>"
    assert content(text) == "a"


def test_a_function_may_lack_its_closing_mark_within_a_call() -> None:
    text = "<tool_call><function=write_file><parameter=content>a</parameter></tool_call>"
    assert content(text) == "a"


def test_a_function_that_ends_with_the_reply_is_not_whole() -> None:
    (call,) = read("<function=write_file><parameter=content>a</parameter>")
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"content": "a"'


def test_a_form_without_closing_marks_is_whole_unless_the_reply_was_cut() -> None:
    text = "● <function=write_file><parameter=content>a</parameter>"
    for cut, wanted in ((False, '{"content": "a"}'), (True, '{"content": "a"')):
        (call,) = read(text, cut)
        assert isinstance(call, ToolCall)
        assert call.arguments == wanted


@pytest.mark.parametrize(
    "tag",
    ["<function=now>", '<function="now">', "<function= now >", "<invoke name='now'>"],
)
def test_a_name_may_stand_in_quotes(tag: str) -> None:
    end = "</function>" if "function" in tag else "</invoke>"
    (call,) = read(f"{tag}{end}")
    assert isinstance(call, ToolCall)
    assert call.arguments == "{}"


@pytest.mark.parametrize("before", ["", "<parameter=days>3</parameter>\n"])
@pytest.mark.parametrize("outer", ["{}", "<tool_call>\n{}\n</tool_call>"])
def test_a_parameter_behind_the_calls_closing_mark_belongs_to_it(outer: str, before: str) -> None:
    late = (
        f"<function=get_weather>{before}</function>\n<parameter=city>Oslo</parameter>\n</function>"
    )
    (call,) = read(outer.format(late))
    assert isinstance(call, ToolCall)
    assert (json.loads(call.arguments)["city"], call.ends) == ("Oslo", True)


def test_an_object_behind_a_call_without_arguments_breaks_it() -> None:
    call, *_ = read('<tool_call><function=now></function>{"x": 1}</tool_call>')
    assert isinstance(call, ToolCall)
    assert not call.ends
    (call,) = read("<tool_call><function=now></function></tool_call>")
    assert isinstance(call, ToolCall)
    assert call.ends


def test_a_parameter_whose_value_stands_in_its_tag_breaks_the_call() -> None:
    for tag in ("content=ls", 'content="ls"'):
        call, *_ = read(f"<tool_call><function=write_file><parameter={tag}></parameter></function>")
        assert isinstance(call, ToolCall)
        assert not call.ends


@pytest.mark.parametrize("written", ['{"x": {"y": [1]', '{"x": {"y": [1]}', '{"x": {"y": [1,]}'])
def test_brackets_that_are_missing_before_the_calls_end_are_added(written: str) -> None:
    (call,) = read(f"<function=now>{written}</function>")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"x": {"y": [1]}}', True)


@pytest.mark.parametrize(
    ("said", "value", "wanted"),
    [
        ('string="true"', "7", '"7"'),
        ('string="false"', "7", "7"),
        ('string="false"', '{"a": 1}', '{"a": 1}'),
        ('string="false"', "true", "true"),
        ("", "7", '"7"'),
    ],
)
def test_a_parameters_tag_may_tell_its_type(said: str, value: str, wanted: str) -> None:
    text = (
        '<｜DSML｜function_calls><｜DSML｜invoke name="now">'
        f'<｜DSML｜parameter name="x" {said}>{value}</｜DSML｜parameter>'
        "</｜DSML｜invoke></｜DSML｜function_calls>"
    )
    (call,) = read(text)
    assert isinstance(call, ToolCall)
    assert call.arguments == f'{{"x": {wanted}}}'


@pytest.mark.parametrize(
    "text",
    [
        "<function=now> is a tag",
        "<function=now and more>",
        "<function=now\n></function>",
        "<function=>" + "</function>",
        f"<function={'n' * NAME_LIMIT}></function>",
        "<tool_call>now",
        "<tool_call>now</tool",
        "<tool_call>now or never</tool_call>",
        "<tool_call>get_weather<arg_key>city",
        "<tool_call>" + "n" * NAME_LIMIT + "</tool_call>",
    ],
)
def test_what_is_no_call_comes_back(text: str) -> None:
    assert "".join(e.text if isinstance(e, Text) else "*" for e in read(text)) in (text, "*")


LEFT = "<function=get_weather><parameter=city>\nOslo\n"
NOW = "<function=now></function>"
INVOKE = '<invoke name="get_weather"><parameter name="city">Oslo'
PAIR = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>{}"
UNCLOSED = [
    (PAIR.format("Oslo</tool_call>"), ["Oslo"]),
    (PAIR.format("Oslo\n</tool_call>\nSo."), ["Oslo", "So."]),
    (PAIR.format("Oslo</tool_call>") * 2, ["Oslo", "Oslo"]),
    (PAIR.format("Oslo</tool_call>") + PAIR.format("a</arg_value></tool_call>"), ["Oslo", "a"]),
    (PAIR.format("<tool_call> </tool_call></arg_value></tool_call>"), ["<tool_call> </tool_call>"]),
    ("<tool_call><function=get_weather><parameter=city>\nOslo\n</tool_call>", ["Oslo"]),
    ('<minimax:tool_call><invoke name="get_weather"><parameter name="city">Oslo</minimax:tool_call>', ["Oslo"]),
    (PAIR.format("</tool_call>" + "a" * OPEN_LIMIT), []),
    (f"<tool_call>{LEFT}</tool_call>\n<tool_call>{NOW}</tool_call>", ["Oslo", "{}"]),
    (f"<tool_call>{LEFT}</function>\n{NOW}</tool_call>", ["Oslo", "{}"]),
    (f"<tool_call>{LEFT}</function>\n{LEFT}</parameter></function></tool_call>", ["Oslo", "Oslo"]),
    (f"<tool_call>{LEFT}</function>\n{NOW}\n</parameter></function></tool_call>", [f"Oslo\n</function>\n{NOW}"]),
    (f"<tool_call>{LEFT}</parameter>\n{NOW}</tool_call>", ["Oslo", "{}"]),
    (f"<function_calls>{INVOKE}</parameter>{INVOKE}</parameter></invoke></function_calls>", ["Oslo", "Oslo"]),
    (f"<tool_call>{LEFT}</parameter>\n{NOW}\n</parameter></function></tool_call>", [f"Oslo\n</parameter>\n{NOW}"]),
    (f'<function_calls>{INVOKE}</invoke><invoke name="now"></invoke></function_calls>', ["Oslo", "{}"]),
    (f"<function_calls>{INVOKE}</invoke>{INVOKE}</parameter></invoke></function_calls>", ["Oslo", "Oslo"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), UNCLOSED)
def test_a_value_without_its_mark_ends_with_its_call(text: str, wanted: list[str]) -> None:
    got = [e.text if isinstance(e, Text) else e.arguments for e in read(text) if isinstance(e, Text | ToolCall)]  # fmt: skip
    assert [
        json.loads(each).get("city", each) if each.endswith("}") else each for each in got
    ] == wanted or (not wanted and not got[0].endswith("}"))


def test_a_value_that_the_limit_cut_does_not_end_with_a_mark_in_it() -> None:
    (call,) = read(PAIR.format("Oslo</tool_call>"), cut=True)
    assert isinstance(call, ToolCall)
    assert not call.arguments.endswith("}")


def test_keys_without_values_leave_the_call_open() -> None:
    (call,) = read("<tool_call>get_weather<arg_key>city</arg_key>Oslo</tool_call>")
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.ends) == ('{"city": "Oslo"', False)


LEFT_OPEN = [
    (
        "<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</parameter>\n</function>",
        {"city": "Oslo", "days": 3},
    ),
    (
        '<invoke name="get_weather"><parameter name="city">Oslo<parameter name="days">3</invoke>',
        {"city": "Oslo", "days": 3},
    ),
    (
        "<function=get_weather>\n<parameter=city>\na <parameter=other> b\n</parameter>\n</function>",
        {"city": "a <parameter=other> b"},
    ),
    (
        "<function=get_weather>\n<parameter=city>\n<parameter=city>\n</parameter>\n</function>",
        {"city": "<parameter=city>"},
    ),
    (
        "<function=get_weather>\n<parameter=city>\nOslo <parameter=\n</parameter>\n</function>",
        {"city": "Oslo <parameter="},
    ),
]


@pytest.mark.parametrize(("text", "wanted"), LEFT_OPEN)
def test_a_value_ends_where_another_parameter_of_the_tools_begins(
    text: str, wanted: dict[str, object]
) -> None:
    (call,) = read(text)
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == wanted


@pytest.mark.parametrize("blanks", [NAME_LIMIT - 5, NAME_LIMIT - 4, NAME_LIMIT - 3, NAME_LIMIT])
def test_a_long_tag_is_another_parameters_or_none_however_it_is_cut(blanks: int) -> None:
    tag = f"<parameter=days{' ' * blanks}>"
    text = f"<function=get_weather><parameter=city>Oslo{tag}3</parameter></function>"
    assert read(text)


# Calls whose parameters are elements.


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
        ("#notes.txt#</path>#<content>Hi#</content>", {"path": "notes.txt", "content": "Hi"}),
        ("#<path>a#</path>#Hi <b>#</content>", {"path": "a", "content": "Hi <b>"}),
        ("#</invoke>\n#<path>a#</path>", {"path": "a"}),
        ("#<path>a#</path>#</invoke>#<content>Hi#</content>", {"path": "a", "content": "Hi"}),
    ],
)
def test_elements_become_arguments(inner: str, wanted: object) -> None:
    (call,) = read(
        written(f'#<tool_call>#<invoke name="write_file">{inner}#</invoke>#</tool_call>')
    )
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == wanted


def test_an_element_may_lack_the_first_character_of_its_tag() -> None:
    (call,) = read(written('#<tool_call>#invoke name="now">#</invoke>#</tool_call>[e~['))
    assert isinstance(call, ToolCall)
    assert call.arguments == "{}"


def test_a_value_that_the_schema_does_not_know_is_read_as_json_in_glms_form() -> None:
    pairs = [("a", "[1]", [1]), ("b", "Oslo", "Oslo"), ("c", "007", "007"), ("city", "7", "7")]
    text = "".join(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v, _ in pairs)
    (call,) = read(f"<tool_call>get_weather{text}</tool_call>")
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {key: value for key, _, value in pairs}


@pytest.mark.parametrize(
    "inner", ["#<path>a", "#<path>a#</content>", "#<tags>#<item>", "#<a>" * (NESTED_LIMIT + 9)]
)
def test_elements_that_do_not_end_leave_the_call_open(inner: str) -> None:
    call = read(written(f'#<invoke name="write_file">{inner}'))[0]
    assert isinstance(call, ToolCall)
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


@pytest.mark.parametrize("text", ['#<invoke name="now"> is', "#<tool_call> is", '#<invoke name="x'])
def test_elements_that_are_no_call_come_back(text: str) -> None:
    assert read(written(text)) == [Text(written(text))]
