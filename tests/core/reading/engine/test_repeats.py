"""Calls that are repeated."""

import pytest

from converter.core.model.events import Event, Text, ToolCall
from converter.core.reading.engine.repeats import Repeats


def _call(index: int, name: str, arguments: str) -> list[Event]:
    return [ToolCall(index, f"call_{index}", name, ""), ToolCall(index, "", "", arguments)]


def test_calls_go_out_as_they_come_until_they_may_repeat() -> None:
    repeats = Repeats()
    assert repeats.feed(_call(0, "now", "{}")) == _call(0, "now", "{}")
    repeats.expect_repeats()
    assert repeats.feed(_call(1, "now", "{ }")) == []
    assert repeats.holds
    assert repeats.feed([Text("a")]) == [Text("a")]
    assert repeats.dropped == [1]


@pytest.mark.parametrize(
    ("other", "same"), [('{"b":2,"a":1.0}', True), ('{"a":true,"b":2}', False)]
)
def test_a_call_is_the_same_if_it_means_the_same(other: str, same: bool) -> None:
    repeats = Repeats()
    repeats.feed(_call(0, "now", '{"a": 1, "b": 2}'))
    repeats.expect_repeats()
    repeats.feed(_call(1, "now", other))
    assert (repeats.release() == []) is same


def test_a_call_that_means_something_else_goes_out_under_the_next_number() -> None:
    repeats = Repeats()
    repeats.feed(_call(0, "now", "{}"))
    repeats.expect_repeats()
    assert repeats.feed([*_call(1, "now", "{}"), *_call(2, "now", '{"a": 1}')]) == []
    out = repeats.release()
    assert [event.index for event in out if isinstance(event, ToolCall)] == [1, 1]


def test_a_call_without_whole_arguments_repeats_none() -> None:
    repeats = Repeats()
    repeats.feed(_call(0, "now", '{"a'))
    repeats.expect_repeats()
    assert repeats.feed(_call(1, "now", '{"a')) == _call(1, "now", '{"a')
