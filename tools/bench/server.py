"""Serve the benches as their model server: send what `replies.py` builds, at once or at a pace in
tokens a second.

`python -m tools.bench.server` prints its port. If the `model` of a chat completions request ends
with a reply's name, such as `tags.2000.50`, the server sends this reply. Every other request gets
404, also the addon's questions about the server. So the addon does not recognise what it is.
"""

import asyncio
import re
import sys
import time

from tools.bench import replies

NAME_IN_REQUEST = re.compile(rb'"model": ?"(?:[^"]*[,/])?([a-z]+)\.(\d+)\.(\d+)"')
"""The pattern of the field `model` with a reply's name, also after other text, as in
`Qwen3-8B/tags.40.0`. Its groups are the reply's kind, tokens and pace.
"""
CONTENT_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
"""The pattern of the header with the length of a request's body."""
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
"""The head of the response to a streamed request."""
WHOLE_RESPONSE = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
"""The response with a JSON body, such as a whole reply; with places for length and body."""
NOT_FOUND = b'HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 22\r\n\r\n{"detail":"Not Found"}'
"""The response to all requests but those that name a reply."""


class Connection(asyncio.Protocol):
    """One connection of a client, whose requests are answered one after another."""

    _paced = 0
    """How many paced streams all connections together have begun. It shifts each stream's start by
    another fraction of the time between two tokens, so that streams do not send at the same moment.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, over which `_answer` sends replies."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Add `data` to what arrived before, and answer each request that is now complete."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = CONTENT_LENGTH.search(self._buffer, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < whole:
                return
            request = bytes(self._buffer[:whole])
            del self._buffer[:whole]
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        """Send the reply that a chat completions request names; 404 for any other request."""
        assert self._transport
        named = NAME_IN_REQUEST.search(request)
        if not (named and request.startswith(b"POST") and b"chat/completions " in request[:100]):
            self._transport.write(NOT_FOUND)
            return
        name = replies.ReplyName(named[1].decode(), int(named[2]), int(named[3]))
        if name.kind == replies.WHOLE:
            body = replies.whole_body(name)
            self._transport.write(WHOLE_RESPONSE % (len(body), body))
        elif not name.pace:
            self._transport.write(STREAM_HEAD + replies.bytes_at_once(name))
        else:
            self._keep_pace(name)

    def _keep_pace(self, name: replies.ReplyName) -> None:
        """Send a reply with a token each 1/pace seconds; a late token does not delay the next."""
        loop, reply = asyncio.get_running_loop(), replies.stream_of(name)
        Connection._paced += 1
        begin = loop.time() + (Connection._paced * 0.618034 % 1) / name.pace
        tokens = enumerate(reply.tokens, 1)

        def next_token() -> None:
            """Send one token and plan the next; after the last one, send the end."""
            if self._transport is None or self._transport.is_closing():
                return
            number, token = next(tokens, (0, None))
            if token is None:
                self._transport.write(reply.end)
                return
            self._transport.write(token.at(time.monotonic()))
            loop.call_at(begin + number / name.pace, next_token)

        assert self._transport
        self._transport.write(STREAM_HEAD + reply.begin)
        loop.call_at(begin, next_token)


async def serve() -> None:
    """Serve on a free port until the process is stopped."""
    listening = await asyncio.get_running_loop().create_server(
        Connection, "127.0.0.1", 0, backlog=512
    )
    print("port", listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
