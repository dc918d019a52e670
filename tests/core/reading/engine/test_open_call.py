"""The text behind a mark that may begin a call."""

import pytest

from converter.core.reading.engine.context import MarkPlace
from converter.core.reading.engine.mark_table import CALL_MARKS, NO_MARK
from converter.core.reading.engine.open_call import MetMark, OpenCall, may_begin_call
from converter.core.reading.families import CLOSERS
from converter.core.reading.tool_calls.place import Expectations
from converter.core.reading.tool_calls.source import Source

TAG, SPECIAL, ALONE = (
    CALL_MARKS[mark] for mark in ("<tool_call>", "<|tool_call_begin|>", "● <function=")
)


@pytest.mark.parametrize(
    ("place", "behind", "begins"),
    [
        (MarkPlace.AT_BREAK, '{"name"', True),
        (MarkPlace.AT_BREAK, "now", True),
        (MarkPlace.AT_BREAK, "", None),
        (MarkPlace.BEHIND_SENTENCE, "now and then", False),
        (MarkPlace.BEHIND_SENTENCE, "<function=now>", True),
        (MarkPlace.IN_SENTENCE, '{"name"', False),
        (MarkPlace.QUOTED, '{"name"', False),
    ],
)
def test_a_mark_that_prose_may_say(place: MarkPlace, behind: str, begins: bool | None) -> None:
    assert may_begin_call(place, behind, last=False) is begins


def test_what_stands_between_a_calls_marks_holds_no_tags() -> None:
    assert MetMark(TAG, MarkPlace.AT_BREAK, in_code=False).guards("x")
    assert MetMark(SPECIAL, MarkPlace.IN_SENTENCE, in_code=False).guards("x")
    assert not MetMark(SPECIAL, MarkPlace.IN_SENTENCE, in_code=True).guards("x")
    assert not MetMark(TAG, MarkPlace.IN_SENTENCE, in_code=False).guards("x")
    assert not MetMark(ALONE, MarkPlace.AT_BREAK, in_code=False).guards("x")
    assert MetMark(TAG, MarkPlace.QUOTED, in_code=False, ended_thought=True).guards("x")


@pytest.mark.parametrize("closer", CLOSERS)
def test_half_a_closer_behind_a_mark_is_no_argument_yet(closer: str) -> None:
    for length in range(1, len(closer)):
        assert may_begin_call(MarkPlace.AT_BREAK, closer[:length], last=False) is None
    assert may_begin_call(MarkPlace.AT_BREAK, closer + " so", last=False) is False
    assert may_begin_call(MarkPlace.AT_BREAK, closer + "{", last=False) is True


def test_json_in_the_middle_of_a_sentence_is_shown() -> None:
    met = MetMark(TAG, MarkPlace.IN_SENTENCE, in_code=False)
    assert met.shows_value(' {"a"')
    assert not met.shows_value(" a {")


def test_an_open_call_reads_its_text_by_the_forms_of_the_mark() -> None:
    source = Source()
    source.feed('<tool_call>{"name": "now", "arguments": {}}</tool_call> So')
    met = MetMark(TAG, MarkPlace.AT_BREAK, in_code=False)
    call = OpenCall.begin(met, source, Expectations({"now": {}}), 0, NO_MARK)
    assert call.enters
    assert call.place.advance()
    assert [read.name for read in call.place.calls] == ["now"]
    assert source.rest == " So"
