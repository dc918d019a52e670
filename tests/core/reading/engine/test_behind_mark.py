"""The text behind a mark that may begin a call."""

import pytest

from converter.core.reading.engine.behind_mark import begins_words, may_begin_call
from converter.core.reading.engine.context import MarkPlace
from converter.core.reading.engine.source import NeedMore
from converter.core.reading.families import CLOSERS


@pytest.mark.parametrize(
    ("place", "behind", "begins"),
    [
        (MarkPlace.AT_BREAK, '{"name"', True),
        (MarkPlace.AT_BREAK, "now", True),
        (MarkPlace.BEHIND_SENTENCE, "now and then", False),
        (MarkPlace.BEHIND_SENTENCE, "<function=now>", True),
        (MarkPlace.IN_SENTENCE, '{"name"', False),
        (MarkPlace.QUOTED, '{"name"', False),
    ],
)
def test_a_mark_that_prose_may_say(place: MarkPlace, behind: str, begins: bool) -> None:
    assert may_begin_call(place, behind, last=False) is begins


def test_nothing_behind_a_mark_is_not_decided() -> None:
    with pytest.raises(NeedMore):
        may_begin_call(MarkPlace.AT_BREAK, "", last=False)
    assert may_begin_call(MarkPlace.AT_BREAK, "", last=True)


@pytest.mark.parametrize("closer", CLOSERS)
def test_half_a_closer_behind_a_mark_is_no_argument_yet(closer: str) -> None:
    for length in range(1, len(closer)):
        with pytest.raises(NeedMore):
            may_begin_call(MarkPlace.AT_BREAK, closer[:length], last=False)
    assert may_begin_call(MarkPlace.AT_BREAK, closer + " so", last=False) is False
    assert may_begin_call(MarkPlace.AT_BREAK, closer + "{", last=False) is True


def test_words_behind_a_sections_mark_are_no_call() -> None:
    assert begins_words("I look it up", last=False)
    with pytest.raises(NeedMore):
        begins_words("now", last=False)
    assert begins_words('{"name"', last=False) is False
