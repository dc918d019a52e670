"""Runs of words among events."""

from converter.model.events import Event, Finish, Own, Text, Thinking
from converter.transcript.reply import joined


def test_neighbours_of_one_kind_and_place_are_one() -> None:
    events: list[Event] = [Text("a"), Text("b"), Thinking("c"), Finish("stop"), Text("d")]
    assert list(joined(events)) == [Text("ab"), Thinking("c"), Finish("stop"), Text("d")]


def test_words_of_two_choices_or_fields_stay_apart() -> None:
    apart: list[Event] = [
        Text("a"),
        Text("b", 1),
        Text("c", 1, refusal=True),
        Thinking("d"),
        Thinking("e", own=Own("openai", {"reasoning": "e"})),
    ]
    assert list(joined(apart)) == apart
