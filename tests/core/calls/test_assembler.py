"""Pieces of calls as servers send them, put together against the offered tools."""

import pytest

from converter.core.calls.assembler import Assembler, Offer
from converter.core.calls.ids import CallIds
from converter.core.model.events import Event, Failure, Finish, Own, Text, Thinking, ToolCall

CUT = [ToolCall(0, "a", "weather", '{"city"'), ToolCall(0, "", "", ': "Os')]
WHOLE = [ToolCall(0, "a", "weather", '{"city": "Os"'), ToolCall(0, "", "", "}")]
NO_OBJECT = [ToolCall(0, "a", "weather", '{"city" "Oslo"')]


def judged(*events: Event, taken: tuple[str, ...] = ()) -> list[Event]:
    stage = Assembler(Offer(), CallIds(frozenset(taken), "x"), [])
    return [emitted for event in events for emitted in stage.feed(event)]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call"])
@pytest.mark.parametrize("pieces", [CUT, NO_OBJECT], ids=["cut", "no JSON"])
def test_a_call_without_meaning_ends_the_reply_in_a_failure(
    pieces: list[ToolCall], reason: str
) -> None:
    out = judged(*pieces, Finish(reason))
    assert any(isinstance(event, Failure) for event in out)
    assert not any(isinstance(event, ToolCall) and event.ends for event in out)


def test_a_bracket_missing_at_the_end_is_put_there_where_the_calls_are_over() -> None:
    piece = ToolCall(0, "a", "weather", '{"city": "Oslo"')
    *_, last, finish = judged(piece, Finish("tool_calls"))
    assert isinstance(last, ToolCall)
    assert (last.arguments, last.ends, finish) == ("}", True, Finish("tool_calls"))
    assert isinstance(judged(piece, Finish("stop"))[-1], Failure)


def test_what_is_json_passes_as_it_came() -> None:
    assert judged(*WHOLE, Finish("tool_calls")) == [*WHOLE, Finish("tool_calls")]


@pytest.mark.parametrize(
    ("pieces", "ended", "wanted"),
    [
        (WHOLE, Finish("stop"), Finish("tool_calls")),
        (WHOLE, Finish("stop", "</tool_call>"), Finish("tool_calls", "</tool_call>")),
        (WHOLE, Finish("length"), Finish("length")),
        (WHOLE, Finish("content_filter"), Finish("content_filter")),
        ([], Finish("stop"), Finish("stop")),
    ],
)
def test_a_stop_behind_whole_calls_is_that_of_calls(
    pieces: list[ToolCall], ended: Finish, wanted: Finish
) -> None:
    assert judged(*pieces, ended)[-1] == wanted


def test_a_call_waits_until_the_call_before_it_is_whole() -> None:
    second = [ToolCall(1, "b", "time", '{"zone":'), ToolCall(1, "", "", '"CET"}')]
    out = judged(WHOLE[0], second[0], Text("a"), second[1], WHOLE[1], Finish("tool_calls"))
    joint = ToolCall(1, "b", "time", '{"zone":"CET"}', ends=True)
    assert out == [WHOLE[0], Text("a"), WHOLE[1], joint, Finish("tool_calls")]


def test_an_id_of_the_history_is_not_used_again() -> None:
    ids = [
        event.id
        for event in judged(ToolCall(0, "a", "f", "{}"), ToolCall(1, "b", "f", "{}"), taken=("a",))
        if isinstance(event, ToolCall)
    ]
    assert len({*ids, "a"}) == 3
    assert ids[1] == "b"


def finish(pieces: list[ToolCall], ended: Finish, strings: tuple[str, ...] = ("lo",)) -> Event:
    """The last event of a reply of these calls."""
    stage = Assembler(Offer(stop_strings=strings), CallIds(frozenset(), "x"), [])
    events: list[Event] = [*pieces, ended]
    out = [emitted for event in events for emitted in stage.feed(event)]
    assert stage.close() == []
    return out[-1]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call"])
def test_a_call_without_its_end_was_stopped_whatever_the_server_says(reason: str) -> None:
    assert finish(CUT, Finish(reason)) == Finish("stop", "lo")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_limit_and_a_filter_keep_their_word(reason: str) -> None:
    assert finish(CUT, Finish(reason)) == Finish(reason)


def test_of_several_strings_nobody_knows_which_it_was() -> None:
    assert finish(CUT, Finish("tool_calls"), ("lo", "}")) == Finish("stop", "")


def test_a_string_that_the_server_names_is_the_one() -> None:
    assert finish(CUT, Finish("tool_calls", "}"), ("lo", "}")) == Finish("stop", "}")


@pytest.mark.parametrize(
    "pieces", [WHOLE, [ToolCall(0, "a", "now", "")]], ids=["whole", "no arguments"]
)
def test_a_reply_whose_last_call_is_not_cut_ends_as_the_server_says(pieces: list[ToolCall]) -> None:
    assert finish(pieces, Finish("tool_calls")) == Finish("tool_calls")


def test_a_finish_of_calls_without_any_call_is_a_stop() -> None:
    assert finish([], Finish("tool_calls")) == Finish("stop")


@pytest.mark.parametrize(
    "second",
    [ToolCall(1, "b", "now", '{"a'), ToolCall(0, "b", "now", '{"a'), ToolCall(0, "", "now", '{"a')],
    ids=["by its index", "by its id", "by its name"],
)
def test_the_last_call_counts_however_it_begins(second: ToolCall) -> None:
    assert finish([*WHOLE, second], Finish("tool_calls")) == Finish("stop", "lo")


def test_a_name_sent_again_begins_no_call() -> None:
    again = [CUT[0], ToolCall(0, "a", "weather", ': "Oslo"}')]
    assert finish(again, Finish("tool_calls")) == Finish("tool_calls")


def test_text_passes_as_it_is() -> None:
    stage = Assembler(Offer(stop_strings=("lo",)), CallIds(frozenset(), "x"), [])
    assert (stage.plain(Text), stage.plain(Thinking)) == ((Text, ""), (Thinking, ""))
    assert stage.feed(Text("a")) == [Text("a")]


def test_text_within_a_string_of_the_only_open_call_passes_as_it_is() -> None:
    stage, not_plain = Assembler(Offer(), CallIds(frozenset(), "x"), []), '"\r\n\t'
    assert stage.plain(ToolCall) is None
    for piece in CUT:
        stage.feed(piece)
    assert stage.plain(ToolCall) == (ToolCall, not_plain)
    stage.feed(ToolCall(1, "b", "weather", '{"city": "Ro'))
    assert stage.plain(ToolCall) is None
    stage.feed(ToolCall(0, "", "", 'lo"}'))
    assert stage.plain(ToolCall) == (ToolCall, not_plain)
    stage.feed(ToolCall(1, "", "", 'me"'))
    assert stage.plain(ToolCall) is None


@pytest.mark.parametrize("field", ["tool_calls", "function_call"])
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_the_finish_stop_becomes_that_of_the_kind_of_call(field: str, reason: str) -> None:
    piece = ToolCall(0, "a", "look", "{}", own=Own("openai", {field: {}}))
    *_, finish = judged(piece, Finish(reason))
    assert finish == Finish(field if reason == "stop" else reason)
