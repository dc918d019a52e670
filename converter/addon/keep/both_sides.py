"""Keep both sides of an exchange. The client's side is the request that the client sent and the
reply that it got; the server's side is the request that the server got and the reply that it sent.

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
    """Keeps the messages of the client and of the server in one exchange.

    Attributes:
        headers: the request headers that the client sent.
        full: True if the bodies are kept, for people to look at.
        client_request: the request as the client sent it; None if the flow still has it.
        sent: the request as the server got it; None if the flow still has it.
        answered: the server's response, whose body is in `chunks`.
        chunks: the chunks of the server's body so far.
        cuts: for each chunk its length, and the seconds from the request to its arrival.
        got: the bytes of a stream that the client has got so far; None if it gets no stream.
        lengths: the length of `got` after each chunk, and at the end.
        cut_off: True if only the beginning of the stream is kept, because it is too long.
    """

    headers: Headers
    full: bool = False
    client_request: Request | None = None
    sent: Request | None = None
    answered: Response | None = None
    chunks: list[bytes] = field(default_factory=list)
    cuts: list[tuple[int, float]] = field(default_factory=list)
    got: bytearray | None = None
    lengths: list[int] = field(default_factory=list)
    cut_off: bool = False

    def keep_response_head(self, flow: HTTPFlow) -> None:
        """Copy the head of the server's response from the flow. Put the client's request back into
        the flow, where the request to the server has stood until now.
        """
        if flow.response and self.client_request and self.answered is None:
            self.answered = copy_message(flow.response)
            if self.sent is None:
                self.sent, flow.request = flow.request, self.client_request

    def keep_chunk(self, chunk: bytes, pieces: list[bytes], at: float) -> None:
        """Keep a chunk of the server's stream, and the pieces of bytes that the client got for it.
        `at`: the seconds from the request to the chunk.
        """
        self.got = bytearray() if self.got is None else self.got
        self.cut_off = self.cut_off or len(self.got) > BODY_LIMIT
        if self.full and not self.cut_off:
            self.keep_body(chunk, at)
            self.got += b"".join(pieces)
            self.lengths.append(len(self.got))

    def keep_body(self, body: bytes, at: float) -> None:
        """Keep a chunk of the server's body. `at`: the seconds from the request to the chunk."""
        if body and self.full:
            self.chunks.append(body)
            self.cuts.append((len(body), round(at, 4)))

    def show(self, flow: HTTPFlow) -> None:
        """Put the client's request, and the stream that the client got, into the flow."""
        if self.got is not None and flow.response and self.full:
            flow.response.data.content = bytes(self.got)
        # If the server has not answered, `keep_response_head` was not called, and the flow still
        # has the request to the server.
        if self.answered is None and self.client_request and self.sent is None:
            self.sent, flow.request = flow.request, self.client_request

    def back_up(self, flow: HTTPFlow) -> None:
        """Make the server's side the flow's backup, if it differs from the client's side."""
        if not self.full or self.cut_off:
            return
        if not (self.sent and self.client_request) or (flow.response and not self.answered):
            return
        if self.answered:
            # The chunks were kept uncompressed, so the header would be wrong.
            self.answered.headers.pop("content-encoding", None)
            self.answered.raw_content = b"".join(self.chunks)
            self.answered.timestamp_end = flow.response.timestamp_end if flow.response else None
        hide_key(self.sent.headers)
        if _contents(self.client_request, flow.response) != _contents(self.sent, self.answered):
            request, got = self.client_request, flow.response
            flow.request, flow.response = self.sent, self.answered
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
