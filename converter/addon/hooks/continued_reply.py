"""A reply that continues behind a thought which the addon ended: in the same reply, where the
server ends the thought when it is told to, else the second request, and its answer.
"""

import asyncio
from collections.abc import Awaitable, Callable

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.servers.refused_fields import without_fields
from converter.core.dialects.error_words import server_message
from converter.core.dialects.server_fields import CONTROL, LAST_WORDS
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

WHILE = "a thought was ended, and the request that goes on behind it failed: {}"
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of a second reply. With a refusal the server says that it cannot continue, so that the
reply ends at the thought. Any other status, such as that of too many requests, is a failure.
"""


type EndThought = Callable[[str], Awaitable[bool]]
"""Tell the server to end the thought of the reply of this id; return True if it does."""


class ContinuedReply:
    """The two halves of one reply. `explain`: turns mitmproxy's reason for a break into a
    message.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        record: FlowRecord,
        explain: Callable[[str], str],
        end_thought: EndThought,
    ) -> None:
        self._rewriter, self._record = rewriter, record
        self._explain, self._end_thought = explain, end_thought
        self._requests = 0
        self._answer: asyncio.Future[bool] | None = None
        self._has_sent = False
        rewriter.continuation.pauses = True

    @property
    def is_due(self) -> bool:
        """Return True if a thought was ended just now."""
        return self._rewriter.continuation.stopped

    @property
    def is_ending(self) -> bool:
        """True if the server got a request to end a thought, and its answer is not read yet."""
        return self._answer is not None

    def ask_server(self) -> None:
        """Tell the server to end the thought that was cut just now, if it can."""
        ends = self._rewriter.findings.ends
        if ends.by_server > self._requests:
            self._requests = ends.by_server
            asking = self._end_thought(self._rewriter.continuation.reply_id)
            self._answer = asyncio.ensure_future(asking)

    async def answered(self) -> list[bytes]:
        """Wait until the server has answered. If it does not end the thought, leave it, and return
        the client's bytes.
        """
        answer, self._answer = self._answer, None
        if answer is None or await answer:
            return []
        sent = self._record.sides.sent
        if sent and (body := json_text.object_in(http_messages.content_of(sent))):
            kept = without_fields(body, frozenset((CONTROL, LAST_WORDS)))
            http_messages.set_body(sent, json_text.write(kept))
        return self._rewriter.leave()

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
