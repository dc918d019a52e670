"""What stands before a mark."""

import pytest

from converter.parsing.tool_calls.surroundings import Surroundings


def around(text: str, size: int) -> Surroundings:
    found = Surroundings()
    for at in range(0, len(text), size):
        found.feed(text[at : at + size])
    return found


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "quoted", "in_sentence"),
    [
        ("", False, False),
        ("\n", False, False),
        ("a word ", False, True),
        ("a word", False, False),
        ("a word\n", False, False),
        ("a word\n  ", False, False),
        ("a word, ", False, True),
        ("a sentence. ", False, False),
        ("as follows: ", False, False),
        ("  ", False, False),
        ("a `", True, False),
        ("a `b` ", False, False),
        ("a `b\n", False, False),
        ("```\n", True, False),
        ("```\nx\n", True, False),
        ("```\nx\n```\n", False, False),
        ('a "', True, False),
        ('a "b" ', False, False),
        ("(", True, False),
        ("( ", False, False),
        ("+", True, False),
        ("+   ", True, False),
        ("-x ", True, True),
        ("> ", True, False),
        ("> x\n", False, False),
        ("● ", False, False),
    ],
)
def test_a_mark_may_be_quoted_or_in_a_sentence(
    text: str, quoted: bool, in_sentence: bool, size: int
) -> None:
    found = around(text, size)
    assert (found.quoted, found.in_sentence) == (quoted, in_sentence)
