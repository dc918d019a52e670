"""The stage: a parser for each choice, between a decoder and what comes behind."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.model.events import (
    Event,
    Finish,
    LateCloser,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.parsing.tool_calls.pieces import joined
from converter.parsing.tool_calls.stage import CallsRead, ToolCallStage, Tools
from converter.wire.bounds import HELD_LIMIT
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
OSLO = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
CUT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Os'


def stage(read: CallsRead | None = None, **kinds: bool) -> ToolCallStage:
    return ToolCallStage(Tools(TOOLS, **kinds), 0, "call_", read or CallsRead())


def run(made: ToolCallStage, *events: Event) -> list[Event]:
    out = [after for event in events for after in made.feed(event)]
    return joined([*out, *made.close()])


def calls(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.name, event.arguments) for event in events if isinstance(event, ToolCall)]


def test_content_that_is_a_call_becomes_one_and_the_finish_says_so() -> None:
    assert run(stage(), Text(f"Look.\n{NOW}"), Finish("stop")) == [
        Text("Look."),
        ToolCall(0, "call_0", "now", "{}"),
        Finish("tool_calls"),
    ]


def test_a_call_is_of_its_choice_and_its_id_is_of_its_reply() -> None:
    made = ToolCallStage(Tools(TOOLS), 2, "call_7_2_", CallsRead())
    assert run(made, Text(NOW, 2)) == [ToolCall(0, "call_7_2_0", "now", "{}", 2)]


@pytest.mark.parametrize(
    ("text", "reason", "wanted"),
    [
        (NOW, "stop", "tool_calls"),
        (NOW, "length", "length"),
        (NOW, "content_filter", "content_filter"),
        (CUT, "stop", "stop"),
        (CUT, "length", "length"),
        (NOW + CUT, "stop", "tool_calls"),
        ("no call", "stop", "stop"),
    ],
)
def test_only_a_stop_after_whole_calls_becomes_tool_calls(
    text: str, reason: str, wanted: str
) -> None:
    assert run(stage(), Text(text), Finish(reason))[-1] == Finish(wanted)


def test_a_stop_string_is_kept_with_the_finish() -> None:
    assert run(stage(), Text(NOW), Finish("stop", "</tool_call>"))[-1] == Finish(
        "tool_calls", "</tool_call>"
    )


@pytest.mark.parametrize(
    "event",
    [
        Thinking("t"),
        Finish("stop"),
        ToolCall(0, "i", "n", "{}"),
        Text("r", refusal=True),
        Text("p", own=Own("x")),
    ],
)
def test_what_starts_or_ends_something_comes_behind_held_text(event: Event) -> None:
    assert run(stage(), Text("a \n<tool_c"), event)[:2] == [Text("a \n<tool_c"), event]


@pytest.mark.parametrize("event", [Usage(1, 2), Start("i", "m"), ThinkingEnd()])
def test_bookkeeping_passes_held_text(event: Event) -> None:
    assert run(stage(), Text("a <tool_c"), event, Text("all")) == [
        Text("a "),
        event,
        Text("<tool_call"),
    ]


# Calls of the server's own.


def own(index: int) -> Own:
    return Own("openai_chat", {"tool_calls": {"index": index, "x": 1}})


def test_from_the_servers_first_call_on_text_is_text() -> None:
    native = ToolCall(0, "own", "now", "{}", own=own(0))
    assert run(stage(), Text("Look."), native, Text(NOW), Finish("tool_calls")) == [
        Text("Look."),
        native,
        Text(NOW),
        Finish("tool_calls"),
    ]


def test_a_call_that_the_server_tells_as_well_is_one() -> None:
    pieces = [
        ToolCall(0, "own", "get_weather", "", own=own(0)),
        ToolCall(0, "", "", '{"city":', own=own(0)),
        ToolCall(0, "", "", '"Oslo"}', own=own(0)),
    ]
    events = run(stage(), Text(OSLO), *pieces, Finish("tool_calls"))
    assert calls(events) == [("get_weather", '{"city": "Oslo"}')]


def test_another_call_of_the_servers_own_stands_behind_those_that_were_read() -> None:
    native = [
        ToolCall(0, "own", "get_weather", '{"city": "Rome"}', own=own(0)),
        ToolCall(1, "two", "now", "{}"),
    ]
    events = run(stage(), Text(OSLO), *native, Finish("tool_calls"))
    assert [event for event in events if isinstance(event, ToolCall)][1:] == [
        ToolCall(1, "own", "get_weather", '{"city": "Rome"}', own=own(0)),
        ToolCall(2, "two", "now", "{}"),
    ]


def test_a_long_call_of_the_servers_own_is_not_held() -> None:
    made = stage()
    made.feed(Text(OSLO))
    piece = ToolCall(0, "own", "write_file", "x" * (HELD_LIMIT + 1))
    assert len(made.feed(piece)) == 1


# What the request asks.


def test_one_call_at_a_time_where_the_request_wants_that() -> None:
    events = run(stage(parallel=False), Text(NOW + OSLO), Finish("stop"))
    assert events[1:] == [Text(OSLO), Finish("tool_calls")]


def test_where_json_was_asked_for_a_bare_object_is_the_answer() -> None:
    text = '{"name": "now", "arguments": {}}'
    assert calls(run(stage(), Text(text))) == [("now", "{}")]
    assert run(stage(wants_json=True), Text(text)) == [Text(text)]


# Notes.


def test_what_was_read_is_told() -> None:
    read = CallsRead()
    run(stage(read), Text(f"{NOW}\n{OSLO}\n[TOOL_CALLS]now[ARGS]{{}}"), Finish("stop"))
    assert read.hints == ["3 calls read from text: hermes, mistral-args"]


def test_a_call_that_was_cut_off_is_told() -> None:
    read = CallsRead()
    run(stage(read), Text(NOW + CUT), Finish("length"))
    assert read.hints == ["1 call read from text: hermes"]
    assert read.notes == ["the call of 'get_weather' in the text was cut off"]


def test_a_call_that_was_cut_off_so_early_that_it_is_text_is_told() -> None:
    read = CallsRead()
    assert run(stage(read), Text('<tool_call>{"name": "now", "arg'), Finish("length"))
    assert read.notes == ["a call of 'now' was cut off and stays text"]


def test_nothing_read_is_nothing_told() -> None:
    read = CallsRead()
    run(stage(read), Text("a"), Finish("stop"))
    assert (read.hints, read.notes) == ([], [])


@law(200)
@given(st.data())
def test_cut_anywhere_the_same_events(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([f"a\n{NOW}\nb", OSLO + NOW, CUT, f"say {NOW} so", "x\n\n"]))
    pieces = [Text(piece) for piece in data.draw(cut(text))]
    assert run(stage(), *pieces, Finish("stop")) == run(stage(), Text(text), Finish("stop"))


# Calls in thoughts.


def test_a_call_in_a_thought_counts_where_the_reply_has_no_other() -> None:
    read = CallsRead()
    said: list[Event] = [Thinking(f"I look.\n{NOW}"), ThinkingEnd()]
    assert run(stage(read), *said, Finish("stop")) == [
        *said,
        ToolCall(0, "call_0", "now", "{}"),
        Finish("tool_calls"),
    ]
    assert read.hints == ["1 call read from a thought: hermes"]


@pytest.mark.parametrize(
    "behind",
    [
        [Text(OSLO), Finish("stop")],
        [Text(CUT), Finish("stop")],
        [ToolCall(0, "own", "now", "{}"), Finish("tool_calls")],
        [Finish("length")],
        [Finish("content_filter")],
        [],
    ],
    ids=["call", "call cut off", "server's call", "limit", "filter", "broken off"],
)
def test_with_another_call_or_cut_off_it_stays_a_draft(behind: list[Event]) -> None:
    read = CallsRead()
    run(stage(read), Thinking(f"I look.\n{NOW}"), *behind)
    assert read.hints == (["1 call read from text: hermes"] if Text(OSLO) in behind else [])


@pytest.mark.parametrize(
    ("thought", "answer", "counts"),
    [
        (f"{NOW}", "Let me look.", True),
        (f"{NOW}\nNo.", "I will not.", False),
        (f"{NOW}\nNo.", "\n\n", True),
    ],
)
def test_a_draft_behind_which_there_is_an_answer_is_none(
    thought: str, answer: str, counts: bool
) -> None:
    out = run(stage(), Thinking(thought), Text(answer), Finish("stop"))
    assert calls(out) == ([("now", "{}")] if counts else [])
    assert out[:2] == [Thinking(thought), Text(answer)]


def test_thoughts_go_out_as_they_come_while_text_waits_for_its_head() -> None:
    made = stage()
    assert made.plain(Text) is None
    assert made.plain(Thinking) == (Thinking, "")
    made.feed(Text("a <tool"))
    assert made.plain(Thinking) is None


def test_a_call_that_repeats_the_draft_which_ended_its_thought_is_one() -> None:
    read = CallsRead()
    events = run(stage(read), Text(NOW), LateCloser(), Text(f"So:\n{NOW}"), Finish("stop"))
    assert calls(events) == [("now", "{}")]
    assert events[1:] == [Text("So:"), Finish("tool_calls")]
    assert (read.hints, read.notes) == (
        ["1 call read from text: hermes"],
        ["a call of 'now' repeats one in its thought: left out"],
    )


def test_a_thoughts_closer_behind_a_call_goes_no_further() -> None:
    assert run(stage(), LateCloser(), Text("So.")) == [Text("So.")]
