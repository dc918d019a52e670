"""Frames that no client can read as they came are counted, and the first is quoted."""

from converter.core.dialects.table import ANTHROPIC
from tests.support.frames import stream, text
from tests.support.frames_of import OPENAI, failure_and_notes, rewriter


def test_frames_that_nobody_can_read_are_counted_and_the_first_is_quoted() -> None:
    failure, note = failure_and_notes(
        rewriter(OPENAI), b"garbage\n\n", b'data: {"a": 1}\n\n', *stream("a")
    )
    assert failure == ""
    assert "2 frames" in note
    assert "garbage" in note
    assert "passed" in note


def test_frames_left_out_are_reported_as_left_out() -> None:
    _, note = failure_and_notes(rewriter(ANTHROPIC), b"garbage\n\n", *stream("a"))
    assert "left out" in note


def test_a_long_frame_is_quoted_in_part() -> None:
    failure, note = failure_and_notes(rewriter(OPENAI), b"x" * 10_000 + b"\n\n", *stream("a"))
    assert failure == ""
    assert len(note) < 400


def test_bytes_that_are_no_utf8_are_mended() -> None:
    spoiled = b"".join(text("x")).replace(b'"x"', b'"\xff"')
    _, note = failure_and_notes(rewriter(OPENAI), spoiled, *stream("a"))
    assert note == "1 frames are not quite JSON and were mended"
