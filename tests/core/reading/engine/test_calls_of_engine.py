"""Candidates in a text: held, decided once, whole."""

import pytest

from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import HELD_LIMIT, WAITING_LIMIT
from tests.support.call_engine import call_engine
from tests.support.tool_call_texts import TOOLS

BEGUN = '<tool_call>{"name": "write_file", "arguments": {"content": "'


def fed(text: str, size: int = 4096) -> tuple[list[Event], str]:
    engine = call_engine(Expectations(TOOLS))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [event for piece in pieces for event in engine.feed(piece)], engine.calls.broken_name


def test_a_call_goes_out_whole_as_soon_as_it_is_decided() -> None:
    engine = call_engine(Expectations(TOOLS))
    assert engine.feed(f"Look.\n{BEGUN}a") == [Text("Look.")]
    assert engine.feed('"}}') == []
    assert engine.feed("</tool_call>") == [ToolCall(0, "call_0", "write_file", '{"content": "a"}')]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "now", "arguments": {"a": "<function=now></function>"}} so', []),
        ('<tool_call>{"name": "now" "x"<function=now></function>}</tool_call>', []),
        ("<tool_call>{broken}</tool_call><function=now></function>", ["now"]),
        ('Sure. call:now{a:"see <tool_call>{"name": "now"}</tool_call>"}', []),
        ('Sure. call:now{a:1}\n<tool_call>{"name": "now"}</tool_call>', ["now"]),
        ("now[ARGS]{}", ["now"]),
        ("now[ARGS]{} is so", []),
        ("I now[ARGS]{}", []),
        ('<|python_tag|>other.call()\n<tool_call>{"name": "now"}</tool_call>', ["now"]),
        ("[TOOL_CALLS]other[ARGS]{}[TOOL_CALLS]now[ARGS]{}", ["now"]),
    ],
)
def test_within_a_candidate_nothing_is_another_call(text: str, calls: list[str]) -> None:
    engine = call_engine(Expectations(TOOLS))
    events = [*engine.feed(text), *engine.flush("stop")]
    assert [event.name for event in events if isinstance(event, ToolCall)] == calls


def test_a_value_may_say_its_calls_end_many_times() -> None:
    value, engine = "</tool_call> or " * 30, call_engine(Expectations(TOOLS))
    engine.feed(f"<tool_call><function=write_file>\n<parameter=path>\n{value}\n</parameter>\n")
    calls = [*engine.feed("</function></tool_call>"), *engine.flush("stop")]
    assert [value in call.arguments for call in calls if isinstance(call, ToolCall)] == [True]


def test_a_call_that_is_longer_than_any_is_broken() -> None:
    out, broken = fed(BEGUN + "a" * (WAITING_LIMIT + 10), 1 << 16)
    assert (out, broken) == ([], "write_file")


def test_what_may_be_no_call_is_text_beyond_its_bound() -> None:
    text = '<tool_call>{"arguments": {"a": "' + "a" * (HELD_LIMIT + 10)
    out, broken = fed(text)
    assert not broken
    assert sum(len(event.text) for event in out if isinstance(event, Text)) > HELD_LIMIT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<tool_call>I look.<function=now></function></tool_call>", "I look."),
        ("<tool_call>I look.\n<function=now></function>", "<tool_call>I look."),
        ("<tool_call><function=now></function> now </tool_call>", "now "),
    ],
)
def test_marks_around_text_and_a_call_are_no_text(text: str, expected: str) -> None:
    for size in (len(text), 1):
        engine = call_engine(Expectations(TOOLS))
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        events = [event for piece in pieces for event in engine.feed(piece)]
        events += engine.flush("stop")
        assert "".join(event.text for event in events if isinstance(event, Text)) == expected
