"""`BothSides` keeps both sides of an exchange. The client's side is the request that the client
sent and the reply that it got; the server's side is the request that the server got and the reply
that it sent.

The flow itself shows the client's side. The server's side becomes the flow's backup, which
mitmproxy's *Revert* shows. Both are saved with the flow, and so are the times of the chunks.
"""

from dataclasses import dataclass, field

from mitmproxy.http import Headers, HTTPFlow, Request, Response

from converter.addon.http_messages import copy_message
from converter.addon.mitmproxy_internals import remove_flow_backup
from converter.addon.servers.server_key import hide_key
from converter.core.wire.bounds import BODY_LIMIT


@dataclass
class BothSides:
    """Keeps the messages of the client and of the server in one exchange."""

    headers: Headers
    """The request headers that the client sent."""
    keeps_bodies: bool = False
    """True if the bodies are kept, for a recording or for people to look at."""
    client_request: Request | None = None
    """The request as the client sent it; None if the flow still has it."""
    server_request: Request | None = None
    """The request as the server got it; None if the flow still has it."""
    server_response: Response | None = None
    """The server's response, whose body is in `chunks`; None before its head has come."""
    chunks: list[bytes] = field(default_factory=list)
    """The chunks of the server's body so far."""
    cuts: list[tuple[int, float]] = field(default_factory=list)
    """For each chunk its length, and the seconds from the request to its arrival."""
    client_bytes: bytearray | None = None
    """The bytes that the client has got so far of a streamed reply, or that are collected for a
    client that wants one whole body; None before the first bytes, and empty if bodies are not kept.
    """
    client_lengths: list[int] = field(default_factory=list)
    """The length of `client_bytes` after each chunk, and at the end."""
    is_truncated: bool = False
    """True if only the beginning of the stream is kept, because it is too long."""

    def keep_response_head(self, flow: HTTPFlow) -> None:
        """Copy the head of the server's response from the flow. Put the client's request back into
        the flow, where the request to the server has stood until now. Do nothing if a head is kept
        already.
        """
        if flow.response and self.client_request and self.server_response is None:
            self.server_response = copy_message(flow.response)
            if self.server_request is None:
                self.server_request, flow.request = flow.request, self.client_request

    def keep_chunk(self, chunk: bytes, pieces: list[bytes], at: float) -> None:
        """Keep a chunk of the server's stream, and the pieces of bytes that the client got for it,
        if bodies are kept and the client's bytes have not exceeded `BODY_LIMIT`. `at`: the seconds
        from the request to the chunk.
        """
        self.client_bytes = bytearray() if self.client_bytes is None else self.client_bytes
        self.is_truncated = self.is_truncated or len(self.client_bytes) > BODY_LIMIT
        if self.keeps_bodies and not self.is_truncated:
            self.keep_body(chunk, at)
            self.client_bytes += b"".join(pieces)
            self.client_lengths.append(len(self.client_bytes))

    def keep_body(self, body: bytes, at: float) -> None:
        """Keep a chunk of the server's body, if bodies are kept. `at`: the seconds from the request
        to the chunk.
        """
        if body and self.keeps_bodies:
            self.chunks.append(body)
            self.cuts.append((len(body), round(at, 4)))

    def show(self, flow: HTTPFlow) -> None:
        """Put the client's request into the flow, and, if bodies are kept, the body of the streamed
        reply that the client got.
        """
        if self.client_bytes is not None and flow.response and self.keeps_bodies:
            flow.response.data.content = bytes(self.client_bytes)
        # If the server has not answered, `keep_response_head` was not called, and the flow still
        # has the request to the server.
        if self.server_response is None and self.client_request and self.server_request is None:
            self.server_request, flow.request = flow.request, self.client_request

    def back_up(self, flow: HTTPFlow) -> None:
        """Make the server's side the flow's backup, if it is kept whole and differs from the
        client's side.
        """
        sent, answered = self.server_request, self.server_response
        if not self.keeps_bodies or self.is_truncated or (flow.response and not answered):
            return
        if not (sent and self.client_request):
            return
        if answered:
            # The chunks are kept uncompressed, so the header would be wrong.
            answered.headers.pop("content-encoding", None)
            answered.raw_content = b"".join(self.chunks)
            answered.timestamp_end = flow.response.timestamp_end if flow.response else None
        hide_key(sent.headers)
        if _contents(self.client_request, flow.response) != _contents(sent, answered):
            request, got = self.client_request, flow.response
            flow.request, flow.response = sent, answered
            try:
                # If a person has edited an intercepted request, the flow has a backup already,
                # without a reply. mitmproxy's `backup` would not replace it.
                remove_flow_backup(flow)
                flow.backup()
            finally:
                # Also after an exception: mitmproxy may still have to send the flow's response to
                # the client, and must not send the server's.
                flow.request, flow.response = request, got


def _contents(request: Request, reply: Response | None) -> object:
    """Return the values by which the two sides of an exchange are compared: the request's path and
    body, the reply's status and body.
    """
    replied = reply and (reply.status_code, reply.raw_content)
    return request.path, request.raw_content, replied
