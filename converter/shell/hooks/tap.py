"""The tap: what a streamed body passes through on its way to the client."""

import logging
from collections.abc import Callable
from functools import partial
from time import time

from converter.reply.rewriter import Rewriter
from converter.shell.aside import aside_of_streams
from converter.shell.keep.flow_record import FlowRecord

_log = logging.getLogger(__name__)

LONG = 32 * 1024
"""Bytes of an unfinished frame: reading it takes up to 20 milliseconds, where others would wait."""
_TOLD_AGAIN = 32
"""Bytes that a stream's end only writes once more cost such a part of one that is read."""


def _as_it_is(reason: str) -> str:
    return reason


class Tap:
    """The stream function of a reply: what comes in one read goes out as one piece. It never
    raises, and never returns an empty piece in mid-stream.

    `began`: when the client's request did, on the wall's clock as all of mitmproxy's times. `tell`
    is called after each call. `explain`: puts mitmproxy's reason for a break into words.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        tell: Callable[[], None],
        kept: FlowRecord | None = None,
        began: float = 0.0,
        explain: Callable[[str], str] = _as_it_is,
    ) -> None:
        self._rewriter = rewriter
        self._tell = tell
        self._kept = kept
        self._began = began
        self._explain = explain
        self._told_again = kept is not None and kept.exchange.client.wire.retells
        asked = kept.sides.asked if kept else None
        self._came = len(asked.raw_content or b"") if asked else 0

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for this chunk, perhaps nothing yet; an empty chunk is the
        body's end.
        """
        at = time() - self._began
        return self._passed(chunk, self._rewritten(chunk, at), at)

    @property
    def is_long(self) -> bool:
        """Tell whether the next call takes long: it may end a long frame, or a long reply."""
        again = self._came // _TOLD_AGAIN if self._told_again else 0
        return self._rewriter.held() + again > LONG

    async def beside(self, chunk: bytes) -> list[bytes]:
        """Return the same as a call; the rewriting is done in a thread, its telling in the loop."""
        at = time() - self._began
        pieces = await aside_of_streams(partial(self._rewritten, chunk, at))
        return self._passed(chunk, pieces, at)

    def _rewritten(self, chunk: bytes, at: float) -> list[bytes]:
        self._came += len(chunk)
        return self._rewriter.feed(chunk, at) if chunk else self._rewriter.close()

    def abort(self, reason: str) -> list[bytes]:
        """Return what the client gets for a body that breaks off; nothing if it had its end."""
        if self._rewriter.closed:
            return []
        pieces = self._rewriter.abort(self._explain(reason))
        return self._passed(b"", pieces, time() - self._began)

    def ping(self) -> list[bytes]:
        """Return a sign of life, where one may stand."""
        return self._passed(b"", self._rewriter.ping(), time() - self._began)

    def _passed(self, chunk: bytes, pieces: list[bytes], at: float) -> list[bytes]:
        out = b"".join(pieces)
        said = [out] if out else []
        try:
            if self._kept:
                self._kept.sides.passed(chunk, said, at)
            self._tell()
        except Exception:
            # raised here, it would cost the client this chunk
            _log.exception("think: a chunk could not be told of")
        return said
