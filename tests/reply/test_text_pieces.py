"""Long texts go through the stages in pieces, and nobody can tell."""

import pytest

from converter.model.events import Event, Finish, Own, Text, Thinking, ThinkingEnd
from converter.reply.text_pieces import LONGEST, in_pieces, joined

LONG = "a" * (2 * LONGEST + 1)


def test_a_long_text_is_cut_and_joined_again() -> None:
    pieces = in_pieces([Text("b"), Text(LONG, 1), Finish("stop")])
    assert [len(piece.text) for piece in pieces if isinstance(piece, Text)] == [
        1,
        LONGEST,
        LONGEST,
        1,
    ]
    assert joined(pieces) == [Text("b"), Text(LONG, 1), Finish("stop")]


@pytest.mark.parametrize(
    "event",
    [
        Text("a" * LONGEST),
        Text(LONG, refusal=True),
        Text(LONG, own=Own("openai")),
        Thinking(LONG, own=Own("openai", {"reasoning": LONG})),
    ],
    ids=["short", "refusal", "in parts", "of the server's own field"],
)
def test_what_no_stage_searches_stays_whole(event: Text | Thinking) -> None:
    assert list(in_pieces([event])) == [event]


def test_short_events_are_given_back_as_they_are() -> None:
    events = [Text("a"), Text("b")]
    assert in_pieces(events) is events


def test_only_words_of_one_kind_and_choice_are_joined() -> None:
    events: list[Event] = [
        Thinking("a"),
        Thinking("b"),
        ThinkingEnd(),
        Text("c"),
        Text("d", 1),
        Text("e", 1),
        Text("f", own=Own("openai")),
        Text("g", refusal=True),
    ]
    assert joined(events) == [
        Thinking("ab"),
        ThinkingEnd(),
        Text("c"),
        Text("de", 1),
        Text("f", own=Own("openai")),
        Text("g", refusal=True),
    ]
