"""The tap: the stream function through which the bytes of a streamed reply go from the server to
the client. A `Rewriter` rewrites them; the tap records the chunks, tells the layers when a call
needs a thread, and may have them send the server a next request.
"""

import logging
from collections.abc import Callable
from functools import partial
from time import time

from mitmproxy.http import Request

from converter.addon.aside import run_in_stream_thread
from converter.addon.hooks.continued_reply import OK, AskToEnd, ContinuedReply
from converter.addon.hooks.refused_request import RefusalReader, SilentStream
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layer_contract import HeldStream
from converter.addon.memory.store_waits import PendingPieces
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

_log = logging.getLogger(__name__)

LONG = 32 * 1024
"""The most bytes of a frame that is rewritten in mitmproxy's loop. To rewrite this number of bytes
takes up to 20 milliseconds, in which all other flows wait. A longer frame is rewritten in a thread.
"""
_REPEATED_BYTES = 32
"""In some dialects a stream's last event repeats the client's request and the whole reply.
`is_long` counts 32 repeated bytes as one byte of a frame, because to write the 32 takes as long as
to rewrite the one.
"""


class Tap(HeldStream):
    """The stream function of a reply: each call takes a chunk of the server's bytes, and returns
    the pieces of bytes that the client gets for it. A call joins its pieces into one. If the client
    gets nothing yet, the call returns `[]`. No call raises.

    Attributes:
        explain_fault: turns mitmproxy's reason for a broken connection into a message for the
            client.
        holds: True if the pieces are collected in `late_pieces` and not sent, because the client
            gets one whole body.
        late_pieces: the pieces for the client that are collected so far.

    `tell` is called after each chunk, and passes the chunk's events to the watchers. `ask_to_end`
    asks the server to end a thought. Four classes may act between the rewriter and the client:

    - `PendingPieces`: the end of a reply waits until the reply is stored in the memory.
    - `ContinuedReply`: if the addon ends a thought, the server goes on with the reply itself, or a
      second request of the addon continues it.
    - `RefusalReader`: if the stream's first chunk is an error that refuses the request for a trait,
      such as a field, the addon sends the request again and leaves the trait out.
    - `SilentStream`: if a reply's stream is empty, the addon's next request asks for the reason.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        tell: Callable[[], None],
        record: FlowRecord,
        ask_to_end: AskToEnd,
    ) -> None:
        self._rewriter = rewriter
        self._tell = tell
        self._record = record
        self._requested_at = record.flow.request.timestamp_start  # seconds since 1970
        self._repeats_reply = record.exchange.client_dialect.wire.retells
        request = record.sides.client_request
        self._received_bytes = len(request.raw_content or b"") if request else 0
        self._pending = PendingPieces(record.memory)
        self._continued = ContinuedReply(rewriter, record, ask_to_end)
        self.explain_fault = self._continued.explain
        self.late_pieces: list[bytes] = []
        self.holds = False
        self._awaits_first_chunk = record.exchange.endpoint.is_chat
        self._refusal: RefusalReader | SilentStream | None = None
        self._withheld_chunk = b""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return the pieces that the client gets for this chunk, perhaps none yet. An empty chunk
        is the end of the response's body. Once the addon has ended the thought or the answer, or
        the server has refused the request, chunks with data are ignored: some may still come,
        because mitmproxy divides a long read into chunks.
        """
        if chunk and (self._continued.is_due or self._read_refusal(chunk)):
            return []
        at = time() - self._requested_at
        return self._pass_on(chunk, self._pending.take_due(self._rewrite(chunk, at), chunk), at)

    def _read_refusal(self, chunk: bytes) -> bool:
        """Return True if the server has refused the request in the reply's first chunk, and the
        next request is ready. If `chunk` is the first one, search it for the server's error.
        """
        if self._awaits_first_chunk:
            self._awaits_first_chunk = False
            if b'"error"' in chunk:
                reader = RefusalReader(self._record, self._record.refusal)
                if reader.read_first_chunk(chunk):
                    self._refusal, self._withheld_chunk = reader, chunk
        return self._is_refusal

    @property
    def _is_refusal(self) -> bool:
        """Return True if the server has refused the request or sent an empty stream, and the next
        request is ready.
        """
        return self._refusal is not None and self._refusal.stopped

    @property
    def wants_next_request(self) -> bool:
        """Return True if the layers have to call `next_request` at this response's end: the server
        has refused the request, or a reply's stream is empty. Read it only at the body's end,
        because it is True before a reply's first chunk too.
        """
        return self._is_refusal or self._awaits_first_chunk

    @property
    def is_silent(self) -> bool:
        """Return True if the server's stream was empty. The addon then repeats the request, and
        asks for a whole reply instead of a stream, because only a whole reply has the server's
        error.
        """
        return isinstance(self._refusal, SilentStream)

    @property
    def is_long(self) -> bool:
        """Return True if the next chunk must go to `call_in_thread`, because the call may take
        long. The call may complete a long frame, write a last event that repeats the reply, wait
        until the reply is stored in a file or in Redis, or wait for the server's answer to the
        request to end a thought.
        """
        if self._continued.is_ending or (self._pending.may_wait and self._rewriter.finished):
            return True
        again = self._received_bytes // _REPEATED_BYTES if self._repeats_reply else 0
        return self._rewriter.held() + again > LONG

    async def call_in_thread(self, chunk: bytes) -> list[bytes]:
        """Do the same as a call of the tap, but rewrite in a thread beside mitmproxy's loop. If the
        server was asked to end a thought, first wait for its answer. At the end wait until the
        reply is stored. The events are passed to the watchers in the loop.
        """
        if chunk and (self._continued.is_due or self._read_refusal(chunk)):
            return []
        at = time() - self._requested_at
        if chunk and self._continued.is_ending:
            pieces = await self._continued.await_answer()
            if self._continued.is_due:  # the addon has ended the thought: drop the chunk
                return self._pass_on(b"", self._pending.take_all(pieces), at)
        pieces = await run_in_stream_thread(partial(self._rewrite, chunk, at))
        out = self._pass_on(chunk, self._pending.take_all(pieces), at)
        await self._pending.wait_for_writes()
        return out

    @property
    def may_leave_server(self) -> bool:
        """Return True if the addon may close the server's connection in the middle of the reply, to
        end a thought or the answer.
        """
        awaited = self._record.awaited
        return awaited is not None and awaited.may_leave_server

    @property
    def stopped(self) -> bool:
        """Return True if the rest of this response must not be read: the addon has ended the
        thought or the answer; or the response is a refusal, and the next request is ready.
        """
        return self._continued.is_due or self._is_refusal

    def next_request(self, possible: bool) -> Request | None:
        """Return the request to send to the server after this response; `None` if there is none. It
        continues a reply whose thought the addon has ended, takes the place of a refused request,
        or asks why a stream was empty. `possible`: False if the protocol of the server's connection
        allows no further request for this exchange.
        """
        if self._awaits_first_chunk:
            self._awaits_first_chunk, self._refusal = False, SilentStream(self._record)
        if self._refusal and self._is_refusal:
            self._record.refusal = self._refusal
            return self._refusal.next_request(possible)
        return self._continued.second_request(possible)

    def take_second_response(self, status: int, body: bytes) -> None:
        """Close the reply with the response to the request of `next_request`, if this response came
        whole and not as a stream. The client's last pieces are then in `late_pieces`. If `status`
        is 200, `body` is rewritten as the rest of the reply; after another status the reply ends,
        usually with an error.

        If the request asked why a stream was empty (`is_silent`), the client gets the response's
        body only if `status` is not 200, as an error; else the reply ends as an empty stream.
        """
        if self.is_silent:
            error = json_text.write(json_text.object_in(body)) if status != OK else b""
            self.late_pieces = [*(self(b"data: " + error + b"\n\n") if error else ()), *self(b"")]
            return
        if reason := self._continued.read_whole_response(status, body):
            out = self.abort(reason)
        else:
            out = [*(self(body) if status == OK else ()), *self(b"")]
        self.late_pieces = self.late_pieces or out

    def _rewrite(self, chunk: bytes, at: float) -> list[bytes]:
        """Return the client's pieces for a chunk that came `at` seconds after the request. For an
        empty chunk, which is the body's end, return the last pieces.
        """
        self._received_bytes += len(chunk)
        if chunk:
            return self._rewriter.feed(chunk, at)
        # a chunk is still withheld if the server has refused the request and no next request could
        # be sent: then the client gets the refusal
        withheld, self._withheld_chunk = self._withheld_chunk, b""
        out = self._rewriter.feed(withheld, at) if withheld else []
        return [*out, *self._rewriter.close()]

    def abort(self, reason: str) -> list[bytes]:
        """Close a reply whose connection broke, and return its last pieces, with an error for the
        client unless the reply's finish has come. If the reply was closed already, return only the
        pieces that waited until the reply was stored. `reason`: mitmproxy's text for the fault.
        """
        if self._rewriter.closed:
            return self._pending.take_all([])
        pieces = self._rewriter.abort(self.explain_fault(reason))
        return self._pass_on(b"", self._pending.take_all(pieces), time() - self._requested_at)

    def ping(self) -> list[bytes]:
        """Return the pieces that waited for the reply's store, and a ping for the client, if the
        reply allows a ping at this point.
        """
        pieces = self._pending.take_all(self._rewriter.ping())
        return self._pass_on(b"", pieces, time() - self._requested_at)

    def _pass_on(self, chunk: bytes, pieces: list[bytes], at: float) -> list[bytes]:
        """Record the chunk, and return its `pieces` for the client, joined into one; `[]` if they
        are empty. If the tap holds pieces, also keep them in `late_pieces`. Ask the server to end
        the thought if the rewriter wants that, and pass the events to the watchers.

        `at`: when the chunk came, in seconds after the request.
        """
        # the chunk's last `unused` bytes came after the addon had ended the thought or the answer:
        # they are not recorded, because the rewriter has not read them
        continuation = self._rewriter.continuation
        if continuation.unused:
            chunk, continuation.unused = chunk[: -continuation.unused], 0
        out = b"".join(pieces)
        passed = [out] if out else []
        self.late_pieces += passed if self.holds else []
        self._continued.ask_server()
        try:
            self._record.sides.keep_chunk(chunk, passed, at)
            self._tell()
        except Exception:
            # the client must get its pieces even if the recording fails
            _log.exception("think: a fault of the addon while a chunk was recorded")
        return passed
