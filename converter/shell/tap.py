"""The tap: what a streamed body passes through on its way to the client."""

import logging
import time
from collections.abc import Callable

from converter.rewriter import Rewriter
from converter.shell.flow_record import FlowRecord

_log = logging.getLogger(__name__)


class Tap:
    """What mitmproxy calls with each chunk of a streamed body. It never raises, and never returns
    an empty piece in mid-stream.

    `began`: when the client's request did, on the wall's clock as all of mitmproxy's times. `tell`
    is called after each chunk.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        tell: Callable[[], None],
        kept: FlowRecord | None = None,
        began: float = 0.0,
    ) -> None:
        self._rewriter = rewriter
        self._tell = tell
        self._kept = kept
        self._began = began

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for this chunk, perhaps nothing yet; an empty chunk is the
        body's end.
        """
        at = time.time() - self._began
        pieces = [
            piece
            for piece in (self._rewriter.feed(chunk, at) if chunk else self._rewriter.close())
            if piece
        ]
        try:
            if self._kept:
                self._kept.passed(chunk, pieces, at)
            self._tell()
        except Exception:
            _log.exception(
                "think: a chunk could not be told of"
            )  # raised here, it would cost the client this chunk
        return pieces
