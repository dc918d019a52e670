"""The judge: all written forms, whole, cut, and of no tool."""

import json
import re

import pytest

from converter.core.reading.families import CLOSERS
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS
from converter.core.reading.tool_calls.judge import judge
from converter.core.reading.tool_calls.verdict import End, Failed, Verdict
from tests.support.strategies import every_so_many
from tests.support.tool_call_texts import TOOLS, WRITTEN, Written

OSLO = ("get_weather", {"city": "Oslo", "days": 3, "metric": True})
FILE = (
    "write_file",
    {"path": "{x}", "content": '"}" </b> é\n`', "meta": {"a": [1, "}"]}, "tags": ["["]},
)
BY_NAME = pytest.mark.parametrize("written", WRITTEN.values(), ids=list(WRITTEN))


def span_of(written: Written, text: str) -> tuple[CallRow, str]:
    """The row of a text, and the text behind the row's section and opener."""
    forms = [form for form in FORMS if form.name == written.form and form.whole is written.whole]
    for form in forms:
        inner = text.lstrip().removeprefix(form.section[0]).lstrip() if form.section[0] else text
        opened = [mark for mark in form.opens if inner.lstrip().startswith(mark)]
        inner = inner.lstrip().removeprefix(max(opened, key=len)) if opened else inner
        if inner.lstrip().startswith(tuple(form.body.starts)):
            return form, inner.lstrip()
    raise AssertionError(text)


def outcome(decided: Verdict) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in decided.calls if not call.is_cut]


@BY_NAME
@pytest.mark.parametrize("call", [OSLO, FILE], ids=["simple", "hard"])
def test_a_call_is_read_as_it_was_meant(
    written: Written, call: tuple[str, dict[str, object]]
) -> None:
    row, text = span_of(written, written.write([call]))
    assert outcome(judge(row, text, End.STOP, TOOLS)) == [call]


@BY_NAME
def test_a_call_of_no_tool_is_text(written: Written) -> None:
    row, text = span_of(written, written.write([OSLO]))
    assert judge(row, text, End.STOP, {"now": {}}) == Verdict(failed=Failed.TEXT)


@BY_NAME
def test_a_call_that_was_cut_is_open_or_whole(written: Written) -> None:
    """Its arguments so far are the beginning of an object and no whole one; as text only where it
    is not named yet.
    """
    row, text = span_of(written, written.write([OSLO]))
    named = False
    for end in every_so_many(range(1, len(text))):
        decision = judge(row, text[:end], End.CUT, TOOLS)
        named = named or bool(decision.calls)
        assert bool(decision.calls) is named or row.whole
        for call in decision.calls:
            assert call.name == OSLO[0]
            if call.is_cut:
                assert call.arguments.startswith("{")
                with pytest.raises(ValueError, match=r"\w"):
                    json.loads(call.arguments)
            else:
                assert json.loads(call.arguments) == OSLO[1]


@BY_NAME
def test_a_reply_that_ended_by_itself_gives_the_call_or_an_open_one(written: Written) -> None:
    row, text = span_of(written, written.write([OSLO]))
    for end in every_so_many(range(1, len(text))):
        for call in judge(row, text[:end], End.STOP, TOOLS).calls:
            if not call.is_cut:
                parsed = json.loads(call.arguments)
                assert parsed.items() <= OSLO[1].items()


def test_a_closer_of_a_thought_between_the_parts_of_a_call_says_nothing() -> None:
    city = {"city": "Oslo"}
    for form, text in (
        ("hermes", '{"name": "get_weather",</think>"arguments": {"city": "Oslo"}}\n</think>'),
        (
            "qwen3-coder",
            "<function=get_weather>\n</think><parameter=city>Oslo</parameter>[/THINK]</function>",
        ),
        ("glm", "get_weather\n</think><arg_key>city</arg_key><arg_value>Oslo</arg_value>"),
    ):
        (row,) = (it for it in FORMS if it.name == form)
        assert outcome(judge(row, text, End.CLOSER, TOOLS)) == [("get_weather", city)]
    assert "</think>" in CLOSERS


WHOLE = [
    ("harmony", 'to=functions.now json{}\nassistantcommentary to=functions.now json{"a": 1}', 2),
    ("harmony", "to=functions.now json{} and so", 0),
    ("json", '{"name": "now", "arguments": {}}; {"name": "x", "arguments": {}}', 0),
    ("json", '{"name": "now", "arguments": {}', 0),
    ("python", "[now(), now(a=1)]", 2),
    ("python", "[now()] and so", 0),
]


@pytest.mark.parametrize(("form", "text", "number"), WHOLE)
def test_a_whole_reply_is_calls_and_nothing_else(form: str, text: str, number: int) -> None:
    (row,) = (it for it in FORMS if it.name == form and it.whole)
    decision = judge(row, text, End.STOP, TOOLS)
    assert (len(decision.calls), decision.failed) == (number, None if number else Failed.TEXT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["</parameter> ", "<parameter=city>", "<function=now>", '{"', "\"'", "("]
)
def test_what_is_repeated_is_walked_a_few_times(unit: str) -> None:
    """Hours if marks were walked again for each mark."""
    for form in FORMS:
        head = next((it for it in form.body.starts if it), "")
        text = f"{head}now{unit * 20_000}"
        named = re.sub(r"^\{now", '{"name": "now', text)
        assert not judge(form, named, End.STOP, TOOLS).broken_tool
