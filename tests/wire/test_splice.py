"""Frames that differ in their words and their number only."""

import pytest

from converter.wire.splice import splice_of

FRAME = b'data: {"type":"said","number":7,"text":"one","more":[]}\n\n'
COUNTER = b'"number":'


def test_words_go_where_the_first_ones_stood() -> None:
    splice = splice_of(FRAME, "one")
    assert splice.write([b"two", rb"\n"], 0) == (
        b'data: {"type":"said","number":7,"text":"two","more":[]}\n\n'
        b'data: {"type":"said","number":7,"text":"\\n","more":[]}\n\n'
    )


def test_numbered_frames_go_on_counting() -> None:
    splice = splice_of(FRAME, "one", COUNTER)
    assert splice.write([b"two", b"three"], 99) == (
        b'data: {"type":"said","number":99,"text":"two","more":[]}\n\n'
        b'data: {"type":"said","number":100,"text":"three","more":[]}\n\n'
    )


def test_words_that_stand_twice_are_written_twice() -> None:
    splice = splice_of(b'{"number":1,"a":"x","b":"x"}', "x", COUNTER)
    assert splice.places == 2
    assert splice.write([b"y"], 5) == b'{"number":5,"a":"y","b":"y"}'


def test_the_first_number_is_the_frames_own() -> None:
    splice = splice_of(b'{"number":1,"text":"x","inner":{"number":3}}', "x", COUNTER)
    assert splice.write([b"y"], 2) == b'{"number":2,"text":"y","inner":{"number":3}}'


@pytest.mark.parametrize(
    ("frame", "text", "gives"),
    [
        (FRAME, "one", True),
        (FRAME.replace(b"7", b"8").replace(b"one", b"two"), "two", True),
        (FRAME, "two", False),
        (FRAME.replace(b"[]", b"{}"), "one", False),
    ],
)
def test_a_frame_is_told_from_one_of_another_kind(frame: bytes, text: str, gives: bool) -> None:
    assert splice_of(FRAME, "one", COUNTER).gives(frame, text) is gives


def test_without_a_counter_numbers_are_part_of_the_frame() -> None:
    splice = splice_of(FRAME, "one")
    assert splice.gives(FRAME, "one")
    assert not splice.gives(FRAME.replace(b"7", b"8"), "one")


def test_a_frame_without_the_text_has_no_place_for_it() -> None:
    assert splice_of(FRAME, "two").places == 0
