"""A body is held up to its limit; what goes beyond is let go, and known."""

import pytest

from converter.shell.layers import body_buffer
from converter.shell.layers.body_buffer import BodyBuffer


@pytest.fixture
def buffer(monkeypatch: pytest.MonkeyPatch) -> BodyBuffer:
    monkeypatch.setattr(body_buffer, "BODY_LIMIT", 10)
    return BodyBuffer()  # type: ignore[no-untyped-call]  # theirs


def test_up_to_the_limit_all_is_held(buffer: BodyBuffer) -> None:
    for _ in range(5):
        buffer += b"ab"
    assert (bytes(buffer), buffer.fault) == (b"ababababab", "")


def test_beyond_the_limit_nothing_more_is_held(buffer: BodyBuffer) -> None:
    for _ in range(100):
        buffer += b"abc"
    assert bytes(buffer) == b"abcabcabcabc"
    assert buffer.fault.startswith("reply too long: more than ")


def test_a_buffer_that_was_emptied_holds_again(buffer: BodyBuffer) -> None:
    buffer += b"x" * 11
    buffer.clear()  # type: ignore[no-untyped-call]  # theirs
    buffer += b"a"
    assert (bytes(buffer), buffer.fault) == (b"a", "")
