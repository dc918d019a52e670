"""The tap lets every chunk through, whatever goes wrong beside it."""

import pytest

from converter import settings
from converter.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.rewriter import Rewriter
from converter.shell.tap import Tap
from tests.support.frames import stream


def tap(tell: object = lambda: None) -> Tap:
    return Tap(Rewriter(settings.read(), OPENAI_CHAT, Form.STREAM), tell)  # type: ignore[arg-type]


def test_what_goes_out_is_what_the_rewriter_says() -> None:
    through, rewriter = tap(), Rewriter(settings.read(), OPENAI_CHAT, Form.STREAM)
    chunks = stream("<think>a</think>", "b")
    passed = [through(chunk) for chunk in [*chunks, b""]]
    said = [*(b"".join(rewriter.feed(chunk)) for chunk in chunks), b"".join(rewriter.close())]
    assert passed == [[piece] if piece else [] for piece in said]


def test_no_piece_is_empty_before_the_end() -> None:
    through = tap()
    assert all(
        piece
        for byte in b"".join(stream("<think>a</think>", "b"))
        for piece in through(bytes([byte]))
    )


def test_who_fails_to_listen_costs_no_chunk(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise ValueError

    through, chunks = tap(broken), stream("b")
    assert [b"".join(through(chunk)) for chunk in chunks] == chunks
    assert "could not be told of" in caplog.text


def test_what_comes_in_one_read_goes_out_in_one_piece() -> None:
    assert len(tap()(b"".join(stream("<think>a</think>", "b")))) == 1


def test_a_reply_that_breaks_off_is_ended_with_the_explanation() -> None:
    rewriter = Rewriter(settings.read(), ANTHROPIC, Form.STREAM)
    through = Tap(rewriter, lambda: None, explain=lambda reason: f"because {reason}")
    through(b"".join(stream("<think>a")[:-3]))
    said = b"".join(through.abort("boom"))
    assert b"event: error\n" in said
    assert b"because boom" in said
    assert through.abort("again") == []


def test_a_reply_that_is_over_cannot_break_off() -> None:
    through = tap()
    through(stream("a")[0])
    assert through(b"")
    assert through.abort("boom") == []


def test_a_ping_may_stand_before_the_first_frame_and_not_after_the_last() -> None:
    through = tap()
    assert through.ping() == [b": ping\n\n"]
    through(b"")
    assert through.ping() == []
