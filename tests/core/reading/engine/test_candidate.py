"""A candidate: the row that begins at a mark, its points, its verdicts."""

import pytest

from converter.core.reading.engine.candidate import (
    Candidate,
    begins_prose,
    find_any_start,
    find_start,
)
from converter.core.reading.engine.mark_table import CALL_MARKS
from converter.core.reading.engine.states import Stands
from converter.core.reading.mark_search import NeedMore
from converter.core.reading.tool_calls.forms import SECTIONS
from converter.core.reading.tool_calls.head import Head
from converter.core.reading.tool_calls.verdict import End
from tests.support.tool_call_texts import TOOLS

MARK = CALL_MARKS["<tool_call>"]


@pytest.mark.parametrize(
    ("mark", "text", "form", "head"),
    [
        ("<tool_call>", '<tool_call>\n{"name": "now"', "hermes", Head.NAMED),
        ("<tool_call>", "<tool_call><function=now></function>", "qwen3-coder", Head.NAMED),
        ("<tool_call>", "<tool_call>now<arg_key>", "glm", Head.NAMED),
        ("<tool_call>", '<tool_call></think>{"name": "other"', "hermes", Head.UNOFFERED),
        ("<tool_calls>", '<tool_calls>\n<tool_call>{"name": "now"', "hermes", Head.NAMED),
    ],
)
def test_the_row_that_begins_best_is_taken(mark: str, text: str, form: str, head: Head) -> None:
    start = find_start(CALL_MARKS[mark], text, TOOLS, last=False)
    assert start
    assert (start.row.name, start.head) == (form, head)


def test_half_a_mark_behind_a_sections_mark_waits() -> None:
    with pytest.raises(NeedMore):
        find_start(CALL_MARKS["<tool_calls>"], "<tool_calls>\n<tool_", TOOLS, last=False)


def test_text_behind_a_sections_mark_is_no_call() -> None:
    assert begins_prose("I look it up", last=False)
    with pytest.raises(NeedMore):
        begins_prose("now", last=False)
    assert begins_prose('{"name"', last=False) is False


@pytest.mark.parametrize("behind", ["first tool", "\nfirst", '{"a"', "\n<x>", "["])
def test_where_calls_are_not_read_any_text_like_a_call_is_one(behind: str) -> None:
    start = find_any_start(MARK, behind, last=False)
    assert start
    assert (start.body_offset, start.head) == (len(MARK.mark), Head.UNOFFERED)


@pytest.mark.parametrize("behind", [" and so", ", which", "</tool_call>", "\n.", "` is"])
def test_text_about_a_mark_is_none(behind: str) -> None:
    assert find_any_start(MARK, behind, last=False) is None
    for waits in ("", " \n", "<"):
        with pytest.raises(NeedMore):
            find_any_start(MARK, waits, last=False)


@pytest.mark.parametrize("text", ["<tool_call> is it", "<tool_call> now", "<tool_call>7,"])
def test_no_row_begins_at_text(text: str) -> None:
    assert find_start(MARK, text, TOOLS, last=False) is None


def test_a_row_of_the_section_begins_at_its_bodys_head() -> None:
    rows = SECTIONS["<function_calls>"]
    text = '<invoke name="now">\n</invoke>'
    start = find_start(CALL_MARKS["<invoke name="], text, TOOLS, last=False, rows=rows)
    assert start
    assert start.body_offset == 0


def begun(text: str, stands: Stands = Stands.ALONE) -> Candidate:
    start = find_start(MARK, text, TOOLS, last=False)
    assert start
    return Candidate.begin(MARK, start, stands, text)


def test_a_candidate_is_judged_where_it_may_end() -> None:
    text = '<tool_call>{"name": "now", "arguments": {}}</tool_call> so'
    candidate = begun(text)
    point = candidate.feed(text, last=False)
    assert point
    assert text[point.end :] == " so"
    verdict = candidate.verdict(point, TOOLS)
    assert verdict
    assert [call.name for call in verdict.calls] == ["now"]
    assert text[point.body_end : point.end] == "</tool_call>"


def test_at_the_replys_end_all_of_it_is_judged() -> None:
    text = '<tool_call>{"name": "now", "arguments": {"a": "b'
    candidate = begun(text)
    assert candidate.feed(text, last=True) is None
    verdict, point = candidate.last_verdict(End.CUT, TOOLS)
    assert (verdict.calls[0].is_cut, point.body_end) == (True, len(text))


def test_only_a_doubtful_candidate_asks_what_follows() -> None:
    text = '<tool_call>{"name": "now", "arguments": {}}'
    for stands in Stands:
        candidate = begun(text, stands)
        asks = stands in (Stands.IN_SENTENCE, Stands.AS_REPLY)
        point = candidate.feed(text, last=True)
        assert point
        assert candidate.waits_for_text(point, in_sentences=True) is asks
