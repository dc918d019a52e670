"""The tap lets every chunk through, whatever goes wrong beside it."""

import pytest

from converter import settings
from converter.dialects.table import OPENAI_CHAT, Form
from converter.rewriter import Rewriter
from converter.shell.tap import Tap
from tests.support.frames import stream


def tap(tell: object = lambda: None) -> Tap:
    return Tap(Rewriter(settings.read(), OPENAI_CHAT, Form.STREAM), tell)  # type: ignore[arg-type]


def test_what_goes_out_is_what_the_rewriter_says() -> None:
    through, rewriter = tap(), Rewriter(settings.read(), OPENAI_CHAT, Form.STREAM)
    chunks = stream("<think>a</think>", "b")
    passed = [through(chunk) for chunk in [*chunks, b""]]
    assert passed == [
        *([piece for piece in rewriter.feed(chunk) if piece] for chunk in chunks),
        rewriter.close(),
    ]


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
