"""The stage: a parser for each choice, between a decoder and what comes behind."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import (
    Event,
    Failure,
    Finish,
    LateCloser,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    joined,
)
from converter.core.reading.engine.stage import ReadingStage
from converter.core.reading.engine.thought_calls import ThoughtCalls
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Expected, ExpectedCalls, Reading
from converter.core.reading.tool_calls.calls_read import CallsRead, Tools
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import HELD_LIMIT
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
OSLO = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
CUT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Os'


def stage(
    read: CallsRead | None = None, choice: int = 0, ids: str = "call_", **kinds: bool
) -> ReadingStage:
    expected = Expected(calls=ExpectedCalls(True, read=Tools(TOOLS, **kinds)))
    findings = Findings(calls=read or CallsRead())
    return ReadingStage(Reading((), expected=expected), choice, findings, ids)


def run(reading: ReadingStage, *events: Event) -> list[Event]:
    out = [after for event in events for after in fed(reading, event)]
    return joined([*out, *reading.close()])


def fed(reading: ReadingStage, event: Event) -> Sequence[Event]:
    """Return the stage's output for an event, also for the engine's own."""
    return reading._note_all([event]) if isinstance(event, LateCloser) else reading.feed(event)


def calls(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.name, event.arguments) for event in events if isinstance(event, ToolCall)]


def test_content_that_is_a_call_becomes_one() -> None:
    assert run(stage(), Text(f"Look.\n{NOW}"), Finish("stop")) == [
        Text("Look."),
        ToolCall(0, "call_0", "now", "{}"),
        Finish("stop"),
    ]


def test_a_call_is_of_its_choice_and_its_id_is_of_its_reply() -> None:
    reading = stage(choice=2, ids="call_7_2_")
    assert run(reading, Text(NOW, 2)) == [ToolCall(0, "call_7_2_0", "now", "{}", 2)]


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


BROKEN = '<tool_call>{"name": "get_weather", "arguments": {"city"": "Oslo"}}</tool_call>'


@pytest.mark.parametrize("before", ["", "Well.\n", f"{NOW}\n"])
@pytest.mark.parametrize("behind", ["", "\nDone.", f"\n{OSLO}", f"\nThen\n{NOW}{OSLO}\n"])
def test_nothing_behind_a_broken_call_goes_out_wherever_the_text_is_cut(
    before: str, behind: str
) -> None:
    text, outputs = before + BROKEN + behind, []
    for size in (len(text), 7, 1):
        stage_cut, out = stage(), list[Event]()
        for at in range(0, len(text), size):
            out += stage_cut.feed(Text(text[at : at + size]))
        failure = next(at for at, event in enumerate(out) if isinstance(event, Failure))
        outputs.append(joined(out[: failure + 1]))
    assert outputs[0] == outputs[1] == outputs[2]
    assert isinstance(outputs[0][-1], Failure)
    assert calls(outputs[0]) == ([("now", "{}")] if NOW in before else [])


def test_from_the_servers_first_call_on_text_is_text() -> None:
    native = ToolCall(0, "own", "now", "{}", own=own(0))
    assert run(stage(), Text("Look."), native, Text(NOW), Finish("stop")) == [
        Text("Look."),
        native,
        Text(NOW),
        Finish("stop"),
    ]


def test_a_call_that_the_server_tells_as_well_is_one() -> None:
    pieces = [
        ToolCall(0, "own", "get_weather", "", own=own(0)),
        ToolCall(0, "", "", '{"city":', own=own(0)),
        ToolCall(0, "", "", '"Oslo"}', own=own(0)),
    ]
    events = run(stage(), Text(OSLO), *pieces, Finish("stop"))
    assert calls(events) == [("get_weather", '{"city": "Oslo"}')]


def test_another_call_of_the_servers_own_stands_behind_those_that_were_read() -> None:
    native = [
        ToolCall(0, "own", "get_weather", '{"city": "Rome"}', own=own(0)),
        ToolCall(1, "two", "now", "{}"),
    ]
    events = run(stage(), Text(OSLO), *native, Finish("stop"))
    assert [event for event in events if isinstance(event, ToolCall)][1:] == [
        ToolCall(1, "own", "get_weather", '{"city": "Rome"}', own=own(0)),
        ToolCall(2, "two", "now", "{}"),
    ]


def test_a_long_call_of_the_servers_own_is_not_held() -> None:
    reading = stage()
    reading.feed(Text(OSLO))
    piece = ToolCall(0, "own", "write_file", "x" * (HELD_LIMIT + 1))
    assert len(reading.feed(piece)) == 1


# What the request asks.


def test_one_call_at_a_time_where_the_request_wants_that() -> None:
    events = run(stage(parallel=False), Text(NOW + OSLO), Finish("stop"))
    assert events[1:] == [Text(OSLO), Finish("stop")]


def test_where_json_was_requested_a_bare_object_is_the_answer() -> None:
    text = '{"name": "now", "arguments": {}}'
    assert calls(run(stage(), Text(text))) == [("now", "{}")]
    assert run(stage(wants_json=True), Text(text)) == [Text(text)]


# Notes.


def test_what_was_read_is_reported() -> None:
    read = CallsRead()
    run(stage(read), Text(f"{NOW}\n{OSLO}\n[TOOL_CALLS]now[ARGS]{{}}"), Finish("stop"))
    assert read.hints == ["3 calls read from text: hermes, mistral-args"]


@pytest.mark.parametrize("finish", [Finish("length"), Finish("stop", at_limit=True)])
def test_a_call_that_was_cut_off_is_reported(finish: Finish) -> None:
    read = CallsRead()
    run(stage(read), Text(NOW + OSLO.removesuffix("}</tool_call>")), finish)
    assert read.hints == ["1 call read from text: hermes"]
    assert read.notes == ["the call of 'get_weather' in the text was cut off"]


def test_a_call_that_was_cut_off_so_early_that_it_is_text_is_reported() -> None:
    read = CallsRead()
    assert run(stage(read), Text('{"name": "now", "arguments": {'), Finish("length"))
    assert read.notes == ["a call of 'now' was cut off and stays text"]


def test_nothing_read_is_nothing_reported() -> None:
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
    events: list[Event] = [Thinking(f"I look.\n{NOW}"), ThinkingEnd()]
    assert run(stage(read), *events, Finish("stop")) == [
        *events,
        ToolCall(0, "call_0", "now", "{}"),
        Finish("stop"),
    ]
    assert read.hints == ["1 call read from a thought: hermes"]


@pytest.mark.parametrize(
    "behind",
    [
        [Text(OSLO), Finish("stop")],
        [Text(CUT), Finish("stop")],
        [ToolCall(0, "own", "now", "{}"), Finish("stop")],
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
    reading = stage()
    assert reading.plain(Text) is None
    reading.feed(Thinking("why"))
    plain = reading.plain(Thinking)
    assert plain
    assert {"\r", "\n", "<"} <= set(plain[1])  # a call may begin in it
    reading.feed(Text("a <tool"))
    assert reading.plain(Thinking) is None


def test_text_of_the_servers_arguments_comes_out_as_it_is() -> None:
    server = stage()
    assert server.plain(ToolCall) is None
    server.feed(ToolCall(0, "a", "now", '{"a": "b'))
    assert server.plain(ToolCall) == (ToolCall, "")
    server.feed(Text("So"))
    assert server.plain(ToolCall) is None


def test_a_call_that_repeats_the_draft_which_ended_its_thought_is_one() -> None:
    read = CallsRead()
    events = run(stage(read), Text(NOW), LateCloser(), Text(f"So:\n{NOW}"), Finish("stop"))
    assert calls(events) == [("now", "{}")]
    assert events[1:] == [Text("So:"), Finish("stop")]
    assert (read.hints, read.notes) == (
        ["1 call read from text: hermes"],
        ["a call of 'now' repeats one in its thought: left out"],
    )


def test_a_thoughts_closer_behind_a_call_goes_no_further() -> None:
    assert run(stage(), LateCloser(), Text("So.")) == [Text("So.")]


# Calls that repeat the draft which ended their thought.


OSAKA = OSLO.replace("Oslo", "Osaka")


def behind(draft: str, *texts: str, finish: str = "stop") -> list[Event]:
    """The events behind a thought that was closed behind a draft."""
    events = run(stage(), Text(draft), LateCloser(), *map(Text, texts), Finish(finish))
    return [e for e in events if not (isinstance(e, ToolCall) and e.index == 0)]


def test_a_call_that_is_the_draft_goes() -> None:
    assert behind(OSLO, OSLO, "so") == [Text("so"), Finish("stop")]
    assert behind(OSLO, OSLO.replace(": ", ":"), "so") == [Text("so"), Finish("stop")]


@pytest.mark.parametrize(
    "other", [OSAKA, OSLO.replace("get_weather", "now"), OSLO.replace('"}}', '", "days": 3}}')]
)
def test_another_call_passes_as_it_came(other: str) -> None:
    assert calls(behind(OSLO, *other)) == calls(run(stage(), Text(other)))


def test_calls_behind_one_that_went_take_its_number() -> None:
    (call, _) = behind(OSLO, OSLO, OSAKA)
    assert isinstance(call, ToolCall)
    assert call.index == 1


def test_each_draft_is_repeated_once() -> None:
    assert len(calls(behind(OSLO, OSLO, OSLO))) == 1


def test_what_is_cut_off_is_no_repetition() -> None:
    assert len(calls(behind(OSLO, CUT, finish="length"))) == 1


# Calls within a thought: which count, and when.


FORM_NAMES = ["hermes", "qwen3-coder", "qwen3-coder, bare", "glm", "kimi", "minimax", "apertus"]
OTHERS = ["mistral-args", "llama", "cohere", "deepseek", "lfm2"]
UNMARKED = ["json", "fenced", "python"]
OSLO_CALL = ("get_weather", {"city": "Oslo"})
ROME = ("get_weather", {"city": "Rome"})
OTHER = '<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>'


def read(
    *thoughts: str, answered: bool = False, expectations: Expectations | None = None
) -> list[tuple[str, object]]:
    calls = ThoughtCalls(expectations or Expectations(TOOLS))
    for thought in thoughts:
        calls.feed(thought)
        calls.end_thought()
    return [(call.name, json.loads(call.arguments)) for call in calls.take_calls(answered)]


@pytest.mark.parametrize("name", FORM_NAMES)
def test_calls_of_forms_whose_models_call_in_thoughts_count(name: str) -> None:
    thought = f"I look.\n\n{WRITTEN[name].write([OSLO_CALL, ROME])}\n"
    assert read(thought) == read(thought, answered=True) == [OSLO_CALL, ROME]


@pytest.mark.parametrize("name", OTHERS)
def test_calls_of_other_forms_count_where_the_reply_says_nothing_else(name: str) -> None:
    thought = f"I look.\n\n{WRITTEN[name].write([OSLO_CALL])}\nSo it is."
    assert read(thought) == [OSLO_CALL]
    assert read(thought, answered=True) == []


@pytest.mark.parametrize("name", UNMARKED)
def test_calls_without_marks_are_text(name: str) -> None:
    assert read(WRITTEN[name].write([OSLO_CALL])) == []


@pytest.mark.parametrize(
    ("thoughts", "answered", "wanted"),
    [
        ((f"I look.\n{NOW}",), True, ["now"]),
        ((f"{NOW}\n \n",), True, ["now"]),
        ((f"{NOW}\nbut no, that would be wrong.",), True, []),
        ((f"{NOW}\nThen I wait.",), False, ["now"]),
        ((f"{NOW}\nor rather\n{OTHER}",), True, ["get_weather"]),
        ((f"{NOW}\nor rather\n{OTHER}",), False, ["now", "get_weather"]),
        ((f"{NOW}", "Was that right?"), True, ["now"]),
        ((f"{NOW}, no.", f"{OTHER}"), True, ["get_weather"]),
        ((f"{NOW}\n{NOW}",), False, ["now"]),
        ((NOW, NOW), False, ["now"]),
        ((f"I write {NOW} here.",), False, []),
        ((f"`{NOW}` is it.",), False, []),
        ((f"```\n{NOW}\n```",), False, []),
        ((NOW[:-20],), False, []),
        ((f"{NOW[:30]}", f"{NOW[30:]}"), False, []),
    ],
)
def test_a_draft_is_no_call(thoughts: tuple[str, ...], answered: bool, wanted: list[str]) -> None:
    assert [name for name, _ in read(*thoughts, answered=answered)] == wanted


def test_calls_are_counted_anew_and_are_of_their_choice() -> None:
    calls = ThoughtCalls(Expectations(TOOLS, "call_x_", 2))
    calls.feed(f"[TOOL_CALLS]now[ARGS]{{}}\n{NOW}")
    assert calls.take_calls(True) == [ToolCall(0, "call_x_0", "now", "{}", 2)]
    assert calls.forms == ["hermes"]


def test_with_one_call_requested_only_the_first_counts() -> None:
    assert read(f"{NOW}\n{OTHER}", expectations=Expectations(TOOLS, most=1)) == [("now", {})]


def test_too_much_text_in_calls_is_no_calls_and_are_not_kept() -> None:
    calls = ThoughtCalls(Expectations(TOOLS))
    long = '<tool_call>{"name": "write_file", "arguments": {"content": "'
    for piece in (long, *["a" * 1000] * (HELD_LIMIT // 1000 + 100), '"}}</tool_call>', NOW):
        calls.feed(piece)
    assert [call.name for call in calls.take_calls(False)] == ["now"]


@law(200)
@given(st.data())
def test_a_thought_cut_anywhere_has_the_same_calls(data: st.DataObject) -> None:
    pieces = st.sampled_from([NOW, OTHER, "\n", "I look. ", "`", "a ", NOW[:20], "```\n"])
    thought = "".join(data.draw(st.lists(pieces, max_size=6)))
    answered = data.draw(st.booleans())
    calls = ThoughtCalls(Expectations(TOOLS))
    for piece in data.draw(cut(thought)):
        calls.feed(piece)
    got = [(call.name, json.loads(call.arguments)) for call in calls.take_calls(answered)]
    assert got == read(thought, answered=answered)


# What waits behind a call that is held.


@pytest.mark.parametrize(
    ("rest", "behind"),
    [
        (OSLO[len(CUT) :], [("get_weather", '{"city": "Oslo"}'), ("now", "{}")]),
        ("", [("get_weather", '{"city": "Os'), ("now", "{}")]),
    ],
)
def test_the_servers_own_waits_behind_a_call_that_is_held(
    rest: str, behind: list[tuple[str, str]]
) -> None:
    reading, native = stage(), ToolCall(0, "own", "now", "{}", own=own(0))
    assert reading.feed(Text(CUT)) == []
    for event in (Thinking("hm"), ThinkingEnd(), native):
        assert reading.feed(event) == []
    assert reading.feed(Usage(1, 2)) == [Usage(1, 2)]
    out = [*reading.feed(Text(rest))] if rest else []
    out += reading.feed(Finish("length"))
    assert calls(out) == behind
    assert [type(event) for event in out][:3] == [ToolCall, Thinking, ThinkingEnd]
    assert out[-1] == Finish("length")


# The markup of a call in the server's thought.


@pytest.mark.parametrize("size", [1, 1000])
def test_the_markup_of_a_call_that_went_out_is_no_thinking(size: int) -> None:
    reading, text = stage(), f"I look.\n{NOW}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    out = [event for piece in pieces for event in reading.feed(Thinking(piece))]
    assert "".join(event.text for event in out if isinstance(event, Thinking)).rstrip() == "I look."
    assert reading.feed(Finish("stop")) == [ToolCall(0, "call_0", "now", "{}"), Finish("stop")]


def test_text_of_a_thought_that_waited_goes_out_under_the_servers_names() -> None:
    received = [Thinking(text, own=Own("chat", {"reasoning": text})) for text in (f"a\n{NOW}", "b")]
    out = joined(run(stage(), *received), fields=True)
    assert out == [Thinking(f"a\n{NOW}b", own=Own("chat", {"reasoning": "a\n"}))]


@pytest.mark.parametrize("behind", [" So.", ""])
def test_the_markup_of_a_draft_stays_thinking(behind: str) -> None:
    reading, thought = stage(), f"I look.\n{OSLO}{behind}"
    out = [event for piece in thought for event in reading.feed(Thinking(piece))]
    out += [*reading.feed(Text("Yes.")), *reading.feed(Finish("length"))]
    assert joined(out) == [Thinking(thought), Text("Yes."), Finish("length")]
