"""The fields of a chat-completion frame: calls and counts."""

import pytest

from converter.dialects.openai_chat.frame_fields import tool_calls
from converter.model.events import Own, ToolCall, Usage
from tests.support.frames_of import Json, choice, chunk, entry, said

TOKENS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@pytest.mark.parametrize("unknown", [None, -1, True, "5", 10**400])
def test_a_count_that_is_none_counts_nothing(unknown: object) -> None:
    counted = {"prompt_tokens": unknown, "completion_tokens": unknown}
    (usage,) = [event for event in said(chunk(usage=counted)) if isinstance(event, Usage)]
    assert (usage.input, usage.output) == (0, 0)


CALLS: dict[str, tuple[Json, ToolCall]] = {
    "with an index": (
        entry(3, "f", "{", id="a"),
        ToolCall(
            3, "a", "f", "{", 0, own=Own("openai", {"tool_calls": entry(3, "f", "{", id="a")})
        ),
    ),
    "without an index": (
        entry(None, "f", "{}"),
        ToolCall(0, "", "f", "{}", 0, own=Own("openai", {"tool_calls": entry(None, "f", "{}")})),
    ),
    "with a null index": (
        {"index": None, "function": {"name": "f"}},
        ToolCall(
            0,
            "",
            "f",
            "",
            0,
            own=Own("openai", {"tool_calls": {"index": None, "function": {"name": "f"}}}),
        ),
    ),
    "with null for what is not repeated": (
        {"index": 1, "id": None, "function": {"name": None, "arguments": "1"}},
        ToolCall(
            1,
            "",
            "",
            "1",
            0,
            own=Own(
                "openai",
                {
                    "tool_calls": {
                        "index": 1,
                        "id": None,
                        "function": {"name": None, "arguments": "1"},
                    }
                },
            ),
        ),
    ),
    "with arguments that are no text": (
        {"index": 0, "function": {"name": "f", "arguments": {"a": 1}}},
        ToolCall(
            0,
            "",
            "f",
            '{"a":1}',
            0,
            own=Own(
                "openai",
                {"tool_calls": {"index": 0, "function": {"name": "f", "arguments": {"a": 1}}}},
            ),
        ),
    ),
}


@pytest.mark.parametrize(("sent", "expected"), CALLS.values(), ids=CALLS)
def test_pieces_of_tool_calls(sent: Json, expected: ToolCall) -> None:
    assert said(chunk(choice(delta={"tool_calls": [sent]}))) == [expected]


def test_calls_without_an_index_are_counted() -> None:
    pieces = said(chunk(choice(delta={"tool_calls": [entry(None, "f"), entry(None, "g")]})))
    assert [(piece.index, piece.name) for piece in pieces if isinstance(piece, ToolCall)] == [
        (0, "f"),
        (1, "g"),
    ]


def test_details_of_the_count_are_read() -> None:
    counted = {
        **TOKENS,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    assert said(chunk(usage=counted)) == [
        Usage(7, 5, cached=3, thinking=2, own=Own("openai", counted))
    ]


def test_calls_are_taken_out_of_what_rides_along() -> None:
    for fields in ({"function_call": {"name": "f"}}, {"tool_calls": [{"index": 0}]}):
        inner: dict[str, object] = {**fields, "content": "a"}
        assert len(tool_calls(inner, 0)) == 1
        assert inner == {"content": "a"}
