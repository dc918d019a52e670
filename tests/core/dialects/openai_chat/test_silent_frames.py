"""Frames that say nothing, as OpenAI's own SDKs must get them."""

import pytest

from converter.core.dialects.openai_chat.silent_frames import SilentFrames

DATA = b'data: {"choices":[]}\n\n'


@pytest.mark.parametrize(
    ("frame", "sent"),
    [
        (DATA, DATA),
        (b": busy\n\n", b": busy\n\n"),  # no field before it: the blank line ends nothing
        (b"retry: 3000\n\n", b"retry: 3000\n"),
        (b"event: queued\nid: 7\n\n", b"id: 7\n"),
        (b"data:\n\n", b""),
        (b": busy\r\nretry: 1\r\n\r\n", b": busy\nretry: 1\n"),
    ],
)
def test_a_frame_without_data_ends_no_event(frame: bytes, sent: bytes) -> None:
    assert SilentFrames().feed(frame) == sent


@pytest.mark.parametrize("first", [b"id: 1\n" + DATA, b"id: 1\n\n"])
def test_behind_an_id_a_comment_has_no_blank_line(first: bytes) -> None:
    frames = SilentFrames()
    frames.feed(first)
    assert frames.feed(b": busy\n\n") == b": busy\n"
    assert frames.feed(DATA) == DATA
