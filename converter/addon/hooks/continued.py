"""A reply that goes on behind a thought which was ended: the second request, and its answer."""

from collections.abc import Callable

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.keep.flow_record import FlowRecord
from converter.core.dialects.error_words import server_message
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

WHILE = "a thought was ended, and the request that goes on behind it failed: {}"
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of a second reply. By a refusal the server says that it cannot go on, which ends the
first; by any other, of a key or of too many requests, that it failed.
"""


class ContinuedReply:
    """The two halves of one reply. `explain`: puts mitmproxy's reason for a break into words."""

    def __init__(self, rewriter: Rewriter, kept: FlowRecord, explain: Callable[[str], str]) -> None:
        self._rewriter, self._kept = rewriter, kept
        self._explain = explain
        self._has_sent = False
        rewriter.continuation.pauses = True

    @property
    def is_due(self) -> bool:
        """Tell whether a thought was ended just now."""
        return self._rewriter.continuation.stopped

    def explain(self, reason: str) -> str:
        """Return the words for a break; behind a thought that was ended they say so."""
        message = self._explain(reason)
        return WHILE.format(message) if self._has_sent else message

    def request(self, possible: bool) -> Request | None:
        """Return the second request; `None` where the reply ends at the thought. `possible`: the
        server's protocol lets one be sent.
        """
        rewriter, sent, awaited = self._rewriter, self._kept.sides.sent, self._kept.awaited
        rewriter.continuation.stopped = False
        if rewriter.continuation.is_over or sent is None or awaited is None:
            return None
        first = json_text.read_or_none(http_messages.content_of(sent))
        if not possible or not isinstance(first, dict):
            rewriter.refuse("this server's protocol lets no reply go on in another")
            return None
        second = http_messages.copied(sent)
        body = awaited.again(first, rewriter.findings, rewriter.continuation.made)
        http_messages.fill(second, json_text.write(body))
        self._has_sent = True
        return second

    def unused(self) -> int:
        """Return how many bytes of the first reply nobody has used, once."""
        unused, self._rewriter.continuation.unused = self._rewriter.continuation.unused, 0
        return unused

    def failure(self, status: int, body: bytes) -> str:
        """Return why a second reply that is no stream broke off; empty where it did not: it is a
        reply, or a refusal, by which the reply ends at the thought.
        """
        message = f"status {status}: {server_message(body) or 'no words'}"
        if status not in (OK, *REFUSALS):
            return message
        if status != OK:
            self._rewriter.refuse(WHILE.format(message))
        return ""
