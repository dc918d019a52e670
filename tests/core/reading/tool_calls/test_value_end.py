"""The end of a value between marks: where the model meant it, or the call is none."""

import json

import pytest

from converter.core.model.events import Event, ToolCall, joined
from converter.core.reading.tool_calls.place import Expectations
from converter.core.reading.tool_calls.source import NAME_LIMIT
from converter.core.reading.tool_calls.value_end import OPEN_LIMIT
from tests.support.call_engine import call_engine, held_by

STRING = {"type": "string"}
TOOLS: dict[str, dict[str, object]] = {
    "write": {"properties": {"path": STRING, "content": STRING, "mode": STRING}, "required": ["path"]}
}  # fmt: skip


def read(text: str) -> object:
    """The arguments of the one call, whole and character by character; None: none ran."""
    results = []
    for pieces in ([text], list(text)):
        parser = call_engine(Expectations(TOOLS))
        events: list[Event] = [event for piece in pieces for event in parser.feed(piece)]
        events = joined([*events, *parser.flush()])
        calls = [event for event in events if isinstance(event, ToolCall)]
        whole = calls and all(call.ends for call in calls) and not parser.calls.broken
        results.append(json.loads(calls[0].arguments) if whole else None)
    assert results[0] == results[1]
    return results[0]


def function(**values: str) -> str:
    inner = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in values.items())
    return f"<function=write>\n{inner}</function>"


def pairs(**values: str) -> str:
    inner = "".join(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v in values.items())
    return f"<tool_call>write{inner}</tool_call>"


def test_a_tag_is_waited_for_no_longer_than_a_name_may_be() -> None:
    parser = call_engine(Expectations(TOOLS))
    parser.feed("<tool_call><function=write><parameter=path>\na <parameter=")
    parser.feed("x" * NAME_LIMIT)
    assert held_by(parser).endswith("x")
    parser.feed("xx")
    assert not held_by(parser)


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
]


@pytest.mark.parametrize("value", NASTY)
def test_a_value_that_is_closed_stays_whole(value: str) -> None:
    for values in ({"path": "a", "content": value}, {"path": value, "content": "b"}):
        assert read(f"<tool_call>\n{function(**values)}\n</tool_call>") == values


@pytest.mark.parametrize("value", [it for it in NASTY if "</function>" not in it])
def test_so_it_does_where_nothing_need_close_the_call(value: str) -> None:
    values = {"path": "a", "content": value}
    assert read("● " + function(**values)) == values
    assert read("● " + function(**values).removesuffix("</function>")) == values


def test_a_form_that_nothing_closes_ends_before_words() -> None:
    inside = "● <function=write><parameter=path></function> x</parameter>"
    assert read(inside) == {"path": "</function> x"}
    text = "● <function=write><parameter=path>a</parameter>\n\nDone."
    assert read(text) == {"path": "a"}
    assert read(text + "." * OPEN_LIMIT) == {"path": "a"}


LEFT_OUT = [
    "<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n",
    "<parameter=path>a<parameter=content>b",
    "<parameter=content>b<parameter=path>a</parameter>",
    "<parameter=path>\na\n</parameter>\n</parameter>\n<parameter=content>\nb\n</parameter>\n",
    "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter></parameter>\n",
]


@pytest.mark.parametrize("inner", LEFT_OUT)
def test_closing_marks_may_be_left_out_or_said_again(inner: str) -> None:
    text = f"<tool_call><function=write>\n{inner}</function></tool_call>"
    assert read(text) == {"path": "a", "content": "b"}


UNCERTAIN = [
    "<parameter=path>\na\n</parameter> and so\n",
    "<parameter=path>\na\n</parameter> and so\n<parameter=content>\nb",
    "<parameter=path>\na\n</parameter> and so <parameter=content>\nb\n</parameter>\n",
]


@pytest.mark.parametrize("inner", UNCERTAIN)
def test_words_behind_a_closing_mark_break_the_call(inner: str) -> None:
    assert read(f"<tool_call><function=write>\n{inner}</function></tool_call>") is None


PAIRS = [
    "<arg_key>path</arg_key><arg_value>a<arg_key>content</arg_key><arg_value>b</arg_value>",
    "<arg_key>path</arg_key><arg_value>a\n<arg_key>content</arg_key><arg_value>b</arg_value>",
    "<arg_key>path</arg_key><arg_value>a</arg_value></arg_value>"
    "<arg_key>content</arg_key><arg_value>b</arg_value></arg_value>",
    "<arg_key>path</arg_key></arg_key><arg_value>a</arg_value>"
    "<arg_key>content</arg_key>\n</arg_key>b</arg_value>",
]


@pytest.mark.parametrize("inner", PAIRS)
def test_pairs_whose_closing_mark_is_left_out_or_said_again(inner: str) -> None:
    assert read(f"<tool_call>write{inner}</tool_call>") == {"path": "a", "content": "b"}


@pytest.mark.parametrize("before", ["", "<arg_key>content</arg_key><arg_value>b</arg_value>"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_a_pair_behind_the_calls_closing_mark_belongs_to_it(before: str, blank: str) -> None:
    late = f"{blank}<arg_key>path</arg_key><arg_value>a</arg_value>{blank}</tool_call>"
    wanted = {"content": "b", "path": "a"} if before else {"path": "a"}
    assert read(f"<tool_call>write{before}</tool_call>{late}") == wanted


def test_pairs_with_words_behind_a_closing_mark_break_the_call() -> None:
    inner = "<arg_key>path</arg_key><arg_value>a</arg_value> and so"
    assert read(f"<tool_call>write{inner}</tool_call>") is None


@pytest.mark.parametrize("value", ["<arg_key>content</arg_key><arg_value>", "a </arg_value> b"])
def test_a_value_of_a_pair_that_is_closed_stays_whole(value: str) -> None:
    values = {"path": value, "content": "b"}
    assert read(pairs(**values)) == values
