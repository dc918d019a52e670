"""The interfaces by which our layers, which move bytes, and the addon's hooks, which interpret
them, call each other. Both import this file, and neither imports the other.

The layers call a `Listener` about an exchange: whether a request may have so many bytes, which head
begins a stream early, and what the client gets for a failure. A reply's bytes go through a
`StreamFunction` to the client, or a `BodyReader` reads them while the layers send nothing.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol, runtime_checkable

from mitmproxy.connection import Connection
from mitmproxy.http import HTTPFlow, Request, Response

QUITTING = "mitmproxy is shutting down"
"""The reason that the layers give when mitmproxy ends."""


class BodyReader(Protocol):
    """Reads the body of a response that is not yet sent to the client. In mid-body it may have the
    layers leave the server, which means that they close its connection and read no more from it.
    """

    holds: bool
    """True if the reader itself keeps the body, False if the layers keep it."""

    @property
    def stopped(self) -> bool:
        """Return True if the server is to be left now."""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Take a chunk."""

    def next_request(self, possible: bool) -> Request | None:
        """Return the request to send after the server was left, or `None` to end the body there.
        `possible`: True if the server's protocol allows another request for this client's stream.
        """


@runtime_checkable
class StreamFunction(BodyReader, Protocol):
    """The function that a reply's bytes pass on their way to the client. A call returns the pieces
    that the client gets for a chunk, `[]` if it gets none yet; an empty chunk ends the body. It
    never raises, and never returns an empty piece in mid-stream.
    """

    async def call_in_thread(self, chunk: bytes) -> list[bytes]:
        """Do the same as `__call__` in a thread beside mitmproxy's loop."""

    @property
    def is_long(self) -> bool:
        """Return True if the next call may take long; the layers then use `call_in_thread`."""

    @property
    def wants_next_request(self) -> bool:
        """Return True if the layers should send another request when the body has ended."""

    @property
    def ends_thoughts(self) -> bool:
        """Return True if `stopped` may become True in mid-stream, after a thought."""

    def abort(self, reason: str) -> list[bytes]:
        """Return the last pieces of a stream that broke off. `reason`: why, by mitmproxy."""

    def ping(self) -> list[bytes]:
        """Return a ping for the client, `[]` if the stream allows no ping at this point."""


class HeldStream(StreamFunction, Protocol):
    """A stream function, as the exchange's record refers to it. It is also the reader if the client
    gets one whole body.

    Attributes:
        late: the pieces of this body so far, if `holds` is True.
        explain: turns mitmproxy's reason for a broken connection into a message.
    """

    late: list[bytes]
    explain: Callable[[str], str]

    @property
    def is_silent(self) -> bool:
        """Return True if a request for the reason of an empty stream was sent."""

    def take_second_response(self, status: int, body: bytes) -> None:
        """Take the whole response to a later request, and close the reply."""


class Refusal(BodyReader, Protocol):
    """Reads a response that is not the client's reply: a server's refusal, or the rendered prompt
    that the addon requested. It may make another request. The exchange's record holds the reader.

    Attributes:
        reads: the response that is read.
        left_out: the parts of the first request that the next request lacks.
        body: the first request's fields, with all parts.
        renders: True if the next request asks for the rendered prompt, and not for a reply.
    """

    reads: Response | None
    left_out: frozenset[str]
    body: Mapping[str, object]
    renders: bool


class Listener(Protocol):
    """Tells the layers about exchanges. No method raises, and none waits."""

    hosts: MutableMapping[HTTPFlow, str]
    """The `Host` header that the client sent, by flow. The layers write it, because mitmproxy
    replaces the header.
    """

    @property
    def seconds_of_silence(self) -> float:
        """The seconds of silence after which a stream's client gets a ping; 0 for no pings."""

    def allows_size(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if a request may have so many bytes."""

    def body_reader(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the reader of a response that is not yet sent; None if the response goes on at
        once.
        """

    def make_error(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error response for a client whose request failed for this `reason`; None for
        mitmproxy's own error page.
        """

    def early_head(self, flow: HTTPFlow) -> Response | None:
        """Return a response head that is sent to the client before the server answers; None if the
        client waits for the server's.
        """

    def last_pieces(self, flow: HTTPFlow, begun: Any) -> list[bytes]:
        """Return the last pieces of a stream that began early, if the server's response did not go
        through `begun`, the stream function of the head that `early_head` returned.
        """


class Connections(Protocol):
    """The layer of a client's connection, as the exchanges on the connection use it.

    Attributes:
        listener: the addon's methods for the layers.
        connection_handler: mitmproxy's object that reads and writes the sockets.
        last_read: the number of bytes of the last read from a socket.
        last_from: the connection of the last read, the client's or a server's.
    """

    listener: Listener
    connection_handler: Any
    last_read: int
    last_from: Connection | None

    @property
    def connections(self) -> Mapping[Connection, Any]:
        """The layers of the client's and the servers' connections."""

    @property
    def streams(self) -> Mapping[int, Any]:
        """The exchanges by their ids."""


class Stream(Protocol):
    """The layer of one exchange, as the splice uses it."""

    flow: HTTPFlow
    context: Any
    response_body_buf: Any

    @property
    def streams(self) -> bool:
        """Return True if the server's body is being passed on as it comes."""

    def restart_silence(self) -> None:
        """Restart the time of silence, because bytes were sent to the client."""
