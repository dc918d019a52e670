"""Bodies put together again."""

import pytest

from converter.extras.recordings.redact.json_tokens import moved, woven, written


def test_gaps_and_tokens_take_turns() -> None:
    assert woven([b"[", b", ", b"]"], [b"1", b"2"]) == [b"[", b"1", b", ", b"2", b"]"]


def test_borders_move_with_the_pieces_before_them_and_stay_in_a_new_one() -> None:
    before, after = [b"ab", b"cdef", b"gh"], [b"ab", b"X", b"gh"]
    assert moved(before, after, [0, 1, 2, 4, 6, 7]) == [0, 1, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("text", "raw"), [("é", '"é"'.encode()), ("\udcff", b'"\xff"'), ("\ud800", b'"\\ud800"')]
)
def test_bytes_that_were_no_utf8_stay_what_they_were(text: str, raw: bytes) -> None:
    assert written(text) == raw
