"""Frames that are not in order, in any dialect."""

import pytest

from converter.dialects.unreadable import as_index, unreadable
from converter.events import Failure, OpaqueFrame, Own
from converter.wire.sse import read_frame


def test_words_under_an_errors_name_are_an_error() -> None:
    assert unreadable(read_frame(b"event: error\ndata: gone\n\n"), "x") == [Failure("gone")]


def test_other_words_are_lost() -> None:
    raw = b"data: gone\n\n"
    assert unreadable(read_frame(raw), "x") == [OpaqueFrame(Own("x", raw=raw), lost=True)]


@pytest.mark.parametrize(
    ("value", "index"),
    [
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (None, 7),
        ("99999999", "99999999"),
        (3.5, 3.5),
        ("\u00b2", "\u00b2"),
    ],
)
def test_an_index_may_be_written_in_many_ways(value: object, index: object) -> None:
    assert as_index(value, 7) == index
