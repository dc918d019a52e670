"""The initial state of a reply whose answer a grammar makes."""

import pytest

from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.engine.grammar_start import GrammarStart
from converter.core.reading.engine.states import State


@pytest.mark.parametrize("mode", [Mode.ANSWERING, Mode.CLOSED, Mode.UNDECIDED])
def test_a_reply_that_begins_in_its_text_does_so_by_any_grammar(mode: Mode) -> None:
    for grammar in Grammar:
        start = GrammarStart(grammar, mode)
        assert start.mode is mode
        assert start.by_first("{") is start.by_length("a" * 5000) is None


def test_json_tells_by_its_first_character() -> None:
    assert GrammarStart(Grammar.JSON, Mode.THINKING).mode is Mode.UNDECIDED
    for text, state in ((' {"a"', State.HEAD), ('"a', State.HEAD), ("So", State.BEGINNING)):
        start = GrammarStart(Grammar.JSON, Mode.THINKING)
        assert start.by_first(text) is state
        assert start.by_first(text) is None


def test_any_other_answer_waits_for_a_mark_but_not_for_ever() -> None:
    start = GrammarStart(Grammar.OTHER, Mode.GUESSED)
    assert start.guessed
    assert start.by_first("So") is None
    assert start.by_length("a" * 4096) is None
    assert start.by_length("a") is State.ANSWERING


def test_without_a_grammar_nothing_is_decided_here() -> None:
    start = GrammarStart(Grammar.NONE, Mode.THINKING)
    assert start.mode is Mode.THINKING
    assert start.by_first("{") is None
