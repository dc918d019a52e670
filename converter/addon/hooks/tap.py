"""The tap: the stream function of a reply, through which its bytes reach the client."""

import logging
from collections.abc import Callable
from functools import partial
from time import time

from mitmproxy.http import Request

from converter.addon.aside import aside_of_streams
from converter.addon.hooks.continued_reply import OK, ContinuedReply, EndThought
from converter.addon.hooks.refused_request import RefusalReader, SilentStream
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layer_contract import HeldStream
from converter.addon.memory.store_waits import PendingPieces
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

_log = logging.getLogger(__name__)

LONG = 32 * 1024
"""Bytes of an unfinished frame, whose reading takes up to 20 milliseconds, while others wait."""
_REPEATED_BYTES = 32
"""Bytes that a stream's end repeats. To write them costs as much as to read one byte."""


class Tap(HeldStream):
    """The stream function of a reply. The data of one read goes out as one piece. The function
    never raises, and never returns an empty piece in mid-stream.

    Attributes:
        explain: turns mitmproxy's reason for a break into a message.
        holds: the client gets one body.
        late: the pieces of this body so far.

    `tell` is called after each call. Four things may come between the rewriter and the client, each
    a class of its own: the rest of a reply waits until the reply is kept (`PendingPieces`), a
    second reply continues behind a thought (`ContinuedReply`), a refused request is sent once more
    (`RefusalReader`), and after a stream without a byte the server is asked for the reason
    (`SilentStream`).
    """

    def __init__(
        self,
        rewriter: Rewriter,
        tell: Callable[[], None],
        record: FlowRecord,
        explain: Callable[[str], str],
        end_thought: EndThought,
    ) -> None:
        self._rewriter = rewriter
        self._tell = tell
        self._record = record
        self._began = record.flow.request.timestamp_start  # seconds since 1970
        self._repeats_reply = record.exchange.client.wire.retells
        request = record.sides.client_request
        self._came = len(request.raw_content or b"") if request else 0
        self._unsaid = PendingPieces(record.memory)
        self._continued = ContinuedReply(rewriter, record, explain, end_thought)
        self.explain = self._continued.explain
        self.late: list[bytes] = []
        self.holds = False
        self._looks = record.may_be_refused
        self._refusal: RefusalReader | SilentStream | None = None
        self._withheld = b""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return the pieces that the client gets for this chunk, perhaps none yet. An empty chunk
        is the body's end. Chunks of a body that was left are ignored, because a long read comes in
        pieces.
        """
        if chunk and (self._continued.is_due or self._read_refusal(chunk)):
            return []
        at = time() - self._began
        return self._passed(chunk, self._unsaid.due(self._rewritten(chunk, at), chunk), at)

    def _read_refusal(self, chunk: bytes) -> bool:
        """Read the first chunk for a refusal; return True if the stream is a refusal."""
        if self._looks:
            self._looks = False
            if b'"error"' in chunk:
                reader = RefusalReader(self._record, self._record.refused)
                if reader.in_stream(chunk):
                    self._refusal, self._withheld = reader, chunk
        return self._is_left

    @property
    def _is_left(self) -> bool:
        return self._refusal is not None and self._refusal.stopped

    @property
    def follows(self) -> bool:
        """Return True if a request is to be sent behind the body's end: it was refused, or no byte
        came.
        """
        return self._is_left or self._looks

    @property
    def is_silent(self) -> bool:
        """Return True if the server was asked for the reason of a stream without a byte."""
        return isinstance(self._refusal, SilentStream)

    @property
    def is_long(self) -> bool:
        """Return True if the next call may take long, because it may end a long frame, a long
        reply, or a reply that is kept elsewhere, or the server is asked to end a thought.
        """
        if self._continued.is_ending or (self._unsaid.may_wait and self._rewriter.finished):
            return True
        again = self._came // _REPEATED_BYTES if self._repeats_reply else 0
        return self._rewriter.held() + again > LONG

    async def beside(self, chunk: bytes) -> list[bytes]:
        """Return the same as a call. The rewriting runs in a thread, the telling in the loop."""
        if chunk and (self._continued.is_due or self._read_refusal(chunk)):
            return []
        at = time() - self._began
        if chunk and self._continued.is_ending:
            pieces = await self._continued.answered()
            if self._continued.is_due:  # this chunk is of a reply that was left
                return self._passed(b"", self._unsaid.all(pieces), at)
        pieces = await aside_of_streams(partial(self._rewritten, chunk, at))
        out = self._passed(chunk, self._unsaid.all(pieces), at)
        await self._unsaid.until_written()
        return out

    @property
    def ends_thoughts(self) -> bool:
        """Return True if a thought may be ended."""
        awaited = self._record.awaited
        return awaited is not None and awaited.may_leave

    @property
    def stopped(self) -> bool:
        """Return True if a thought was ended just now, or the request refused."""
        return self._continued.is_due or self._is_left

    def next_request(self, possible: bool) -> Request | None:
        """Return the next request: it continues the reply behind the thought, or begins it anew."""
        if self._looks:
            self._looks, self._refusal = False, SilentStream(self._record)
        if self._refusal and self._is_left:
            self._record.refused = self._refusal
            return self._refusal.next_request(possible)
        return self._continued.request(possible)

    def take_second(self, status: int, body: bytes) -> None:
        """Take a second reply that is no stream, and add its bytes to `late`. An answer to
        `SilentStream` counts only if it is an error.
        """
        if self.is_silent:
            error = json_text.write(json_text.object_in(body)) if status != OK else b""
            self.late = [*(self(b"data: " + error + b"\n\n") if error else ()), *self(b"")]
            return
        if reason := self._continued.failure(status, body):
            out = self.abort(reason)
        else:
            out = [*(self(body) if status == OK else ()), *self(b"")]
        self.late = self.late or out

    def _rewritten(self, chunk: bytes, at: float) -> list[bytes]:
        self._came += len(chunk)
        if chunk:
            return self._rewriter.feed(chunk, at)
        withheld, self._withheld = self._withheld, b""  # a refusal that the client gets after all
        out = self._rewriter.feed(withheld, at) if withheld else []
        return [*out, *self._rewriter.close()]

    def abort(self, reason: str) -> list[bytes]:
        """Return the last pieces of a body that breaks off; none if it had its end."""
        if self._rewriter.closed:
            return self._unsaid.all([])
        pieces = self._rewriter.abort(self.explain(reason))
        return self._passed(b"", self._unsaid.all(pieces), time() - self._began)

    def ping(self) -> list[bytes]:
        """Return a sign of life, if one may stand here."""
        pieces = self._unsaid.all(self._rewriter.ping())
        return self._passed(b"", pieces, time() - self._began)

    def _passed(self, chunk: bytes, pieces: list[bytes], at: float) -> list[bytes]:
        if unused := self._continued.take_unused():  # the rest of the first of two replies
            chunk = chunk[:-unused]
        out = b"".join(pieces)
        passed = [out] if out else []
        self.late += passed if self.holds else []
        self._continued.ask_server()
        try:
            self._record.sides.keep_chunk(chunk, passed, at)
            self._tell()
        except Exception:
            # a fault raised here would cost the client this chunk
            _log.exception("think: a fault of the addon while a chunk was recorded")
        return passed
