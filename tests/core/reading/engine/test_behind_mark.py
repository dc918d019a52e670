"""The text behind a mark that may begin a call."""

import pytest

from converter.core.reading.engine.behind_mark import begins_prose, may_begin_call
from converter.core.reading.engine.context import MarkPosition
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import NeedMore


@pytest.mark.parametrize(
    ("position", "behind", "begins"),
    [
        (MarkPosition.AT_BREAK, '{"name"', True),
        (MarkPosition.AT_BREAK, "now", True),
        (MarkPosition.BEHIND_SENTENCE, "now and then", False),
        (MarkPosition.BEHIND_SENTENCE, "<function=now>", True),
        (MarkPosition.IN_SENTENCE, '{"name"', False),
        (MarkPosition.QUOTED, '{"name"', False),
    ],
)
def test_a_mark_that_prose_may_say(position: MarkPosition, behind: str, begins: bool) -> None:
    assert may_begin_call(position, behind, last=False) is begins


def test_nothing_behind_a_mark_is_not_decided() -> None:
    with pytest.raises(NeedMore):
        may_begin_call(MarkPosition.AT_BREAK, "", last=False)
    assert may_begin_call(MarkPosition.AT_BREAK, "", last=True)


@pytest.mark.parametrize("closer", CLOSERS)
def test_half_a_closer_behind_a_mark_is_no_argument_yet(closer: str) -> None:
    for length in range(1, len(closer)):
        with pytest.raises(NeedMore):
            may_begin_call(MarkPosition.AT_BREAK, closer[:length], last=False)
    assert may_begin_call(MarkPosition.AT_BREAK, closer + " so", last=False) is False
    assert may_begin_call(MarkPosition.AT_BREAK, closer + "{", last=False) is True


def test_text_behind_a_sections_mark_is_no_call() -> None:
    assert begins_prose("I look it up", last=False)
    with pytest.raises(NeedMore):
        begins_prose("now", last=False)
    assert begins_prose('{"name"', last=False) is False
