"""The tap: what a streamed body passes through on its way to the client."""

import logging
from collections.abc import Callable
from functools import partial
from time import time

from mitmproxy.http import Request

from converter.addon import messages
from converter.addon.aside import aside_of_streams
from converter.addon.hooks.refused import RefusalReader
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layers.contract import HeldStream
from converter.addon.memory.remembering import written
from converter.core.dialects.error_words import server_words
from converter.core.reply.reporting import ReportingRewriter
from converter.core.wire import json_text

_log = logging.getLogger(__name__)

LONG = 32 * 1024
"""Bytes of an unfinished frame: reading it takes up to 20 milliseconds, where others would wait."""
_TOLD_AGAIN = 32
"""Bytes that a stream's end only writes once more cost such a part of one that is read."""


WHILE = "a thought was ended, and the request that goes on behind it failed: {}"
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of a second reply. By a refusal the server says that it cannot go on, which ends the
first; by any other, of a key or of too many requests, that it failed.
"""


class Tap(HeldStream):
    """The stream function of a reply: what comes in one read goes out as one piece. It never
    raises, and never returns an empty piece in mid-stream.

    `tell` is called after each call. `explain`: puts mitmproxy's reason for a break into words.
    `holds`: the client gets one body; `late`: the pieces of this body so far. `refusal`: reads the
    first bytes of a server that may refuse in a stream.
    """

    def __init__(
        self,
        rewriter: ReportingRewriter,
        tell: Callable[[], None],
        kept: FlowRecord,
        explain: Callable[[str], str],
    ) -> None:
        self._rewriter = rewriter
        self._tell = tell
        self._kept = kept
        self._began = kept.flow.request.timestamp_start  # on the wall's clock
        self.explain = explain
        self._told_again = kept.exchange.client.wire.retells
        request = kept.sides.asked
        self._came = len(request.raw_content or b"") if request else 0
        self.late: list[bytes] = []
        self.holds = False
        self.refusal: RefusalReader | None = None
        rewriter.continuation.pauses = True
        memory = kept.memory
        self._memory = memory if memory is not None and memory.store.elsewhere else None
        self._unsaid: list[bytes] = []

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for this chunk, perhaps nothing yet; an empty chunk is the
        body's end. Of a body that was left nothing counts, because a long read comes in pieces.
        """
        if chunk and (self._rewriter.continuation.stopped or self._is_refused(chunk)):
            return []
        at = time() - self._began
        pieces = self._rewritten(chunk, at)
        if chunk and self._memory is not None and self._memory.waits.writes:
            self._unsaid += pieces  # the client may refer to the reply as soon as it has read it
            return self._passed(chunk, [], at)
        return self._passed(chunk, self._with_unsaid(pieces), at)

    def _is_refused(self, chunk: bytes) -> bool:
        if self.refusal and not self.refusal.in_stream(chunk):
            self.refusal = None
        return self.refusal is not None

    def _with_unsaid(self, pieces: list[bytes]) -> list[bytes]:
        unsaid, self._unsaid = self._unsaid, []
        return [*unsaid, *pieces]

    @property
    def is_long(self) -> bool:
        """Tell whether the next call takes long, because it may end a long frame, or a long reply,
        or one that is kept elsewhere.
        """
        if self._memory is not None and self._rewriter.summary.finish:
            return True
        again = self._came // _TOLD_AGAIN if self._told_again else 0
        return self._rewriter.held() + again > LONG

    async def beside(self, chunk: bytes) -> list[bytes]:
        """Return the same as a call; the rewriting is done in a thread, its telling in the loop."""
        if chunk and (self._rewriter.continuation.stopped or self._is_refused(chunk)):
            return []
        at = time() - self._began
        pieces = await aside_of_streams(partial(self._rewritten, chunk, at))
        out = self._passed(chunk, self._with_unsaid(pieces), at)
        await written(self._memory)
        return out

    @property
    def ends_thoughts(self) -> bool:
        """Tell whether a thought may be ended, or the reply be none yet."""
        awaited = self._kept.awaited
        return self.refusal is not None or (awaited is not None and awaited.limits.ends)

    @property
    def stopped(self) -> bool:
        """Tell whether a thought was ended just now, or the request refused."""
        return self._rewriter.continuation.stopped or (
            self.refusal is not None and self.refusal.stopped
        )

    def again(self, possible: bool) -> Request | None:
        """Return the request that has the reply go on behind the thought, or begin."""
        rewriter, kept = self._rewriter, self._kept
        if self.refusal and self.refusal.stopped:
            kept.refused = self.refusal
            return self.refusal.again(possible)
        rewriter.continuation.stopped = False
        sent, awaited = kept.sides.sent, kept.awaited
        if rewriter.continuation.is_over or sent is None or awaited is None:
            return None
        first = json_text.read_or_none(messages.content_of(sent))
        if not possible or not isinstance(first, dict):
            rewriter.refuse("this server's protocol lets no reply go on in another")
            return None
        again = messages.copied(sent)
        body = awaited.again(first, rewriter.findings, rewriter.continuation.made)
        messages.fill(again, json_text.write(body))
        explain = self.explain
        self.explain = lambda reason: WHILE.format(explain(reason))
        return again

    def second(self, status: int, body: bytes) -> None:
        """Take a second reply that is no stream; `late` is what the client gets of it."""
        words = f"status {status}: {server_words(body) or 'no words'}"
        if status not in (OK, *REFUSALS):
            out = self.abort(words)
        elif status == OK:
            out = [*self(body), *self(b"")]
        else:
            self._rewriter.refuse(WHILE.format(words))
            out = self(b"")
        self.late = self.late or out

    def _rewritten(self, chunk: bytes, at: float) -> list[bytes]:
        self._came += len(chunk)
        return self._rewriter.feed(chunk, at) if chunk else self._rewriter.close()

    def abort(self, reason: str) -> list[bytes]:
        """Return what the client gets for a body that breaks off; nothing if it had its end."""
        if self._rewriter.closed:
            return self._with_unsaid([])
        pieces = self._rewriter.abort(self.explain(reason))
        return self._passed(b"", self._with_unsaid(pieces), time() - self._began)

    def ping(self) -> list[bytes]:
        """Return a sign of life, where one may stand."""
        pieces = self._with_unsaid(self._rewriter.ping())
        return self._passed(b"", pieces, time() - self._began)

    def _passed(self, chunk: bytes, pieces: list[bytes], at: float) -> list[bytes]:
        if unused := self._rewriter.continuation.unused:  # of the first of two replies
            chunk, self._rewriter.continuation.unused = chunk[:-unused], 0
        out = b"".join(pieces)
        passed = [out] if out else []
        self.late += passed if self.holds else []
        try:
            self._kept.sides.passed(chunk, passed, at)
            self._tell()
        except Exception:
            # raised here, it would cost the client this chunk
            _log.exception("think: a chunk could not be told of")
        return passed
