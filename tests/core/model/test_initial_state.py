"""The three values that say where a reply begins."""

import pytest

from converter.addon.exchange import settings
from converter.core.model.initial_state import InitialState


@pytest.mark.parametrize("learned", InitialState)
@pytest.mark.parametrize("chosen", [InitialState.TEXT, InitialState.THINKING])
def test_what_the_user_chose_goes_before_what_was_learned(
    chosen: InitialState, learned: InitialState
) -> None:
    assert chosen.or_else(learned) is chosen


@pytest.mark.parametrize("learned", InitialState)
def test_auto_leaves_it_to_what_was_learned(learned: InitialState) -> None:
    assert InitialState.AUTO.or_else(learned) is learned


def test_the_option_has_a_choice_for_each_value_but_a_guess() -> None:
    row = next(option for option in settings.OPTIONS if option.name == "start")
    guess = InitialState.LIKELY_THINKING
    assert row.choices == tuple(state.value for state in InitialState if state is not guess)


def test_a_guess_begins_inside_as_well() -> None:
    inside = [state for state in InitialState if state.inside]
    assert inside == [InitialState.THINKING, InitialState.LIKELY_THINKING]
