"""Pending parts of thought, answer and calls, and the notes on calls."""

from collections.abc import Sequence

import pytest

from converter.core.model.events import Event, Text, Thinking, ThinkingEnd, ToolCall, joined
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.engine.outcome import Answer, Draft, OpenThought
from converter.core.reading.family_choice import choose
from converter.core.reading.thought import Guess
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire.bounds import GUESS_LIMIT, HELD_LIMIT

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
LONG = "word " * (GUESS_LIMIT // 5 + 1)


def _engine() -> Engine:
    grammar = mark_table(choose(["auto"]), offered=True, reads_calls=True)
    return Engine(grammar, expectations=Expectations({"now": {}}))


def _parts(events: Sequence[Event]) -> list[str]:
    """The words, a thought in parentheses, and the names of calls."""
    parts = []
    for event in joined(list(events)):
        if isinstance(event, Thinking):
            parts.append(f"({event.text})")
        elif isinstance(event, Text):
            parts.append(event.text)
        elif isinstance(event, ToolCall):
            parts.append(event.name)
    return parts


def test_blanks_before_a_call_go_with_it_or_come_before_the_next_text() -> None:
    answer = Answer(0, held_blanks="\n")
    assert answer.emit("a") == [Text("\na")]
    answer.held_blanks = "\n\n"
    assert answer.take_blanks() == "\n\n"
    assert answer.release_blanks() == []
    answer.held_blanks = "\n"
    assert answer.release_blanks() == [Text("\n")]


def test_text_that_a_closer_would_make_a_thought_waits() -> None:
    answer = Answer(2)
    assert answer.emit("a", waits=True) == []
    assert answer.take_waiting() == "a"
    assert answer.take_waiting() == ""


def test_the_answers_closer_counts_once_its_opener_went() -> None:
    answer = Answer(0)
    answer.set_tags_behind("</think>", {"</think>": ("<answer>", "</answer>")})
    assert answer.answer_tags == ("<answer>", "")
    answer.note_tag(opens=True)
    answer.set_tags_behind("", {})
    assert answer.answer_tags == ("", "</answer>")


def test_an_unmatched_closer_behind_text_is_noted() -> None:
    answer = Answer(0)
    answer.note_unmatched("", "</think>")
    assert not answer.unmatched_closer
    answer.emit("a")
    answer.note_unmatched("", "</think>")
    assert answer.unmatched_closer


def test_a_line_end_that_waits_for_a_call_stands_behind_the_closer() -> None:
    answer = Answer(0)
    answer.emit("a")
    answer.note_unmatched("a", "</think>")
    answer.emit("</think>")
    answer.held_blanks = "\n\n"
    answer.emit("<tool_call>")
    assert answer.closer_apart


def test_a_guess_waits_and_is_a_thought_in_the_end() -> None:
    thought = OpenThought(0, guessed=True)
    assert thought.read("so") == []
    assert thought.settle_guess() == [Thinking("so")]
    assert [type(event) for event in thought.end()] == [ThinkingEnd]
    thought.guess = Guess()
    assert thought.read("b") == []
    assert thought.take_guess() == "b"
    assert thought.end() == []


def test_a_thought_knows_its_marks() -> None:
    thought = OpenThought(0, guessed=False)
    assert thought.marks is None
    row = choose(["think-suffix"])[0]
    thought.note_opener(row, "ab")
    assert thought.marks == ("<think:ab>", "</think:ab>")
    assert thought.begun


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<think>I look. {NOW}", ["(I look. )", "now"]),
        (f"<think>I look.\n{NOW}\n</think>b", ["(I look.)", "now", "b"]),
        (f"<think>I look.\n{NOW}\n{NOW}</think>", ["(I look.)", "now", "now"]),
        (f"<think>a\n{NOW}\nno</think>b", [f"(a\n{NOW}\nno)", "b"]),
        (f"<think>a\n{NOW}\nno</think>{NOW}", [f"(a\n{NOW}\nno)", "now"]),
        (f"<think>a\n{NOW}\n{LONG}", [f"(a\n{NOW}\n{LONG})"]),
        (f"<think>a\n{NOW}\nb", ["(a)", "now", "b"]),
    ],
)
def test_a_call_waits_for_what_comes_behind_it(text: str, expected: list[str]) -> None:
    for pieces in ([text], list(text)):
        engine = _engine()
        out = [event for piece in pieces for event in engine.feed(piece)]
        assert _parts([*out, *engine.flush("stop")]) == expected


def test_nothing_of_it_goes_out_before() -> None:
    engine = _engine()
    assert _parts(engine.feed(f"<think>I look.\n{NOW}")) == ["(I look.)"]
    assert engine.holds
    assert engine.plain() is None
    assert _parts(engine.feed("</think>b")) == ["now", "b"]
    assert not engine.holds


def test_a_draft_that_was_none_leaves_no_call_behind() -> None:
    engine = _engine()
    out = [*engine.feed(f"<think>a\n{NOW}\nno</think>{NOW}"), *engine.flush("stop")]
    assert [event.id for event in out if isinstance(event, ToolCall)] == ["call_0"]
    assert len(engine.calls.read) == 1


def test_what_waits_is_bounded() -> None:
    draft = Draft(0, ["a"], 1)
    assert draft.length <= HELD_LIMIT
    draft.feed("b" * HELD_LIMIT)
    assert draft.length > HELD_LIMIT
    assert draft.text_until(left=HELD_LIMIT) == "a"
