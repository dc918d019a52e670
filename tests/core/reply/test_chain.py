"""Stages: a chain for each choice, in order."""

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import reading_of
from converter.core.model.events import (
    Event,
    Finish,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    joined,
)
from converter.core.reading.reading import Expected, ExpectedThoughts, ThoughtLimits
from converter.core.reply.chain import LONGEST, Stages, cut_long_texts
from converter.core.reply.stages import STAGES


def _texts(events: list[Event]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__, event.text)
        for event in events
        if isinstance(event, Text | Thinking) and event.text
    ]


def _stages(**chosen: object) -> Stages:
    thoughts = ExpectedThoughts(ThoughtLimits(1), task="task", context="context")
    expected = Expected(thoughts=thoughts)
    return Stages(STAGES, reading_of(settings.read(chosen), expected, whole=False))


def test_thoughts_are_emitted_as_the_budget_leaves_them_and_once() -> None:
    stages = _stages()
    out = stages.feed(Text("<think>abcdefgh</think>so"))
    assert _texts(list(out)) == [("Thinking", "abcd")]
    assert [thought["thought"] for thought in stages.take_thoughts()] == ["abcd"]
    assert stages.take_thoughts() == []


def test_choices_do_not_share_their_stages() -> None:
    stages = Stages(STAGES, reading_of(settings.read(), Expected(), whole=False))
    out = [*stages.feed(Text("<think>a", 0)), *stages.feed(Text("b", 1))]
    assert out == [Thinking("a", 0), Text("b", 1)]


@pytest.mark.parametrize("event", [Finish("stop"), ToolCall(0, "a", "f", "{}")], ids=str)
def test_what_is_held_comes_before_what_starts_or_ends_something(event: Event) -> None:
    stages = Stages(STAGES, reading_of(settings.read(), Expected(), whole=False))
    assert stages.feed(Text("a<thi")) == [Text("a")]
    assert list(stages.feed(event)) == [Text("<thi"), event]


def test_bookkeeping_does_not_wait_for_what_is_held() -> None:
    stages = Stages(STAGES, reading_of(settings.read(), Expected(), whole=False))
    stages.feed(Text("a<thi"))
    assert list(stages.feed(Usage(1, 2))) == [Usage(1, 2)]
    assert stages.close() == [Text("<thi")]
    assert stages.close() == []


def test_an_open_thought_is_ended_at_the_close() -> None:
    stages = Stages(STAGES, reading_of(settings.read(), Expected(), whole=False))
    assert [*stages.feed(Text("<think>a")), *stages.close()] == [Thinking("a"), ThinkingEnd()]


HELD = ("a<thi", "<think>a", "<think>\na\n", "b \n", "let me think. now i", "\ud83d", "b<")


@pytest.mark.parametrize("choice", [0, 1])
@pytest.mark.parametrize("held", HELD, ids=ascii)
def test_a_finish_empties_the_stages_of_its_choice_and_no_others(held: str, choice: int) -> None:
    chosen = settings.read({"blanks": "trim", "markers": True, "loops": "end"})
    thoughts = ExpectedThoughts(folds=True, task="task")
    reading = reading_of(chosen, Expected(thoughts=thoughts, no_thought_due=True), whole=False)
    stages = Stages(STAGES, reading)
    for each in (0, 1):
        stages.feed(Text(held, each))
    stages.feed(Finish("stop", choice=choice))
    own, other = stages._chains[choice], stages._chains[1 - choice]
    assert [list(stage.close()) for stage in own] == [[]] * len(own)
    assert {getattr(event, "choice", None) for event in stages.close()} == {1 - choice}
    assert [list(stage.close()) for stage in other] == [[]] * len(other)


# Long texts go through the stages in pieces, and nobody can tell.

LONG = "a" * (2 * LONGEST + 1)


def test_a_long_text_is_cut_and_joined_again() -> None:
    pieces = cut_long_texts([Text("b"), Text(LONG, 1), Finish("stop")])
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
    assert list(cut_long_texts([event])) == [event]


def test_short_events_are_returned_as_they_are() -> None:
    events = [Text("a"), Text("b")]
    assert cut_long_texts(events) is events
