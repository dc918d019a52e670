"""The evidence of a reply for its initial state."""

from dataclasses import replace

import pytest

from converter.core.model.events import Event, Text, Thinking, ThinkingEnd
from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Grammar
from converter.core.reading.engine.evidence import Evidence
from converter.core.reading.engine.outcome import Answer
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.findings import Beginning
from converter.core.reading.reading import Expected, Reading

GUESSED = Reading(choose([AUTO]), expected=Expected(InitialState.LIKELY_THINKING))
IN_TEXT = Reading(choose([AUTO]))
ENDED: list[Event] = [Thinking("why"), ThinkingEnd(), Text("so")]


def _concluded(
    reading: Reading, events: list[Event], closed: bool, text: str = "why", finish: str = "stop"
) -> Beginning:
    shown = Beginning()
    evidence = Evidence(reading, shown)
    evidence.read_text(text)
    for event in events:
        evidence.note_event(event)
    evidence.note_finish(finish, closed, ("<think>",))
    return shown


def test_a_thought_that_ends_confirms_the_guess_that_there_was_one() -> None:
    assert _concluded(GUESSED, ENDED, closed=True).confirmed is InitialState.THINKING
    assert _concluded(IN_TEXT, ENDED, closed=True).confirmed is None


def test_a_thought_without_an_end_shows_that_there_was_none() -> None:
    shown = _concluded(GUESSED, [Thinking("so")], closed=False)
    assert shown.correction is InitialState.TEXT
    assert _concluded(GUESSED, [Thinking("so")], closed=False, finish="length").correction is None


@pytest.mark.parametrize("closed", [True, False])
def test_an_opener_a_grammar_or_silence_shows_nothing(closed: bool) -> None:
    by_grammar = replace(GUESSED, expected=replace(GUESSED.expected, grammar=Grammar.JSON))
    shown = [
        _concluded(GUESSED, ENDED, closed, "\n<think>why"),
        _concluded(by_grammar, ENDED, closed),
        _concluded(GUESSED, [], closed),
    ]
    assert [(each.confirmed, each.correction) for each in shown] == [(None, None)] * 3


@pytest.mark.parametrize(
    ("last", "around", "behind", "apart"),
    [
        ("why", "", "so", False),
        ("why.", "", "so", True),
        ("why", "\n", "so", True),
        ("why", "", "\nso", True),
    ],
)
def test_a_closer_at_a_border_stands_apart(
    last: str, around: str, behind: str, apart: bool
) -> None:
    events: list[Event] = [Thinking(last), ThinkingEnd(around=("", around)), Text(behind)]
    assert _concluded(GUESSED, events, closed=True).closer_apart is apart


def test_a_closer_in_the_text_shows_that_the_reply_began_in_a_thought() -> None:
    shown, answer = Beginning(), Answer(0, has_text=True)
    answer.note_unmatched("\n", "</think>")
    Evidence(IN_TEXT, shown).note_closer(answer)
    assert (shown.correction, shown.closer_apart) == (InitialState.THINKING, True)


def test_a_special_token_that_went_shows_it() -> None:
    shown = Beginning()
    Evidence(IN_TEXT, shown).note_closer(Answer(0, dropped_closer=True))
    assert (shown.correction, shown.closer_apart) == (InitialState.THINKING, True)
