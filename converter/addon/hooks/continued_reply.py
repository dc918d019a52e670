"""`ContinuedReply`: lets a reply go on after the addon has ended its thought (`thought_ender` in
`converter/core/reading` decides when). If the addon ends the answer, at a stop string, the reply
does not go on.

A server that ends thoughts on request (llama.cpp) is asked to do so, and continues the same
response. From any other server the addon disconnects in the middle of the response. The layers then
send a second request, whose body (`AwaitedReply.continued_body`) contains the reply so far, and the
server's response to it continues the reply. If the server cannot continue a reply, the reply ends
with the thought.
"""

import asyncio
from collections.abc import Awaitable, Callable

from mitmproxy.http import Request

from converter.addon import http_messages
from converter.addon.hooks.connection_faults import fault_message
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.servers.refused_fields import without_fields
from converter.core.dialects.error_words import server_message
from converter.core.dialects.server_fields import CONTROL, LAST_WORDS
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

SECOND_REQUEST_FAILED = "a thought was ended; the request to go on with the reply failed: {}"
"""The text of a note or an error about a second request that failed. `{}`: the fault, or the
server's message.
"""
OK, REFUSALS = 200, (400, 404, 405, 415, 422, 501)
"""Statuses of the response to the second request. `OK`: the response continues the reply.
`REFUSALS`: the server cannot continue the reply, which ends after the thought that the addon ended.
Any other status (such as 429) becomes an error of the reply.
"""


type AskToEnd = Callable[[str], Awaitable[bool]]
"""Takes the id of a reply, and asks the server to end the reply's thought. Returns True if the
server ends it, or if the reply has ended already.
"""


class ContinuedReply:
    """Lets a reply go on when the addon ends its thought: the server is asked to end the thought
    and goes on itself, or a second request continues the reply. If neither is possible, or if the
    addon ends the answer, at a stop string, the reply ends.

    Arguments:
        ask_to_end: the function that asks the server to end the thought.
    """

    def __init__(self, rewriter: Rewriter, record: FlowRecord, ask_to_end: AskToEnd) -> None:
        self._rewriter, self._record, self._ask_to_end = rewriter, record, ask_to_end
        self._requested_ends = 0
        self._server_answer: asyncio.Future[bool] | None = None
        self._has_sent_second = False
        rewriter.continuation.pauses = True

    @property
    def is_due(self) -> bool:
        """Return True if the addon, and not the server, has ended the thought or the answer, and
        `second_request` is still to be called.
        """
        return self._rewriter.continuation.stopped

    @property
    def is_ending(self) -> bool:
        """Return True if the server was asked to end a thought, and `await_answer`, which waits for
        the server's answer, is still to be called.
        """
        return self._server_answer is not None

    def ask_server(self) -> None:
        """Ask the server to end the running thought, if since the last call the rewriter has
        decided that the server should end it.
        """
        ends = self._rewriter.findings.ends
        if ends.by_server > self._requested_ends:
            self._requested_ends = ends.by_server
            asking = self._ask_to_end(self._rewriter.continuation.reply_id)
            self._server_answer = asyncio.ensure_future(asking)

    async def await_answer(self) -> list[bytes]:
        """Wait for the server's answer to the request of `ask_server`. Return the bytes that end
        the thought for the client; none if the server ends the thought itself.

        If the server does not end the thought, the rest of its response is not read (`is_due`
        becomes True), and a second request continues the reply.
        """
        answer, self._server_answer = self._server_answer, None
        return [] if answer is None or await answer else self._rewriter.leave()

    def explain(self, reason: str) -> str:
        """Return the message for the client about a broken connection. `reason`: mitmproxy's text
        for the fault. If the second request was sent, the message says that this request failed.
        """
        message = fault_message(self._record.flow, reason)
        return SECOND_REQUEST_FAILED.format(message) if self._has_sent_second else message

    def second_request(self, possible: bool) -> Request | None:
        """Return the second request, which continues a reply whose thought the addon has ended.
        Return `None` if the addon has ended the answer, or no request can continue the reply: the
        reply then ends here. `possible`: False if the connection's protocol allows no second
        request.
        """
        rewriter, record = self._rewriter, self._record
        sent, awaited = record.sides.server_request, record.awaited
        rewriter.continuation.stopped = False
        if rewriter.continuation.is_over or sent is None or awaited is None:
            return None
        first = json_text.read_or_none(http_messages.content_of(sent))
        if not possible or not isinstance(first, dict):
            rewriter.refuse("over this protocol no second request can continue the reply")
            return None
        self._server_answer = None
        first = without_fields(first, frozenset((CONTROL, LAST_WORDS)))
        second = http_messages.copy_message(sent)
        body = awaited.continued_body(first, rewriter.findings, rewriter.continuation.first_tokens)
        http_messages.set_body(second, json_text.write(body))
        self._has_sent_second = True
        return second

    def read_whole_response(self, status: int, body: bytes) -> str:
        """Check the response to the second request, if it came whole and not as a stream. Return
        the message of the error with which the client's reply ends. The message is empty, for no
        error, in two cases:

        - Status `OK`: `body` is the rest of the reply, which the caller passes to the rewriter.
        - A status of `REFUSALS`: the reply ends after the thought that the addon ended.
        """
        message = f"status {status}: {server_message(body) or 'no message'}"
        if status in REFUSALS:
            self._rewriter.refuse(SECOND_REQUEST_FAILED.format(message))
        return "" if status in (OK, *REFUSALS) else message
