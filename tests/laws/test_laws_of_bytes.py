"""How replies are spoiled for the laws of bytes; that these laws find faults, `test_laws` shows."""

import random

from laws.laws_of_bytes import law_1, law_8, law_9, spoiled
from tests.support.recordings_of import of_whole, streamed


def test_a_reply_is_spoiled_in_three_ways_the_same_each_time() -> None:
    first, again = (list(spoiled(b"abcdefgh" * 9, 5, random.Random("x"))) for _ in range(2))
    assert first == again
    assert len(first) == 15
    assert all(body != b"abcdefgh" * 9 for _, body in first)
    assert {name.partition(" ")[0] for name, _ in first} == {"cut", "with"}


def test_nothing_can_be_spoiled_as_well() -> None:
    assert [body for name, body in spoiled(b"", 1, random.Random(1)) if name.startswith("cut")] == [
        b""
    ]


def test_no_cuts_may_be_drawn_at_all() -> None:
    for recording in (streamed("<think>a</think>", "b"), of_whole("<think>a</think>b")):
        for law in (law_1, law_8, law_9):
            law(recording, 0)
