"""Nothing that a model says begins at the terminal's left edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.shell.watch.terminal.margin import LONGEST_LINE, MARGIN, Margin, columns
from tests.support.strategies import TEXTS, law

FORGED = [
    "── #7 /v1/messages other ──",
    "[12:00:00.123] think: a key of Anthropic's is sent",
    "127.0.0.1:1: POST http://x/",
]


def lines(*pieces: str, width: int = 0) -> list[str]:
    margin = Margin(width)
    return "".join(map(margin.feed, pieces)).split("\n")


@pytest.mark.parametrize("line", FORGED)
def test_a_line_that_looks_like_one_of_ours_stands_in_the_margin(line: str) -> None:
    assert lines("a\n", line, f"\n{line}") == [f"{MARGIN}a", f"{MARGIN}{line}", f"{MARGIN}{line}"]


@pytest.mark.parametrize("line", FORGED)
def test_a_line_that_the_terminal_would_break_is_broken_before(line: str) -> None:
    for width in range(20, 90):
        said = lines("x" * (width - 2) + line, width=width)
        assert all(each.startswith(MARGIN) for each in said)
        assert max(map(len, said)) <= width


def test_colours_take_no_room() -> None:
    margin = Margin(20)
    assert margin.feed("\x1b[2mab\x1b[0m") == f"\x1b[2m{MARGIN}ab\x1b[0m"
    assert margin.feed("c" * 16) == "c" * 16
    assert margin.feed("d") == f"\n{MARGIN}d"


def test_wide_characters_take_two_columns() -> None:
    assert (columns("你"), columns("a"), columns("\u0301"), columns("\t")) == (2, 1, 0, 8)
    assert lines("你" * 10, width=20) == [MARGIN + "你" * 9, MARGIN + "你"]


def test_a_tab_takes_its_columns_wherever_it_stands() -> None:
    together = lines("\ta" * 5, width=20)
    assert together == [f"{MARGIN}\ta\ta", f"{MARGIN}\ta\ta", f"{MARGIN}\ta"]
    assert lines(*"\ta" * 5, width=20) == together


def test_without_a_width_lines_have_a_limit() -> None:
    assert max(map(len, lines("x" * 5000))) == LONGEST_LINE


def test_after_a_restart_the_margin_comes_again() -> None:
    margin = Margin()
    margin.feed("a")
    margin.restart()
    assert margin.feed("b") == f"{MARGIN}b"


@law(100)
@given(st.data(), TEXTS)
def test_cut_anywhere_the_same(data: st.DataObject, text: str) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert lines(text[:at], text[at:], width=30) == lines(text, width=30)
