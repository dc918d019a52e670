"""The interfaces, such as `Listener` and `StreamFunction`, between our layers of mitmproxy's proxy
core (`converter/addon/layers`), which move bytes, and the addon's hooks (`converter/addon/hooks`),
which interpret them. Both import this file, and neither imports the other.

The layers ask a `Listener` about an exchange: whether the client's request is too long, which head
begins a stream early, and which response the client gets after a failure. The bytes of a reply go
through a `StreamFunction` to the client, or a `BodyReader` reads them while the client gets
nothing. `HeldStream` and `Refusal` are for the hooks alone, `Connections` and `Stream` for the
layers alone.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol, runtime_checkable

from mitmproxy.connection import Connection
from mitmproxy.http import HTTPFlow, Request, Response

QUITTING = "mitmproxy is shutting down"
"""The reason that the layers pass to `StreamFunction.abort` when mitmproxy ends."""


class BodyReader(Protocol):
    """Reads the body of a server's response while the client does not get it yet. In the middle of
    the body it may have the layers leave the server: they close the server's connection (HTTP/1) or
    cancel the stream (HTTP/2), read no more of this response, and send the server the request that
    `next_request` returns, if there is one.
    """

    holds: bool
    """True if this reader keeps the response's body for the client, False if the layers keep it."""

    @property
    def stopped(self) -> bool:
        """Return True if the layers must leave the server now. While a stream function streams, the
        layers ask this only if its `may_leave_server` is True.
        """

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Read a chunk of the response's body. The returned list is ignored."""

    def next_request(self, possible: bool) -> Request | None:
        """Return the request that the layers send to the server in place of the rest of this
        response. `None` if there is none: the client's response then ends with what was read so
        far. `possible`: False if no further request can be sent for this exchange, as over HTTP/2;
        then `None` is returned.
        """


@runtime_checkable
class StreamFunction(BodyReader, Protocol):
    """The function that rewrites the bytes of a reply on their way to the client. A call takes a
    chunk of the server's and returns the pieces that the client gets for it, `[]` if none yet; an
    empty chunk ends the body. It never raises, and never returns an empty piece in mid-stream.
    """

    async def call_in_thread(self, chunk: bytes) -> list[bytes]:
        """Do the same as `__call__`, in a thread, so that mitmproxy's event loop does not wait. The
        call may also wait for an answer of the server or for the reply's store.
        """

    @property
    def is_long(self) -> bool:
        """Return True if the next call may take long; the layers then use `call_in_thread`."""

    @property
    def wants_next_request(self) -> bool:
        """Return True if the layers must call `next_request`, and send the server its request, once
        the body of the server's response has ended, before they end the client's stream.
        """

    @property
    def may_leave_server(self) -> bool:
        """Return True if `stopped` may become True in the middle of the server's stream, because
        the addon ends a thought or the answer. The layers then close the server's connection.
        """

    def abort(self, reason: str) -> list[bytes]:
        """Return the last pieces for the client of a stream that broke off. `reason`: mitmproxy's
        text for the fault, or `QUITTING`.
        """

    def ping(self) -> list[bytes]:
        """Return a ping for the client, `[]` if the stream allows no ping at this point."""


class HeldStream(StreamFunction, Protocol):
    """The stream function of a reply, with the members that only the hooks use. If `holds` is True,
    because the client gets one whole body, the layers call this function as a `BodyReader`, and it
    keeps the pieces.
    """

    late_pieces: list[bytes]
    """The pieces for the client that are kept here, because the client does not get them as they
    come.
    """
    explain_fault: Callable[[str], str]
    """Turns mitmproxy's reason for a broken connection into a message for the client."""

    @property
    def is_silent(self) -> bool:
        """Return True if the server's stream was empty. The addon has then repeated the request,
        and asked for a whole reply instead of a stream, to get the server's error.
        """

    def take_second_response(self, status: int, body: bytes) -> None:
        """Close the reply with the response to a request of `next_request`, if this response came
        whole and not as a stream. If its `status` is 200, its `body` is rewritten as the rest of
        the reply; else the reply ends here. The last pieces for the client are then in
        `late_pieces`.
        """


class Refusal(BodyReader, Protocol):
    """Reads a server's response whose place another one may take: a refusal of the client's
    request, or the prompt that the addon had the server render from the chat template. It makes the
    next request to the server, if another request can help; else the client gets the refusal.
    """

    response: Response | None
    """The server's response whose body is read; None if the flow has none."""
    left_out_traits: frozenset[str]
    """The names of the traits that the next request to the server lacks, because the server refused
    them.
    """
    first_body: Mapping[str, object]
    """The fields of the first request to the server, with all its traits; empty if no trait was
    left out.
    """
    requests_prompt: bool
    """True if the next request asks the server for the prompt that the chat template renders, and
    not for a reply.
    """


class Listener(Protocol):
    """The addon's answers to the layers' questions about exchanges. No method raises, and none
    waits.
    """

    hosts: MutableMapping[HTTPFlow, str]
    """Flow -> the `Host` header that the client sent. The layers write it for the hooks, because
    mitmproxy replaces the header.
    """

    @property
    def seconds_of_silence(self) -> float:
        """The seconds after which the client of a silent stream gets a ping; 0: no pings."""

    def allows_size(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if the body of the client's request may have `size` bytes."""

    def body_reader(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the reader of the server's response, whose body is collected and not streamed;
        None if nobody has to read the body as it comes.
        """

    def make_error(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the error response for a client whose request got no response; None: the client
        gets mitmproxy's own error page. `reason`: mitmproxy's text for the fault.
        """

    def early_head(self, flow: HTTPFlow) -> Response | None:
        """Return a response head with which the client's stream begins before the server answers;
        None if the client waits for the server's head.
        """

    def last_pieces(self, flow: HTTPFlow, begun: Any) -> list[bytes]:
        """Return the last pieces of a client's stream if the server's response then came whole: the
        rewritten body, or an error. The stream began before the server answered, or a next request
        was to continue it. `begun`: the stream function with which the client's stream began; the
        layers have not called it with this response's body.
        """


class Connections(Protocol):
    """The members of our layer of a client's connection that the layers of the connection's
    exchanges use.
    """

    listener: Listener
    """The addon's answers to the layers' questions."""
    connection_handler: Any
    """mitmproxy's object that reads and writes the sockets; None: the layers know none."""
    last_read_bytes: int
    """How many bytes the last read from a socket returned."""
    last_read_from: Connection | None
    """The connection, the client's or a server's, from which the last read came; None before the
    first read.
    """

    @property
    def connections(self) -> Mapping[Connection, Any]:
        """Connection, the client's or a server's -> its layer."""

    @property
    def streams(self) -> Mapping[int, Any]:
        """Id of an HTTP stream -> the layer of this exchange."""


class Stream(Protocol):
    """The members of an exchange's layer that the splice uses. (The splice carries a reply's bytes
    from socket to socket, without the layers.)
    """

    flow: HTTPFlow
    """mitmproxy's flow of the exchange."""
    context: Any
    """mitmproxy's context of the layer, which has the options and the server's connection."""
    response_body_buf: Any
    """mitmproxy's buffer for the bytes that the client gets, if the flow keeps them (mitmproxy's
    option `store_streamed_bodies`).
    """

    @property
    def streams(self) -> bool:
        """Return True if the client gets the body of the server's response as it comes."""

    def restart_silence(self) -> None:
        """Begin anew to count the seconds until the next ping, because bytes were sent to the
        client.
        """
