"""The table that the think parser follows."""

from converter.core.reading.tag_matcher import choose, tag_set
from converter.core.reading.think_states import (
    FIRST_STATE,
    IN_CALL,
    IN_TEXT,
    IN_THOUGHT,
    NEXT_STATE,
    Mode,
    State,
)


def test_every_way_to_begin_has_its_state() -> None:
    assert set(FIRST_STATE) == set(Mode)


def test_every_state_is_reached_and_left() -> None:
    assert {*FIRST_STATE.values(), *NEXT_STATE.values()} == set(State)
    assert {state for state, _ in NEXT_STATE} == set(State)


def test_a_state_is_in_the_text_or_in_a_thought() -> None:
    assert not set(IN_TEXT) & set(IN_THOUGHT)
    assert {*IN_TEXT, *IN_THOUGHT, *IN_CALL, State.CALLED_INSIDE} == set(State)


def test_every_mark_that_a_state_looks_for_has_a_row() -> None:
    tags = tag_set(choose(["auto", "think-answer", "granite"]))
    for state in set(State) - {State.OPENED, *IN_CALL}:
        kinds = set(tags.marks(state)._kinds.values())
        assert {(state, kind) for kind in kinds} <= set(NEXT_STATE), state
