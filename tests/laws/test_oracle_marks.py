"""The oracle's expressions: which mark stands at a place, and what counts as a call."""

import pytest

from converter.core.reading.engine.mark_table import GUARDED, openers_in_thought
from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import choose
from laws.oracle_marks import (
    TOOLS,
    Here,
    any_of,
    begins_call,
    pattern_of,
    tool_mark,
    tool_marks,
    untorn,
)

AUTO = choose(["auto"])
KINDS = ("thought", "stray", "bare", "silent", "fence", "ticks")


@pytest.mark.parametrize(
    ("text", "here", "kind"),
    [
        ("<think>a</think>", Here(head=True, closer=""), "thought"),
        ("</think>a", Here(head=True, closer="", stray=True), "stray"),
        ("</think>a", Here(head=False, closer="", bare=True), "bare"),
        ("</think>a", Here(head=False, closer=""), ""),
        ("```\n<think>\n```", Here(head=True, closer=""), "fence"),
        ("`<think>`", Here(head=False, closer=""), "ticks"),
        ("a", Here(head=False, closer=""), ""),
    ],
)
def test_a_mark_has_a_kind_by_its_place(text: str, here: Here, kind: str) -> None:
    found = pattern_of(AUTO, True, here).match(text)
    assert found
    assert next((name for name in KINDS if found[name]), "") == kind


def test_the_longest_of_several_marks_is_tried_first() -> None:
    assert any_of(["<a", "<abc", "<ab"]) == ["<abc", "<ab", "<a"]


def test_a_mark_that_prose_never_says_begins_a_call() -> None:
    mark = "<|tool_calls_section_begin|>"
    assert tool_mark(f"a{mark}", 1) == mark
    assert tool_mark("a", 0) == ""
    assert begins_call(f"so {mark}", 0, 3)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("<tool_call>\n{", True),
        ("I say '<tool_call>{", False),
        ("use the <tool_call> mark", False),
    ],
)
def test_a_mark_that_prose_may_say_begins_one_where_a_call_follows(text: str, begins: bool) -> None:
    assert begins_call(text, 0, text.index("<tool_call>"), answer=True) is begins


def test_the_oracle_and_the_engine_read_the_same_marks_out_of_the_table() -> None:
    assert {mark: (it.close, it.before, it.special) for mark, it in TOOLS.items()} == {
        mark: (row.close, row.before, row.special) for mark, row in GUARDED.items()
    }
    for offered in (True, False):
        assert {*tool_marks(TABLE, offered)} == {*openers_in_thought(offered)}


def test_half_a_mark_at_the_end_is_cut_off_where_it_is_never_prose() -> None:
    families = [row for row in AUTO if row.torn]
    (torn, *_) = families[0].torn
    mark = next(mark for mark in families[0].closes if mark.startswith(torn))
    assert untorn(f"a{mark[:-1]}", families, [mark], []) == "a"
    assert untorn("a<thi", AUTO, ["</think>"], []) == "a<thi"
