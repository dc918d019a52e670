"""The engine's stage, held against the machines that it is to replace: the same events."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Finish, Text, Thinking, ToolCall, joined
from converter.core.model.initial_state import InitialState
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, Reading
from converter.core.reading.tag_matcher import choose
from converter.core.reading.think_stage import ThinkStage
from converter.core.reading.tool_calls.stage import ToolCallStage, Tools
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN

CALLS = [written.write([("get_weather", {"city": "Oslo"})]) for written in WRITTEN.values()]
SAID = ["Look.\n", "So ", "\n\n", "`code` ", "<think>", "why</think>", "</think>\n", "<|end|>", "é"]


def _reading(start: InitialState, whole: bool = False) -> Reading:
    expected = Expected(initial=start, tools_offered=True, tools=Tools(TOOLS))
    return Reading(choose(["auto"]), whole=whole, expected=expected)


def _one(reading: Reading, events: Sequence[Event]) -> tuple[list[Event], Findings]:
    findings = Findings()
    stage = ReadingStage(reading, 0, findings, "call_")
    out = [made for event in events for made in stage.feed(event)]
    return joined([*out, *stage.close()]), findings


def _two(reading: Reading, events: Sequence[Event]) -> tuple[list[Event], Findings]:
    findings, tools = Findings(), reading.expected.tools
    assert tools
    first, second = (
        ThinkStage(reading, 0, findings),
        ToolCallStage(tools, 0, "call_", findings.calls),
    )
    out: list[Event] = []
    for event in events:
        out += [made for told in first.feed(event) for made in second.feed(told)]
    out += [made for told in first.close() for made in second.feed(told)]
    return joined([*out, *second.close()]), findings


def _same(reading: Reading, events: Sequence[Event]) -> None:
    (new, found), (old, expected) = _one(reading, events), _two(reading, events)
    assert new == old
    if expected.calls.forms:
        expected.correction = found.correction  # the old ones took a call's closer for a thought's
    assert found == expected


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "around", ["{}", "Look.\n\n{}\n", "<think>why</think>\n{}", "<think>why\n{}"]
)
@pytest.mark.parametrize("start", [InitialState.TEXT, InitialState.LIKELY_THINKING])
def test_calls_are_read_as_by_two_machines(call: str, around: str, start: InitialState) -> None:
    text = around.format(call)
    for pieces in ([text], list(text)):
        _same(_reading(start), [*map(Text, pieces), Finish("stop")])


@law(60)
@given(st.lists(st.sampled_from(SAID), max_size=6), st.data())
def test_words_and_thoughts_are_read_as_by_two_machines(
    parts: list[str], data: st.DataObject
) -> None:
    pieces = data.draw(cut("".join(parts)))
    start = data.draw(st.sampled_from([InitialState.TEXT, InitialState.THINKING]))
    _same(_reading(start, data.draw(st.booleans())), [*map(Text, pieces), Finish("stop")])


def test_the_servers_own_call_ends_the_reading_of_calls() -> None:
    call = ToolCall(0, "x", "now", "{}")
    text = CALLS[0]
    _same(_reading(InitialState.TEXT), [Text(text), call, Text(text), Finish("tool_calls")])
    _same(
        _reading(InitialState.TEXT), [Text("a<think>b"), call, Text("c</think>d"), Finish("stop")]
    )


def test_the_servers_own_thinking_ends_the_reading_of_tags() -> None:
    events: list[Event] = [
        Thinking("why"),
        Text("<think>why</think>\n"),
        Text(f"a<think>b\n{CALLS[0]}"),
    ]
    _same(_reading(InitialState.TEXT), [*events, Finish("stop")])


def test_a_draft_that_is_said_again_is_one_call() -> None:
    call = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    text = f"<think>I look.\n{call}\n</think>\n{call}"
    events, findings = _one(_reading(InitialState.TEXT), [Text(text), Finish("stop")])
    assert [event.name for event in events if isinstance(event, ToolCall)] == ["now"]
    assert findings.calls.repeated == ["now"]
    _same(_reading(InitialState.TEXT), [Text(text), Finish("stop")])
