"""Loops: found whatever their period, at the same place however the words are cut, in linear time."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.parsing.loops import EVERY, LEAST, LONGEST, SHORTEST, TIMES, LoopFinder
from tests.support.strategies import cut, law

DRAWN = random.Random(7)
PROSE = " ".join(f"word{DRAWN.randrange(400)}" for _ in range(LEAST)) + " "


def found(*pieces: str) -> tuple[int, int] | None:
    """Where a loop ends in all the text, and how many words it has."""
    finder, before = LoopFinder(), 0
    for piece in pieces:
        if (at := finder.feed(piece)) is not None:
            return before + at, len(finder.period)
        before += len(piece)
    return None


def circle(size: int, times: int) -> str:
    return " ".join(f"x{word % size}" for word in range(size * times)) + " "


@pytest.mark.parametrize("size", [SHORTEST, 5, 17, 64, 100, LONGEST])
def test_words_that_come_three_times_in_a_row_are_found(size: int) -> None:
    ended = found(PROSE + circle(size, TIMES) + circle(size, EVERY))
    assert ended is not None
    assert ended[1] == size
    words = (PROSE + circle(size, TIMES + EVERY))[: ended[0]].split()
    assert words[-size:] == words[-2 * size : -size] == words[-3 * size : -2 * size]
    assert len(words) <= LEAST + TIMES * size + EVERY


@pytest.mark.parametrize("few", ["no no, ", "ha ", "a b a c "])
def test_fewer_words_are_found_several_times_over(few: str) -> None:
    assert found(PROSE + few * 200) is not None


@pytest.mark.parametrize("said", ["你好吗我不知道", "no.no.no.yes.", "-" * 7 + ">"])
def test_words_without_blanks_are_found(said: str) -> None:
    assert found(PROSE + said * 2000) is not None


NO_LOOPS = {
    "prose": PROSE * 1,
    "a short loop, before there is enough to look at": circle(4, 40),
    "twice": PROSE + circle(70, 2) + PROSE[::-1],
    "a period that is too long": PROSE + circle(LONGEST + 1, 6),
    "a count": " ".join(map(str, range(3000))),
    "a list whose rows differ": "".join(f"- row {n} of the table is fine\n" for n in range(500)),
    "nothing": "",
}


@pytest.mark.parametrize("said", NO_LOOPS.values(), ids=NO_LOOPS)
def test_all_else_is_no_loop(said: str) -> None:
    assert found(said) is None


@law(200)
@given(st.data(), st.integers(SHORTEST, 40))
def test_cut_anywhere_it_ends_at_the_same_place(data: st.DataObject, size: int) -> None:
    said = PROSE + circle(size, 40)
    assert found(*data.draw(cut(said))) == found(said)


@pytest.mark.parametrize("word", ["word{} ", "好", "x"])
def test_the_finder_holds_little(word: str) -> None:
    finder = LoopFinder()
    for number in range(20_000):
        finder.feed(word.format(number))
    assert len(finder._tail) <= TIMES * LONGEST + EVERY
    assert len(finder._part) <= 64
