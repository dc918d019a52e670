"""A refusal that is read as it comes: the same request goes out once more, without the part that
the server's words name. A server names one part at a time, so that each may be refused once.
"""

import logging

from mitmproxy.http import Request

from converter.addon import messages
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.layers.contract import Refusal
from converter.addon.log_lines import report
from converter.addon.servers import refusals
from converter.addon.servers.refusals import SCHEMA_WORDS, Body
from converter.core.dialects.error_words import server_words
from converter.core.wire import json_text

_log = logging.getLogger(__name__)
_LONGEST = 1 << 16
"""Bytes of a refusal: it is looked at with each chunk, so that a long one would cost its square."""
AGAIN = "the server refused {names}, and was asked again without: {words}"
METADATA = "think_refused"
"""The request that the server refused, in the flow's metadata."""


def may_ask_again(record: FlowRecord) -> bool:
    """Tell whether an error may be one of a part that can be left out."""
    response = record.flow.response
    status = response.status_code if response else 0
    chat = record.request is not None and record.exchange.endpoint.is_chat
    return status in refusals.STATUSES and chat and not record.exchange.native


class RefusalReader(Refusal):
    """Reads one refusal, in which its server may be left. `left_out`: what the next request lacks
    of `body`, the first. `before`: the refusal of another part.
    """

    holds = False

    def __init__(self, record: FlowRecord, before: Refusal | None = None) -> None:
        self.reads = record.flow.response
        self.left_out: frozenset[str] = before.left_out if before else frozenset()
        self.body: Body = before.body if before else {}
        self._record = record
        self._came = bytearray()
        self._next: Body = {}
        self._names: frozenset[str] = frozenset()
        self._words = ""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Read on; the body is whole when it is JSON."""
        self._came += chunk if len(self._came) <= _LONGEST else b""
        status = self.reads.status_code if self.reads else 0
        if len(self._came) <= _LONGEST and json_text.readable(bytes(self._came)):
            self._read(bytes(self._came), status)
        return []

    def in_stream(self, chunk: bytes) -> bool:
        """Tell whether a stream begins with a refusal, of which the status says nothing."""
        event = chunk.partition(b"data:")[2].partition(b"\n")[0]
        if b'"error"' in event and json_text.readable(event):
            self._read(event, min(refusals.STATUSES))
        return self.stopped

    @property
    def stopped(self) -> bool:
        """Tell whether there is another request to send."""
        return bool(self._next)

    def again(self, possible: bool) -> Request | None:
        """Return the request without what was refused."""
        sent = self._record.sides.sent
        body, self._next = self._next, {}
        if sent is None or not possible:
            self.left_out = frozenset()
            return None
        first = messages.content_of(sent).decode("utf-8", "replace")
        self._record.flow.metadata.setdefault(METADATA, first)
        request = messages.copied(sent)
        messages.fill(request, json_text.write(body))
        self._record.sides.asks_again(request)
        names = (name for name in self._names if name not in SCHEMA_WORDS or f'"{name}"' in first)
        line = AGAIN.format(names=", ".join(sorted(names)), words=self._words)
        self._record.hints += report(self._record.flow, [line], logging.INFO)
        return request

    def _read(self, answer: bytes, status: int) -> None:
        try:
            self._spare(answer, status)
        except Exception:  # a fault of ours costs the second request, not the server's answer
            _log.exception("think: a refusal could not be read")

    def _spare(self, answer: bytes, status: int) -> None:
        sent = messages.content_of(self._record.sides.sent)
        body = json_text.read_or_none(sent)
        self._words = server_words(answer)
        names = refusals.refused(status, self._words, sent.decode("utf-8", "replace"))
        request = self._record.request
        if names <= self.left_out or not isinstance(body, dict) or request is None:
            return
        spared = refusals.without(body, names, request.may_lack)
        if spared is not body:
            self._next, self._names = spared, names - self.left_out
            self.left_out, self.body = self.left_out | names, self.body or body
