"""A reply at a glance: events go in with the times at which they came."""

import pytest

from converter.core.model.events import (
    Event,
    Failure,
    Finish,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reply.summary import Summary, describe_thinking
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def summed(*events: tuple[float, Event], end: float = 9.0) -> dict[str, object]:
    summary = Summary()
    for at, event in events:
        summary.arrived(at)
        summary.feed(event, at)
    summary.arrived(end)
    summary.close(end)
    return summary.values()


USUAL = summed(
    (0.5, Start("a", "small")),
    (1.0, Thinking("I ")),
    (2.0, Thinking("add.")),
    (3.0, ThinkingEnd()),
    (3.5, Text("It is 4.")),
    (4.0, Finish("stop")),
    (4.5, Usage(7, 5, cached=2, thinking=3)),
    end=5.0,
)


def test_a_usual_reply() -> None:
    assert USUAL == {
        "model": "small",
        "finish": "stop",
        "thoughts": 1,
        "thinking": 6,
        "text": 8,
        "calls": 0,
        "input_tokens": 7,
        "output_tokens": 5,
        "thinking_tokens": 3,
        "cached_tokens": 2,
        "first_byte": 0.5,
        "first_thought": 1.0,
        "first_text": 3.5,
        "thinking_time": 2.0,
        "end": 5.0,
    }


ENDS: dict[str, Event] = {
    "its end": ThinkingEnd(),
    "text": Text("b"),
    "a call": ToolCall(0, "1", "f", ""),
    "the finish": Finish("stop"),
}


@pytest.mark.parametrize("event", ENDS.values(), ids=ENDS)
def test_a_thought_lasts_until(event: Event) -> None:
    assert summed((1.0, Thinking("a")), (3.0, event), (4.0, Text("c")))["thinking_time"] == 2.0


def test_a_thought_that_nothing_ends_lasts_to_the_end_of_the_reply() -> None:
    assert summed((1.0, Thinking("a")), end=8.0)["thinking_time"] == 7.0


def test_thoughts_are_counted_one_after_another_and_by_choice() -> None:
    sums = summed(
        (1.0, Thinking("a")),
        (1.0, Thinking("b", choice=1)),
        (2.0, ThinkingEnd()),
        (3.0, ThinkingEnd(choice=1)),
        (4.0, Thinking("c")),
        (4.5, Text("d")),
    )
    assert (sums["thoughts"], sums["thinking"], sums["thinking_time"]) == (3, 3, 3.5)


def test_blanks_begin_neither_a_thought_nor_an_answer() -> None:
    sums = summed(
        (1.0, Thinking("\n")),
        (2.0, Text(" \n")),
        (3.0, Thinking("a")),
        (4.0, Text("\n")),
        (5.0, Text("b")),
    )
    assert (sums["first_thought"], sums["first_text"], sums["thoughts"], sums["thinking_time"]) == (
        3.0,
        5.0,
        1,
        2.0,
    )


def test_calls_are_counted_by_their_names() -> None:
    assert summed((1.0, ToolCall(0, "1", "f", "")), (2.0, ToolCall(0, "", "", "{}")))["calls"] == 1


def test_a_failure_is_kept_and_what_was_not_reported_is_left_out() -> None:
    assert summed((1.0, Failure("out of memory"))) == {
        "failure": "out of memory",
        "thoughts": 0,
        "thinking": 0,
        "text": 0,
        "calls": 0,
        "first_byte": 1.0,
        "thinking_time": 0.0,
        "end": 9.0,
    }


LINES = ROWS["lines"]


@pytest.mark.parametrize(("values", "expected"), LINES.values(), ids=LINES)
def test_in_text(values: dict[str, object], expected: str) -> None:
    assert describe_thinking(values) == expected


def test_where_calls_stood_that_were_read_from_text_is_reported_once() -> None:
    read = [ToolCall(0, "1", "f", "{}", read_from="text (hermes)")] * 2
    other = ToolCall(1, "2", "g", "{}", read_from="a thought (glm)")
    sums = summed(*((1.0, event) for event in (*read, other, ToolCall(2, "3", "h", ""))))
    assert (sums["calls"], sums["calls_read_from"]) == (4, "text (hermes), a thought (glm)")


def test_llama_cpps_timings_count_where_no_usage_came() -> None:
    timings = {"prompt_n": 13, "cache_n": 7, "predicted_n": 50}
    summary = Summary()
    summary.feed(Start("1", "small", own=Own("openai", {"timings": timings})), 0.0)
    sums = summary.values()
    assert (sums["input_tokens"], sums["cached_tokens"], sums["output_tokens"]) == (20, 7, 50)
    summary.feed(Usage(1, 2), 0.1)
    assert (summary.values()["input_tokens"], summary.values()["output_tokens"]) == (1, 2)
