"""The marks that count, by place."""

import pytest

from converter.core.reading.engine.mark_table import CALL_MARKS, mark_table
from converter.core.reading.engine.states import State
from converter.core.reading.family_choice import choose
from converter.core.reading.mark_search import Mark
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.forms import OPENERS, SECTIONS

AUTO = choose(["auto"])


def test_each_mark_of_a_call_has_forms_that_know_it() -> None:
    assert {mark.begins for mark in CALL_MARKS.values()} == {*OPENERS, *SECTIONS}
    for mark in CALL_MARKS.values():
        assert mark.mark.startswith(mark.begins)


def test_a_mark_is_special_for_all_of_its_forms_or_for_none() -> None:
    for forms in (*OPENERS.values(), *SECTIONS.values()):
        assert len({form.counts is Counts.EVERYWHERE for form in forms}) == 1


def test_a_mark_is_special_where_its_row_counts_everywhere() -> None:
    assert CALL_MARKS["<|channel|>commentary to="].special
    assert CALL_MARKS["<｜DSML｜invoke name="].special
    assert CALL_MARKS["<|tool_calls_section_begin|>"].special
    assert not CALL_MARKS["<tool_call>"].special
    assert not CALL_MARKS["<function="].special


@pytest.mark.parametrize("state", list(State))
def test_calls_count_in_a_text_where_tools_are_offered(state: State) -> None:
    offered = mark_table(AUTO, offered=True).state_search(state)
    assert offered.search("<|tool_call_begin|>")
    plain = mark_table(AUTO).state_search(state)
    thought = state in (State.BEGINNING, State.OPENED, State.THINKING, State.RESUMED)
    assert bool(plain.search("<|tool_call_begin|>")) is (
        thought or state in (State.CALLED, State.CALLED_INSIDE)
    )


def test_in_json_no_thought_begins() -> None:
    marks = mark_table(AUTO, offered=True, reads_calls=True).json_search
    assert not marks.search("<think></think>")
    match = marks.search("a<tool_call>")
    assert match
    assert marks.read_mark(match[0])[0] is Mark.TOOL
    assert not mark_table(AUTO, offered=True).json_search.search("<tool_call>")


def test_marks_that_say_nothing_go_from_a_text() -> None:
    assert mark_table(AUTO).without_ignored("a<|end|>b<|call|>") == "ab"


def test_a_closer_of_no_family_in_force_says_nothing_behind_a_call() -> None:
    assert "</think>" in mark_table((), reads_calls=True).behind_calls
    assert "</think>" not in mark_table(AUTO, reads_calls=True).behind_calls


def test_the_longest_silent_mark_is_matched() -> None:
    grammar = mark_table(AUTO)
    assert grammar.ignored_at("<|start|>assistant<|channel|>") == "<|start|>assistant"
    assert grammar.ignored_at("a<|end|>") == ""


def test_a_set_is_built_once_for_the_same_rows() -> None:
    assert mark_table(choose(["auto"])) is mark_table(choose(["auto"]))
    assert mark_table(choose(["auto"]), attributes=False) is not mark_table(choose(["auto"]))
