"""The rest of a reply behind a thought that the addon ended.

A server that ends thoughts on request (llama.cpp) gets a request to do so, and continues the same
response. From any other server the addon disconnects in the middle of the response. A second
request, which contains the reply so far, makes the server continue the reply.
"""

import asyncio
from collections.abc import Awaitable, Callable

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.hooks.connection_faults import fault_of
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.servers.refused_fields import without_fields
from converter.core.dialects.error_words import server_message
from converter.core.dialects.server_fields import CONTROL, LAST_WORDS
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

WHILE = "a thought was ended, and the request that goes on behind it failed: {}"
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of the response to the second request. After a refusal the client's reply ends at the
thought, because the server cannot continue it. Any other status (such as 429) is a failure.
"""


type EndThought = Callable[[str], Awaitable[bool]]
"""Tells the server to end the thought of the reply with this id. Returns True if the server does.
"""


class ContinuedReply:
    """Has the server continue a reply behind a thought that the addon ended.

    Arguments:
        end_thought: Asks the server to end the thought of the reply with this id.
    """

    def __init__(self, rewriter: Rewriter, record: FlowRecord, end_thought: EndThought) -> None:
        self._rewriter, self._record, self._end_thought = rewriter, record, end_thought
        self._requests = 0
        self._answer: asyncio.Future[bool] | None = None
        self._has_sent = False
        rewriter.continuation.pauses = True

    @property
    def is_due(self) -> bool:
        """Return True if the addon has ended a thought, and not yet made the second request."""
        return self._rewriter.continuation.stopped

    @property
    def is_ending(self) -> bool:
        """Return True if the server was asked to end a thought, and its answer is not read yet."""
        return self._answer is not None

    def ask_server(self) -> None:
        """Ask the server to end the running thought, if the rewriter wants it ended by
        the server.
        """
        ends = self._rewriter.findings.ends
        if ends.by_server > self._requests:
            self._requests = ends.by_server
            asking = self._end_thought(self._rewriter.continuation.reply_id)
            self._answer = asyncio.ensure_future(asking)

    async def answered(self) -> list[bytes]:
        """Wait for the server's answer to the request of `ask_server`. Return no bytes if the
        server ends the thought, so that its response goes on.

        If the server does not end the thought, leave its response, so that a second request
        continues the reply. Return the bytes with which the client's thought ends.
        """
        answer, self._answer = self._answer, None
        return [] if answer is None or await answer else self._rewriter.leave()

    def explain(self, reason: str) -> str:
        """Return the message for a broken connection, for mitmproxy's `reason`. If the second
        request was sent, the message says that this request failed.
        """
        message = fault_of(self._record.flow, reason)
        return WHILE.format(message) if self._has_sent else message

    def request(self, possible: bool) -> Request | None:
        """Return the second request; `None` if the reply ends at the thought. `possible`: the
        connection's protocol allows another request.
        """
        rewriter, sent, awaited = self._rewriter, self._record.sides.sent, self._record.awaited
        rewriter.continuation.stopped = False
        if rewriter.continuation.is_over or sent is None or awaited is None:
            return None
        first = json_text.read_or_none(http_messages.content_of(sent))
        if not possible or not isinstance(first, dict):
            rewriter.refuse("over this protocol no second request can continue the reply")
            return None
        self._answer = None
        first = without_fields(first, frozenset((CONTROL, LAST_WORDS)))
        second = http_messages.copied(sent)
        body = awaited.continued_body(first, rewriter.findings, rewriter.continuation.first_tokens)
        http_messages.set_body(second, json_text.write(body))
        self._has_sent = True
        return second

    def failure(self, status: int, body: bytes) -> str:
        """Return the message about a failed second request, whose response is not a stream. Return
        an empty text if the response has the rest of the reply. If the response is a refusal, end
        the reply at the thought, and return an empty text.
        """
        message = f"status {status}: {server_message(body) or 'no message'}"
        if status not in (OK, *REFUSALS):
            return message
        if status != OK:
            self._rewriter.refuse(WHILE.format(message))
        return ""
