"""A reply that continues behind a thought which the addon ended: the second request, and its
answer.
"""

from collections.abc import Callable

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.keep.flow_record import FlowRecord
from converter.core.dialects.error_words import server_message
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

WHILE = "a thought was ended, and the request that goes on behind it failed: {}"
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of a second reply. With a refusal the server says that it cannot continue, so that the
reply ends at the thought. Any other status, such as that of too many requests, is a failure.
"""


class ContinuedReply:
    """The two halves of one reply. `explain`: turns mitmproxy's reason for a break into a
    message.
    """

    def __init__(
        self, rewriter: Rewriter, record: FlowRecord, explain: Callable[[str], str]
    ) -> None:
        self._rewriter, self._record = rewriter, record
        self._explain = explain
        self._has_sent = False
        rewriter.continuation.pauses = True

    @property
    def is_due(self) -> bool:
        """Return True if a thought was ended just now."""
        return self._rewriter.continuation.stopped

    def explain(self, reason: str) -> str:
        """Return the message for a break; it names the second request, if that was sent."""
        message = self._explain(reason)
        return WHILE.format(message) if self._has_sent else message

    def request(self, possible: bool) -> Request | None:
        """Return the second request; `None` where the reply ends at the thought. `possible`: the
        server's protocol lets another request be sent.
        """
        rewriter, sent, awaited = self._rewriter, self._record.sides.sent, self._record.awaited
        rewriter.continuation.stopped = False
        if rewriter.continuation.is_over or sent is None or awaited is None:
            return None
        first = json_text.read_or_none(http_messages.content_of(sent))
        if not possible or not isinstance(first, dict):
            rewriter.refuse("over this protocol no second request can continue the reply")
            return None
        second = http_messages.copied(sent)
        body = awaited.continued_body(first, rewriter.findings, rewriter.continuation.first_tokens)
        http_messages.set_body(second, json_text.write(body))
        self._has_sent = True
        return second

    def take_unused(self) -> int:
        """Return how many bytes of the first reply were not used, and reset the number."""
        unused, self._rewriter.continuation.unused = self._rewriter.continuation.unused, 0
        return unused

    def failure(self, status: int, body: bytes) -> str:
        """Return why a second reply that is no stream failed; empty for a reply or a refusal. A
        refusal ends the reply at the thought.
        """
        message = f"status {status}: {server_message(body) or 'no message'}"
        if status not in (OK, *REFUSALS):
            return message
        if status != OK:
            self._rewriter.refuse(WHILE.format(message))
        return ""
