"""The engine's table: no state without a way out, and no mark that leads nowhere."""

from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.engine.states import (
    COUNTED,
    COUNTING,
    FIRST_STATE,
    IN_TEXT,
    IN_THOUGHT,
    NEXT_STATE,
    SILENT_SO_FAR,
    Follows,
    Group,
    Stands,
    State,
)
from converter.core.reading.family_choice import choose
from converter.core.reading.mark_search import Mark


def test_every_state_is_reached() -> None:
    assert {*FIRST_STATE.values(), *NEXT_STATE.values()} == set(State)


def test_every_state_has_its_marks() -> None:
    assert {*COUNTING} == {*State}
    assert {group for groups in COUNTING.values() for group in groups} == {*Group}


def test_a_state_is_of_one_kind() -> None:
    kinds = [*IN_TEXT, *IN_THOUGHT, State.CALLED_INSIDE]
    assert sorted(kinds, key=list(State).index) == list(State)


def test_a_call_may_begin_in_every_state() -> None:
    for state in State:
        inside = state in IN_THOUGHT or state is State.CALLED_INSIDE
        behind = State.CALLED_INSIDE if inside else State.CALLED
        assert NEXT_STATE[state, Mark.TOOL] is behind


def test_a_call_counts_at_the_end_of_a_reply_and_never_before_text() -> None:
    assert {stands for stands, after in COUNTED if after is Follows.END} == {*Stands} - {
        Stands.ALONE
    }
    assert not {after for _, after in COUNTED} & {Follows.TEXT, Follows.TEXT_AND_CLOSER}


def test_text_ends_what_is_silent() -> None:
    assert not set(SILENT_SO_FAR) & {NEXT_STATE[state, Mark.TEXT] for state in SILENT_SO_FAR}


def test_every_mark_that_a_state_looks_for_has_a_row_or_stays_text() -> None:
    grammar = mark_table(choose(["auto", "think-answer", "granite"]), offered=True)
    for state in set(State) - {State.OPENED}:
        kinds = set(grammar.state_search(state)._kinds.values())
        without = {kind for kind in kinds if (state, kind) not in NEXT_STATE}
        # a closer without its opener, which is only noted
        assert without <= ({Mark.CLOSE} if state in (State.ANSWERING, State.BEHIND) else set())
