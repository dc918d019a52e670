"""The settings of a reply's reading."""

import pytest

from converter.core.model.initial_state import InitialState
from converter.core.reading.beginning import Mode
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.reading import Expected, Reading

TAGS = choose([AUTO])
TEXT, THINKING, UNSAID = InitialState.TEXT, InitialState.THINKING, InitialState.AUTO


@pytest.mark.parametrize(
    ("chosen", "learned", "inside"),
    [
        (UNSAID, TEXT, False),
        (UNSAID, THINKING, True),
        (TEXT, THINKING, False),
        (THINKING, TEXT, True),
    ],
)
def test_the_users_word_goes_before_the_guess(
    chosen: InitialState, learned: InitialState, inside: bool
) -> None:
    reading = Reading(TAGS, chosen_start=chosen, expected=Expected(learned))
    assert reading.inside is inside
    assert reading.mode is (Mode.THINKING if inside else Mode.ANSWERING)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("chosen", "learned", "mode"),
    [
        (UNSAID, TEXT, Mode.CLOSED),
        (TEXT, TEXT, Mode.CLOSED),
        (TEXT, THINKING, Mode.CLOSED),
        (UNSAID, THINKING, Mode.THINKING),
        (UNSAID, InitialState.LIKELY_THINKING, Mode.GUESSED),
        (THINKING, TEXT, Mode.THINKING),
    ],
)
def test_with_thinking_off_streamed_and_whole_replies_begin_alike(
    whole: bool, chosen: InitialState, learned: InitialState, mode: Mode
) -> None:
    expected = Expected(learned, off=True)
    assert Reading(TAGS, chosen_start=chosen, whole=whole, expected=expected).mode is mode


def test_only_a_whole_reply_without_an_initial_state_decides_by_itself() -> None:
    modes = {Reading(TAGS, chosen_start=UNSAID, whole=whole).mode for whole in (False, True)}
    assert modes == {Mode.ANSWERING, Mode.UNDECIDED}
