"""A closer without its opener is found wherever the text is cut, and in code it is a word."""

import pytest

from converter.parsing.unmatched_closer import UnmatchedCloser

FOUND = [
    "so it is.</think>\n\nYes",
    " a</think>",
    "a\n`b` </thinking> c",
    "`</think>` and </think>",
]
NOT_FOUND = [
    "",
    "Yes",
    "`</think>`",
    "```\n</think>\n```\n",
    "</think",
    "</THINK>",
    "< /think>",
    "a `b </think> c` d",
    "</think>",
    " \n</think>\n\nYes",
]


def _watched(pieces: list[str]) -> bool:
    watch = UnmatchedCloser(["</think>", "</thinking>"])
    for piece in pieces:
        watch.feed(piece)
    return watch.found


@pytest.mark.parametrize(
    ("text", "found"), [*((text, True) for text in FOUND), *((text, False) for text in NOT_FOUND)]
)
def test_a_closer_counts_outside_of_code(text: str, found: bool) -> None:
    assert _watched([text]) is found
    assert _watched(list(text)) is found
    assert [_watched([text[:cut], text[cut:]]) for cut in range(len(text))] == [found] * len(text)


def test_without_closers_nothing_is_found() -> None:
    watch = UnmatchedCloser([])
    watch.feed("a </think> b")
    assert not watch.found
