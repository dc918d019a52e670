"""Calls that a stop string of the request cut off."""

import pytest

from converter.model.events import Event, Finish, Text, Thinking, ToolCall
from converter.parsing.stopped_calls import StoppedCalls

CUT = [ToolCall(0, "a", "weather", '{"city"'), ToolCall(0, "", "", ': "Os')]
WHOLE = [ToolCall(0, "a", "weather", '{"city": "Os"'), ToolCall(0, "", "", "}")]
NO_OBJECT = [ToolCall(0, "a", "weather", '{"city" "Oslo"')]


def finish(pieces: list[ToolCall], said: Finish, strings: tuple[str, ...] = ("lo",)) -> Event:
    """The last event of a reply of these calls."""
    stage = StoppedCalls(strings)
    events: list[Event] = [*pieces, said]
    out = [made for event in events for made in stage.feed(event)]
    assert out[:-1] == pieces
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
    "pieces",
    [
        [],
        WHOLE,
        [*CUT, ToolCall(1, "b", "now", "{}")],
        NO_OBJECT,
        [ToolCall(0, "a", "now", "")],
    ],
    ids=["none", "whole", "whole behind one that is not", "no JSON", "no arguments"],
)
def test_a_reply_whose_last_call_is_not_cut_ends_as_the_server_says(pieces: list[ToolCall]) -> None:
    assert finish(pieces, Finish("tool_calls")) == Finish("tool_calls")


@pytest.mark.parametrize(
    "second",
    [ToolCall(1, "b", "now", '{"a'), ToolCall(0, "b", "now", '{"a'), ToolCall(0, "", "now", '{"a')],
    ids=["by its index", "by its id", "by its name"],
)
def test_the_last_call_counts_however_it_begins(second: ToolCall) -> None:
    assert finish([*WHOLE, second], Finish("tool_calls")) == Finish("stop", "lo")


def test_a_name_told_again_begins_no_call() -> None:
    again = [CUT[0], ToolCall(0, "a", "weather", ': "Oslo"}')]
    assert finish(again, Finish("tool_calls")) == Finish("tool_calls")


def test_words_pass_as_they_are() -> None:
    stage = StoppedCalls(("lo",))
    assert (stage.plain(Text), stage.plain(Thinking)) == ((Text, ""), (Thinking, ""))
    assert stage.feed(Text("a")) == [Text("a")]
