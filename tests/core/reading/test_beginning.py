"""Facts about a reply's beginning, and the engine's initial state by them."""

from converter.core.reading.beginning import Mode
from converter.core.reading.engine.states import FIRST_STATE, IN_TEXT, IN_THOUGHT


def test_every_mode_begins_in_a_text_or_in_a_thought() -> None:
    assert set(FIRST_STATE) == set(Mode)
    thinking = {mode for mode, state in FIRST_STATE.items() if state in IN_THOUGHT}
    assert thinking == {Mode.THINKING, Mode.GUESSED}
    assert {FIRST_STATE[mode] for mode in set(Mode) - thinking} <= IN_TEXT
