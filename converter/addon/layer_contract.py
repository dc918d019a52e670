"""The contract between our layers, which move bytes, and the addon's hooks, which interpret them.
Both implement it, and neither imports the other.

The layers ask a `Listener` about an exchange: whether a body may be so long, what is sent while the
server is silent, and what the client gets for a failure. A reply's bytes go through a
`StreamFunction`, or a `BodyReader` reads them while they are held.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol

from mitmproxy.connection import Connection
from mitmproxy.http import HTTPFlow, Request, Response

QUITTING = "mitmproxy is shutting down"
"""The reason that the layers give when mitmproxy ends."""


class BodyReader(Protocol):
    """Reads a body that is held, in which its server may be left."""

    holds: bool
    """True: the reader keeps the body. False: the layers hold it."""

    @property
    def stopped(self) -> bool:
        """Return True if the server is to be left now."""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Take a chunk."""

    def next_request(self, possible: bool) -> Request | None:
        """Return the request to send after the server was left; `None`: the body ends. `possible`:
        this server's protocol lets another request be sent.
        """


class StreamFunction(Protocol):
    """The function that a reply's bytes pass on their way to the client. It never raises, and never
    returns an empty piece in mid-stream.
    """

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return the pieces that the client gets for a chunk, perhaps none yet; an empty chunk is
        the end.
        """

    async def beside(self, chunk: bytes) -> list[bytes]:
        """Return the same pieces, made beside mitmproxy's loop."""

    @property
    def is_long(self) -> bool:
        """Return True if the next call takes long, and is to be made by `beside`."""

    @property
    def follows(self) -> bool:
        """Return True if another request is to be sent behind the body's end."""

    @property
    def ends_thoughts(self) -> bool:
        """Return True if the server may have to be left in mid-stream."""

    @property
    def stopped(self) -> bool:
        """Return True if the server is to be left now."""

    def next_request(self, possible: bool) -> Request | None:
        """Return the request whose reply continues the stream; see `BodyReader.next_request`."""

    def abort(self, reason: str) -> list[bytes]:
        """Return the last pieces of a stream that broke off. `reason`: mitmproxy's."""

    def ping(self) -> list[bytes]:
        """Return a sign of life, if one may stand here."""


class HeldStream(StreamFunction, BodyReader, Protocol):
    """A stream function as the record of its exchange holds it.

    Attributes:
        holds: the client gets one body.
        late: the pieces of this body so far.
        explain: turns mitmproxy's reason for a break into a message.
    """

    holds: bool
    late: list[bytes]
    explain: Callable[[str], str]


class Refusal(BodyReader, Protocol):
    """A reader of a refusal or of a prompt, behind which another request may be sent, as the record
    of its exchange holds it.

    Attributes:
        reads: the response that it reads.
        left_out: the parts that the next request lacks.
        body: the first request, with all parts.
        renders: the next request asks for a prompt, and not for a reply.
    """

    reads: Response | None
    left_out: frozenset[str]
    body: Mapping[str, object]
    renders: bool


class Listener(Protocol):
    """Answers the layers about exchanges. No method raises, and none waits."""

    hosts: MutableMapping[HTTPFlow, str]
    """Each client's own `Host`, which mitmproxy replaces; the layers write it."""

    @property
    def seconds_of_silence(self) -> float:
        """The longest silence before a client is pinged."""

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if a request may have so many bytes."""

    def watcher(self, flow: HTTPFlow) -> BodyReader | None:
        """Return the reader of a reply that is held."""

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the response that a client gets in place of a reply; `None`: mitmproxy's own
        page.
        """

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream that begins before the server answers; `None`: it waits."""

    def late(self, flow: HTTPFlow, begun: Any) -> list[bytes]:
        """Return the pieces of a whole reply, for a stream that `begun` began early."""


class Connections(Protocol):
    """The layer of a client's connection, as each of its streams holds it.

    Attributes:
        listener: answers about exchanges.
        connection_handler: moves the client's bytes.
        last_read: the length of the last read.
        last_from: the connection that was read.
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
    """An exchange, as the splice holds it."""

    flow: HTTPFlow
    context: Any
    response_body_buf: Any

    @property
    def streams(self) -> bool:
        """Return True if the server's body is being passed on as it comes."""

    def has_spoken(self) -> None:
        """Note that the client was sent something."""
